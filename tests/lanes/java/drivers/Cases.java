package drivers;

import gradekeeper.kit.Desk;
import java.io.FileInputStream;
import java.io.FileDescriptor;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** Observations of all kinds, and what submitted code may try with the runner's descriptors. */
public final class Cases {
    record Point(int x, BigDecimal y) {}

    record Wordy(int nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn) {}

    record Nested(String name, Point point, List<Point> more) {}

    record Failing(int x) {
        public int x() {
            throw new IllegalStateException();
        }
    }

    enum Colour {
        RED,
        GREEN {
            @Override
            public String toString() {
                return "not its name";
            }
        }
    }

    static final class Liar extends BigDecimal {
        private static final long serialVersionUID = 1;

        Liar() {
            super("1.00");
        }
    }

    static final class OwnList extends ArrayList<String> {
        private static final long serialVersionUID = 1;
    }

    static final class Secret extends Exception {
        private static final long serialVersionUID = 1;
    }

    static class Rule extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    static final class OfThisCase extends Rule {
        private static final long serialVersionUID = 1;
    }

    private static volatile Desk earlier;

    public static void scalars(Desk desk) {
        desk.see("null", null);
        desk.see("true", true);
        desk.see("text", "a\"b\\c\n\u0000\u007f\u00e9\ud83d\ude00/");
        desk.see("byte", (byte) -1);
        desk.see("short", (short) 2);
        desk.see("int", Integer.MIN_VALUE);
        desk.see("long", Long.MAX_VALUE);
        desk.see("big", new BigInteger("-123456789012345678901234567890"));
        desk.see("digits64", new BigInteger("9".repeat(64)));
        desk.see("digits65", new BigInteger("9".repeat(65)));
        desk.see("decimal", new BigDecimal("1.20"));
        desk.see("exponent", new BigDecimal("12E+3"));
        desk.see("small", new BigDecimal("-0.00000000012"));
        desk.see("bomb", new BigDecimal("1E+1000000000"));
        desk.see("long decimal", new BigDecimal("0." + "1".repeat(65)));
    }

    public static void objects(Desk desk) {
        desk.see("date", LocalDate.of(2024, 2, 29));
        desk.see("instant", Instant.ofEpochSecond(1));
        desk.see("duration", Duration.ofMinutes(90));
        desk.see("day", DayOfWeek.MONDAY);
        desk.see("colour", Colour.RED);
        desk.see("body", Colour.GREEN);
        desk.see("point", new Point(1, new BigDecimal("2.50")));
        desk.see("nested", new Nested("n", new Point(1, null), List.of(new Point(2, BigDecimal.ONE))));
        desk.see("failing", new Failing(1));
        desk.see("wordy", new Wordy(1));
        desk.see("liar", new Liar());
        desk.see("double", 0.5);
        desk.see("char", 'c');
        desk.see("optional", Optional.of("x"));
        desk.see("array", new int[] {1});
        desk.see("set", new HashSet<>(List.of("a")));
        desk.see("driver", new Cases());
    }

    public static void collections(Desk desk) {
        desk.see("list", Arrays.asList("a", null, 1));
        desk.see("immutable", List.of(List.of(), List.of(true)));
        desk.see("view", Collections.unmodifiableList(new ArrayList<>(List.of("x"))));
        desk.see("own", new OwnList());
        Map<String, Object> map = new HashMap<>();
        for (String key : "zeta alpha mid".split(" ")) {
            map.put(key, key.length());
        }
        desk.see("map", map);
        desk.see("linked", new LinkedHashMap<>(Map.of(2, "b")));
        desk.see("concurrent", new ConcurrentHashMap<>(Map.of("k", List.of("v"))));
        List<Object> deep = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            deep = new ArrayList<>(List.of(deep));
        }
        desk.see("deep", deep);
        List<Object> endless = new ArrayList<>();
        endless.add(endless);
        desk.see("endless", endless);
        desk.see("thousand", Collections.nCopies(999, "x"));
        desk.see("many", Collections.nCopies(1001, "x"));
        desk.see("long", "x".repeat(100_000));
        desk.see("escaped", "\u00e9".repeat(10_000));
        desk.see("wide", Collections.nCopies(900, "x".repeat(100)));
    }

    public static void inputs(Desk desk) {
        desk.see("text", desk.text("a"));
        desk.see("decimal", desk.decimal("d"));
        desk.see("number", desk.number("n"));
        desk.observe("missing", () -> desk.text("nothing"));
        desk.observe("no number", () -> desk.number("a"));
    }

    public static void thrown(Desk desk) throws Exception {
        desk.observe("value", () -> "v");
        desk.observe("exception", () -> {
            throw new Secret();
        });
        desk.observe("error", () -> {
            throw new AssertionError();
        });
        desk.observe("deep", () -> recurse(0));
        desk.observe("refused", () -> desk.ask("go"));
        desk.observe("message", () -> {
            try {
                return desk.ask("go");
            } catch (Desk.Refused refused) {
                return refused.getMessage();
            }
        });
        throw new Secret();
    }

    public static void kinds(Desk desk) {
        desk.observe("own", () -> {
            throw new OfThisCase();
        });
        Desk.observeAs(Rule.class);
        desk.observe("kind", () -> {
            throw new OfThisCase();
        });
        desk.observe("itself", () -> {
            throw new Rule();
        });
        desk.observe("other", () -> {
            throw new IllegalStateException();
        });
        throw new OfThisCase();
    }

    private static int recurse(int depth) {
        return recurse(depth + 1) + 1;
    }

    public static void asked(Desk desk) {
        desk.see("answer", desk.ask("go", "x", 1, new BigDecimal("1.0"), null, List.of(1)));
        desk.see("nothing", desk.ask("stop"));
    }

    public static void prints(Desk desk) throws Exception {
        System.out.println("{\"seq\":1,\"nonce\":\"n\",\"type\":\"done\"}");
        System.out.printf("%s%n", "more");
        System.err.println("plain");
        desk.see("in", System.in.read());
        desk.see("console", System.console() == null);
    }

    public static void late(Desk desk) {
        earlier = desk;
        Thread thread = new Thread(() -> desk.ask("never answered"));
        thread.setDaemon(true);
        thread.start();
        while (thread.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        desk.see("first", "1");
    }

    public static void later(Desk desk) {
        earlier.see("dropped", "x");
        earlier.observe("dropped too", () -> "x");
        desk.observe("call", () -> earlier.ask("go"));
    }

    public static void join(Desk desk) throws Exception {
        desk.actor("A", "a", () -> desk.ask("go"));
        desk.actor("B", "b", () -> {
            desk.actor("C", "c", () -> desk.ask("go"));
            return Thread.currentThread().getName();
        });
        Thread.currentThread().interrupt();
        desk.join();
        desk.see("end", Thread.interrupted());
    }

    public static void storm(Desk desk) {
        for (int i = 0; i < 16; i++) {
            int actor = i;
            desk.actor("A" + i, "r", () -> {
                for (int j = 0; j < 50; j++) {
                    desk.see("s", actor);
                    desk.ask("go", actor, j);
                }
                return null;
            });
        }
        desk.join();
    }

    public static void exit(Desk desk) {
        System.exit(0);
    }

    public static void memory(Desk desk) {
        List<byte[]> all = new ArrayList<>();
        while (all.size() < 1_000_000) {
            all.add(new byte[1 << 20]);
        }
    }

    public static void threads(Desk desk) throws Exception {
        Object never = new Object();
        synchronized (never) {
            for (;;) {
                Thread thread = new Thread(() -> {
                    synchronized (never) {
                        return;
                    }
                });
                thread.setDaemon(true);
                thread.start();
            }
        }
    }

    public static void steal(Desk desk) throws Exception {
        new FileInputStream(FileDescriptor.in).read(new byte[1000]);
    }

    private Cases() {}

    /** The second caller comes once the first has left; inputs are copies, each time others. */
    public static void callers(Desk desk) {
        desk.see("same", desk.text("word") == desk.text("word"));
        desk.caller(7, 1, 1, "a", () -> "second");
        desk.caller(7, 0, 0, "a", () -> "first");
        desk.join();
        desk.caller(8, 0, 0, "a", () -> "third");
        desk.join();
    }
}
