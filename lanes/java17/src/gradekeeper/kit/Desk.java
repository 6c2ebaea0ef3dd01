package gradekeeper.kit;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * What a driver works at: inputs that the referee drew, doubles that the referee plays, threads, and
 * observations for the referee to judge.
 *
 * <p>A driver never judges and never knows what is expected. All methods may be called from any
 * thread. After the case has ended, observations are dropped and calls of doubles fail.
 */
public final class Desk {
    /** The driver asked for an input that its case does not have. */
    public static final class NoInput extends Error {
        private static final long serialVersionUID = 1;

        NoInput(String name) {
            super("no input " + name);
        }
    }

    /** Thrown by a double whose call the referee refuses. */
    public static final class Refused extends RuntimeException {
        private static final long serialVersionUID = 1;

        Refused(String message) {
            super(message);
        }
    }

    /** Kinds of which each instance is observed as one, whatever its own class. */
    private static final List<Class<? extends Throwable>> KINDS = new CopyOnWriteArrayList<>();

    private final Wire wire;
    private final Wire.Case current;
    private final List<Thread> actors = new ArrayList<>();
    private int ended;

    Desk(Wire wire, Wire.Case current) {
        this.wire = wire;
        this.current = current;
    }

    /**
     * An input as it was drawn, each time in a copy of its own, as texts are that come from a wire.
     *
     * @throws NoInput the case has no such input
     */
    public String text(String name) {
        String value = current.inputs.get(name);
        if (value == null) {
            throw new NoInput(name);
        }
        return new String(value);
    }

    /** An input as an exact decimal number. */
    public BigDecimal decimal(String name) {
        return new BigDecimal(text(name));
    }

    /** An input as an int. */
    public int number(String name) {
        return Integer.parseInt(text(name));
    }

    /** Observes a value. */
    public void see(String key, Object value) {
        // Written before the lock is taken: reading a value may run code of the submission.
        wire.observe(current, key, Values.write(value));
    }

    /**
     * From now on whatever is thrown and is a {@code kind} is observed as that class, also if its own
     * is a subclass: code that must throw one may say more in a class of its own.
     */
    public static void observeAs(Class<? extends Throwable> kind) {
        KINDS.add(kind);
    }

    /** Runs code and observes its value or the class of what it throws, one like the other. */
    public void observe(String key, Callable<?> code) {
        Object value;
        try {
            value = code.call();
        } catch (Throwable thrown) {
            // The driver's own mistake must not pass for something that the code under test did.
            wire.observeThrown(current, thrown instanceof NoInput ? "driver" : key, kind(thrown));
            return;
        }
        see(key, value);
    }

    private static Class<?> kind(Throwable thrown) {
        for (Class<?> kind : KINDS) {
            if (kind.isInstance(thrown)) {
                return kind;
            }
        }
        return thrown.getClass();
    }

    /** Starts a thread of that name which does the same as {@link #observe}. */
    public void actor(String name, String key, Callable<?> code) {
        start(name, () -> observe(key, code));
    }

    /**
     * Starts an actor of a scheduled round. It waits until {@code left} actors have ended since the
     * last {@link #join}, asks the double {@code arrive} and then does what an actor does.
     */
    public void caller(int round, int number, int left, String key, Callable<?> code) {
        start("caller-" + number, () -> {
            awaitEnded(left);
            ask("arrive", round, number);
            observe(key, code);
        });
    }

    private void start(String name, Runnable work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } finally {
                synchronized (actors) {
                    ended++;
                    actors.notifyAll();
                }
            }
        }, name);
        thread.setDaemon(true);
        synchronized (actors) {
            actors.add(thread);
        }
        thread.start();
    }

    /** Waits, through interrupts, until every actor has ended. */
    public void join() {
        boolean interrupted = false;
        for (Thread thread = next(); thread != null; thread = next()) {
            for (boolean ended = false; !ended; ) {
                try {
                    thread.join();
                    ended = true;
                } catch (InterruptedException interrupt) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        synchronized (actors) {
            ended = 0;
        }
    }

    private void awaitEnded(int count) {
        boolean interrupted = false;
        synchronized (actors) {
            while (ended < count) {
                try {
                    actors.wait();
                } catch (InterruptedException interrupt) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private Thread next() {
        synchronized (actors) {
            return actors.isEmpty() ? null : actors.remove(0);
        }
    }

    /**
     * Calls a double and waits for the referee's answer.
     *
     * @return what the double returns, which may be null
     * @throws Refused the referee answers with a refusal
     */
    public String ask(String method, Object... arguments) {
        return wire.call(current, method, Values.writeAll(arguments)).await();
    }
}
