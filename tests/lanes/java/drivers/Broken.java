package drivers;

import gradekeeper.kit.Desk;

/** Cannot be initialised. */
public final class Broken {
    static {
        if (true) {
            throw new IllegalStateException();
        }
    }

    public static void m01(Desk desk) {
        desk.see("k", "v");
    }

    private Broken() {}
}
