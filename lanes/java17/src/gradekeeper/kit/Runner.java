package gradekeeper.kit;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/**
 * Runs a driver's methods, one after another, as the referee asks for them (docs/protocols.md, "The
 * run protocol").
 *
 * <p>Ends with 0 at {@code bye}, 2 if called wrongly, 3 if its lines cannot be written, 4 if the
 * referee hangs up or says something else than the protocol. The referee trusts none of these.
 */
public final class Runner {
    private static final int FAST_POLLS = 50;
    private static final long FAST_POLL_NANOS = 100_000;
    private static final long SLOW_POLL_NANOS = 1_000_000;

    private final Wire wire;
    private final Settled settled;
    private final String driver;
    private final Thread watcher;

    private Runner(Wire wire, String driver) {
        this.wire = wire;
        this.driver = driver;
        this.watcher = new Thread(this::watch, "watcher");
        watcher.setDaemon(true);
        watcher.start();
        this.settled = new Settled();
    }

    /** Takes the driver class's name. */
    public static void main(String[] arguments) throws IOException {
        if (arguments.length != 1) {
            System.err.println("usage: Runner DRIVER_CLASS");
            System.exit(2);
        }
        // The descriptors are the referee's. What submitted code prints goes to standard error.
        FileInputStream input = new FileInputStream(FileDescriptor.in);
        FileOutputStream output = new FileOutputStream(FileDescriptor.out);
        System.setIn(InputStream.nullInputStream());
        System.setOut(System.err);
        Wire wire = new Wire(output);
        Runner runner = new Runner(wire, arguments[0]);
        Values.write(Map.of("warm", "up"));
        wire.hello();
        runner.listen(input);
    }

    private void listen(InputStream input) throws IOException {
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(input, StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                obey(Json.readObject(line));
            }
        } catch (RuntimeException error) {
            System.err.println("runner: " + error);
        }
        Runtime.getRuntime().halt(4);
    }

    private void obey(Map<?, ?> line) {
        switch (field(line, "type", String.class)) {
            case "case":
                start(line);
                break;
            case "reply":
                String refusal = line.containsKey("throw") ? field(line, "throw", String.class) : null;
                String value = line.get("value") == null ? null : field(line, "value", String.class);
                wire.answer(field(line, "call", Long.class), value, refusal);
                break;
            case "settle":
                wire.ask(field(line, "query", Long.class));
                LockSupport.unpark(watcher);
                break;
            case "unsettle":
                wire.withdraw();
                break;
            case "bye":
                Runtime.getRuntime().halt(0);
                break;
            default:
                throw new IllegalArgumentException("unknown type");
        }
    }

    private static <T> T field(Map<?, ?> line, String name, Class<T> type) {
        Object value = line.get(name);
        if (!type.isInstance(value)) {
            throw new IllegalArgumentException("no " + name);
        }
        return type.cast(value);
    }

    private void start(Map<?, ?> line) {
        Map<String, String> inputs = new HashMap<>();
        Map<?, ?> drawn = field(line, "inputs", Map.class);
        for (Map.Entry<?, ?> input : drawn.entrySet()) {
            if (!(input.getValue() instanceof String)) {
                throw new IllegalArgumentException("an input is not a string");
            }
            inputs.put((String) input.getKey(), (String) input.getValue());
        }
        Wire.Case next = new Wire.Case(
                field(line, "nonce", String.class), field(line, "method", String.class), inputs);
        wire.begin(next);
        Thread thread = new Thread(() -> run(next), "case");
        thread.setDaemon(true);
        thread.start();
    }

    private void run(Wire.Case current) {
        try {
            Class.forName(driver).getMethod(current.method, Desk.class)
                    .invoke(null, new Desk(wire, current));
        } catch (InvocationTargetException thrown) {
            wire.observeThrown(current, "driver", thrown.getCause().getClass());
        } catch (Throwable thrown) {
            wire.observeThrown(current, "driver", thrown.getClass());
        }
        wire.done(current);
    }

    /** Answers settle queries. A thread of its own, so that a busy machine delays nothing else. */
    private void watch() {
        int polls = 0;
        for (;;) {
            long query = wire.query();
            if (query < 0) {
                polls = 0;
                LockSupport.park(this);
            } else if (settled.check()) {
                wire.settled(query);
            } else {
                LockSupport.parkNanos(++polls < FAST_POLLS ? FAST_POLL_NANOS : SLOW_POLL_NANOS);
            }
        }
    }
}
