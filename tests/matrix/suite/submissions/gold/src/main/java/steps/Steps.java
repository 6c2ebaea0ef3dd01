package steps;

/** Three steps, each of which repeats what it is told. */
public final class Steps {

    private Steps() {
    }

    public static String first(String word) throws Exception {
        return word;
    }

    public static String second(String word) throws Exception {
        return word;
    }

    public static String third(String word) throws Exception {
        return word;
    }
}
