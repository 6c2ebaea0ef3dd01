package gradekeeper.kit;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/**
 * The lines of a run, and the calls that wait for an answer.
 *
 * <p>One lock covers a line's number, a call's id and the writing of both. With two locks a line
 * could overtake another between its number and the pipe, and the referee takes that for forgery.
 */
final class Wire {
    /** One test, from its first line to its {@code done}. */
    static final class Case {
        final String nonce;
        final String method;
        final Map<String, String> inputs;

        Case(String nonce, String method, Map<String, String> inputs) {
            this.nonce = nonce;
            this.method = method;
            this.inputs = inputs;
        }
    }

    /** A double's call and its answer. */
    static final class Call {
        final Thread thread = Thread.currentThread();
        private volatile boolean answered;
        private String value;
        private String refusal;

        /** Waits, through interrupts, until the referee has answered. */
        String await() {
            boolean interrupted = false;
            while (!answered) {
                LockSupport.park(this);
                interrupted |= Thread.interrupted();
            }
            if (interrupted) {
                thread.interrupt();
            }
            if (refusal != null) {
                throw new Desk.Refused(refusal);
            }
            return value;
        }
    }

    private static final long NO_QUERY = -1;

    private final OutputStream out;
    private final Map<Long, Call> open = new HashMap<>();
    private Case current;
    private String nonce = "-";
    private long sequence;
    private long lastCall;
    private long query = NO_QUERY;

    Wire(OutputStream out) {
        this.out = out;
    }

    synchronized void hello() {
        line("hello", "\"protocol\":1");
    }

    /** Makes a case the running one. */
    synchronized void begin(Case next) {
        if (current != null) {
            throw new IllegalStateException("a case is running");
        }
        current = next;
        nonce = next.nonce;
    }

    /** Ends a case. Calls that are still open stay unanswered, and its threads say nothing more. */
    synchronized void done(Case ended) {
        if (current == ended) {
            line("done", "");
            current = null;
            query = NO_QUERY;
            open.clear();
        }
    }

    synchronized void observe(Case source, String key, String value) {
        observation(source, key, "\"value\":" + value);
    }

    synchronized void observeThrown(Case source, String key, Class<?> thrown) {
        StringBuilder body = new StringBuilder("\"threw\":");
        Json.quote(body, Values.name(thrown));
        observation(source, key, body.toString());
    }

    private void observation(Case source, String key, String rest) {
        if (current == source) {
            StringBuilder body = new StringBuilder("\"key\":");
            Json.quote(body, key);
            line("obs", body.append(',').append(rest).toString());
        }
    }

    /**
     * Announces a call of a double.
     *
     * @throws IllegalStateException its case is over: nobody is there to answer
     */
    synchronized Call call(Case source, String method, String arguments) {
        if (current != source) {
            throw new IllegalStateException("the case is over");
        }
        Call call = new Call();
        StringBuilder body = new StringBuilder("\"call\":").append(++lastCall);
        body.append(",\"method\":");
        Json.quote(body, method);
        open.put(lastCall, call);
        line("call", body.append(",\"args\":").append(arguments).toString());
        return call;
    }

    /** Answers a call; an answer to none, or to one of an earlier case, is dropped. */
    void answer(long id, String value, String refusal) {
        Call call;
        synchronized (this) {
            call = open.remove(id);
        }
        if (call != null) {
            call.value = value;
            call.refusal = refusal;
            call.answered = true;
            LockSupport.unpark(call.thread);
        }
    }

    /** Takes a query; one that arrives after its case ended is late and gets no answer. */
    synchronized void ask(long number) {
        if (current != null) {
            query = number;
        }
    }

    synchronized void withdraw() {
        query = NO_QUERY;
    }

    /** The query to answer, negative if there is none. */
    synchronized long query() {
        return query;
    }

    /** Answers a query unless it was withdrawn or its case ended in the meantime. */
    synchronized void settled(long number) {
        if (query == number) {
            query = NO_QUERY;
            line("settled", "\"query\":" + number);
        }
    }

    private void line(String type, String body) {
        StringBuilder text = new StringBuilder("{\"seq\":").append(sequence++);
        text.append(",\"nonce\":");
        Json.quote(text, nonce);
        text.append(",\"type\":\"").append(type).append(body.isEmpty() ? "\"" : "\",");
        text.append(body).append("}\n");
        try {
            out.write(text.toString().getBytes(StandardCharsets.US_ASCII));
        } catch (IOException error) {
            // Nobody listens: there is no test left to run.
            Runtime.getRuntime().halt(3);
        }
    }
}
