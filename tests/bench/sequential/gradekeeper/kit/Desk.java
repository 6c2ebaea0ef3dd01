package gradekeeper.kit;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A desk as a test suite inside one JVM would have it: its doubles answer by themselves. One that
 * blocks holds its first call until a second one reaches it, or for one second.
 */
public final class Desk {

    /** Thrown by a double that refuses. */
    public static final class Refused extends RuntimeException {
        private static final long serialVersionUID = 1;

        Refused(String message) {
            super(message);
        }
    }

    /** How a double's method answers: what it does by call, the last one repeats. */
    public record Double(List<String> policies, boolean blocks, long delayMillis) {
    }

    private static final class Calls {
        private final AtomicInteger count = new AtomicInteger();
        private final CountDownLatch second = new CountDownLatch(1);
    }

    private final Map<String, String> inputs;
    private final Map<String, Double> doubles;
    private final Map<String, Calls> calls = new java.util.concurrent.ConcurrentHashMap<>();
    private final List<Thread> actors = new ArrayList<>();
    private final AtomicInteger tokens = new AtomicInteger();
    private final List<String> seen = new ArrayList<>();

    public Desk(Map<String, String> inputs, Map<String, Double> doubles) {
        this.inputs = inputs;
        this.doubles = doubles;
    }

    public String text(String name) {
        return inputs.get(name);
    }

    public BigDecimal decimal(String name) {
        return new BigDecimal(text(name));
    }

    public int number(String name) {
        return Integer.parseInt(text(name));
    }

    public void see(String key, Object value) {
        synchronized (seen) {
            seen.add(key + "=" + value);
        }
    }

    public void observe(String key, Callable<?> code) {
        Object value;
        try {
            value = code.call();
        } catch (Throwable thrown) {
            value = thrown.getClass().getName();
        }
        see(key, value);
    }

    public void actor(String name, String key, Callable<?> code) {
        Thread thread = new Thread(() -> observe(key, code), name);
        synchronized (actors) {
            actors.add(thread);
        }
        thread.start();
    }

    public void join() {
        while (true) {
            Thread thread;
            synchronized (actors) {
                if (actors.isEmpty()) {
                    return;
                }
                thread = actors.remove(0);
            }
            try {
                thread.join();
            } catch (InterruptedException interrupt) {
                throw new IllegalStateException(interrupt);
            }
        }
    }

    public String ask(String method, Object... arguments) {
        Double how = doubles.getOrDefault(method, new Double(List.of("ok"), false, 0));
        Calls made = calls.computeIfAbsent(method, name -> new Calls());
        int number = made.count.getAndIncrement();
        try {
            if (number > 0) {
                made.second.countDown();
            } else if (how.blocks()) {
                made.second.await(1, TimeUnit.SECONDS);
            }
            if (how.delayMillis() > 0) {
                Thread.sleep(how.delayMillis());
            }
        } catch (InterruptedException interrupt) {
            throw new IllegalStateException(interrupt);
        }
        String policy = how.policies().get(Math.min(number, how.policies().size() - 1));
        if (policy.endsWith("refuse")) {
            throw new Refused("refused");
        }
        return "tk_" + tokens.incrementAndGet();
    }
}
