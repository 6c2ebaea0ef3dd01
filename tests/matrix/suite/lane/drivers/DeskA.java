package drivers;

import gradekeeper.kit.Desk;
import steps.Steps;

/** Takes three steps, one a test. */
public final class DeskA {

    private DeskA() {
    }

    public static void m01(Desk desk) throws Exception {
        desk.observe("a", () -> Steps.first(desk.text("word")));
    }

    public static void m02(Desk desk) throws Exception {
        desk.observe("a", () -> Steps.second(desk.text("word")));
    }

    public static void m03(Desk desk) throws Exception {
        desk.observe("a", () -> Steps.third(desk.text("word")));
    }
}
