package trivial;

/** Repeats what it is told. */
public final class Echo {

    private Echo() {
    }

    public static String of(String word) {
        return word;
    }
}
