package com.acme.billing.model;

import java.io.Serializable;
import java.math.BigDecimal;
import java.math.BigInteger;

/** A whole number of cents, of any size. */
public final class Cents implements Comparable<Cents>, Serializable {

    private static final long serialVersionUID = 1L;

    private final BigInteger count;

    private Cents(BigInteger count) {
        this.count = count;
    }

    public static Cents nearest(BigDecimal amount) {
        return nearest(amount, 1);
    }

    /** Returns the cents nearest to a part of {@code amount}; half a cent goes away from zero. */
    public static Cents nearest(BigDecimal amount, long parts) {
        BigDecimal cents = amount.movePointRight(2);
        int scale = Math.max(cents.scale(), 0);
        BigInteger over = cents.setScale(scale).unscaledValue();
        BigInteger under = BigInteger.TEN.pow(scale).multiply(BigInteger.valueOf(parts));
        BigInteger rounded = over.abs().shiftLeft(1).add(under).divide(under.shiftLeft(1));
        return new Cents(over.signum() < 0 ? rounded.negate() : rounded);
    }

    public Cents minusAtMostAll(Cents other) {
        return other.compareTo(this) >= 0 ? new Cents(BigInteger.ZERO) : new Cents(count.subtract(other.count));
    }

    public BigDecimal toDecimal() {
        return new BigDecimal(count, Money.SCALE);
    }

    @Override
    public int compareTo(Cents other) {
        return count.compareTo(other.count);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Cents cents && cents.count.equals(count);
    }

    @Override
    public int hashCode() {
        return count.hashCode();
    }
}
