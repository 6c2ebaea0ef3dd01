package drivers;

import gradekeeper.kit.Desk;
import trivial.Echo;

/** Says a word and listens. */
public final class DeskA {

    private DeskA() {
    }

    public static void m01(Desk desk) throws Exception {
        desk.observe("a", () -> Echo.of(desk.text("word")));
    }
}
