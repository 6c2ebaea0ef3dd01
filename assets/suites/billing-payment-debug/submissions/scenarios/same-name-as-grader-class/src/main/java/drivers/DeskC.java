package drivers;

public final class DeskC {

    private DeskC() {
    }

    public static void m01(Object desk) {
    }
}
