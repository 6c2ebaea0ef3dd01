package drivers;

import gradekeeper.kit.Desk;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.IntFunction;

/** One of the rounds that the input {@code rounds} lists: callers arrive in the order of its word. */
final class Rounds {
    /** Which of the driver's rounds it is. */
    final String kind;
    private final Desk desk;
    private final int number;
    private final String word;

    private Rounds(Desk desk, int number, String kind, String word) {
        this.desk = desk;
        this.number = number;
        this.kind = kind;
        this.word = word;
    }

    static List<Rounds> of(Desk desk) {
        List<Rounds> rounds = new ArrayList<>();
        for (String one : desk.text("rounds").split(" ")) {
            if (!one.isEmpty()) {
                String[] f = one.split(":");
                rounds.add(new Rounds(desk, rounds.size(), f[0], f[1]));
            }
        }
        return rounds;
    }

    /** A key of this round, as different rounds are compared one by one. */
    String key(String name) {
        return name + number;
    }

    /** Lets callers 0, 1 and so on do what they do, and waits until all have left. */
    void play(String name, IntFunction<Callable<?>> callers) {
        int count = 0;
        for (char step : word.toCharArray()) {
            if (Character.isDigit(step)) {
                desk.caller(number, count, step - '0', key(name), callers.apply(count));
                count++;
            }
        }
        desk.join();
    }
}
