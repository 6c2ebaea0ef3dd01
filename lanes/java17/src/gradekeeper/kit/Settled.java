package gradekeeper.kit;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Set;

/**
 * Finds out whether anything in this JVM can still move before the referee answers a call.
 *
 * <p>Neither source is enough alone. A Java state of WAITING may be out of date the moment it is
 * read, and the kernel's "sleeping" does not tell a lock from a timer. So Java states are read
 * between two readings of the kernel: if no task was runnable in either and none was scheduled in
 * between, then the states belong to one moment.
 *
 * <p>The answer errs on the side of "not yet": the referee then releases a call after a fixed time.
 * Spinning and timed waits are never settled, be it for a lock: who gives up waiting after a while
 * moves by itself. Answering too early could not fail correct code either, it could only miss a race.
 */
final class Settled {
    /** Native threads of HotSpot that run no Java code. The kernel cuts names at 15 characters. */
    private static final String[] INTERNAL = {
        "VM Thread", "VM Periodic Tas", "C1 CompilerThre", "C2 CompilerThre", "Sweeper thread",
        "Monitor Deflati", "Service Thread", "GC Thread#", "G1 ",
    };
    private final Set<Thread> baseline = Collections.newSetFromMap(new IdentityHashMap<>());
    private final Set<String> internal = new HashSet<>();
    private final byte[] buffer = new byte[8192];

    /** To be made before any submitted class is loaded: what runs by now is not the submission's. */
    Settled() {
        Collections.addAll(baseline, liveThreads());
        // By id from now on: a thread that takes such a name later is looked at like any other.
        for (String task : tasks()) {
            String name = field(read(task), "Name:");
            for (String prefix : INTERNAL) {
                if (name.startsWith(prefix)) {
                    internal.add(task);
                }
            }
        }
    }

    /** Whether nothing moves by itself, seen from a thread of the baseline. */
    boolean check() {
        // Cheap things first: most checks find something that obviously moves.
        for (Thread thread : liveThreads()) {
            Thread.State state = thread.getState();
            if (!isStuck(state) && state != Thread.State.TIMED_WAITING
                    && !baseline.contains(thread)) {
                return false;
            }
        }
        String self = ownTask();
        String before = kernel(self);
        return before != null && areStuck(liveThreads()) && before.equals(kernel(self));
    }

    private boolean areStuck(Thread[] threads) {
        boolean idle = false;
        for (Thread thread : threads) {
            Thread.State state = thread.getState();
            if (isStuck(state) || baseline.contains(thread)) {
                continue;
            }
            if (state != Thread.State.TIMED_WAITING || !isIdleWorker(thread)) {
                return false;
            }
            idle = true;
        }
        // An idle worker ends by itself, and its end wakes who joins it. Stacks are slow to take.
        return !idle || !anyWaitsForMonitor(threads);
    }

    private boolean anyWaitsForMonitor(Thread[] threads) {
        for (Thread thread : threads) {
            if (thread.getState() == Thread.State.WAITING && !baseline.contains(thread)
                    && waitsForMonitor(thread.getStackTrace())) {
                return true;
            }
        }
        return false;
    }

    private static boolean isStuck(Thread.State state) {
        // BLOCKED and WAITING by and for threads that are looked at themselves, or held in a double.
        // NEW threads that were not started are not listed at all.
        return state == Thread.State.TERMINATED
                || state == Thread.State.BLOCKED
                || state == Thread.State.WAITING;
    }

    /** A pool's thread that waits for work from another thread, for its keep-alive time at most. */
    private static boolean isIdleWorker(Thread thread) {
        if (!thread.getClass().getName().startsWith("java.")) {
            return false; // it may do something when it ends
        }
        boolean idle = false;
        for (StackTraceElement frame : thread.getStackTrace()) {
            String type = frame.getClassName();
            if (type.contains("DelayedWorkQueue") || type.endsWith(".DelayQueue")
                    || !type.startsWith("java.") && !type.startsWith("jdk.")) {
                return false;
            }
            idle |= type.equals("java.util.concurrent.ThreadPoolExecutor")
                    && frame.getMethodName().equals("getTask");
            idle |= type.equals("java.util.concurrent.ForkJoinPool")
                    && frame.getMethodName().equals("awaitWork");
        }
        return idle;
    }

    /** Whether it is in Object.wait or Thread.join, unless the kit itself joins actors there. */
    private static boolean waitsForMonitor(StackTraceElement[] frames) {
        int caller = 0;
        while (caller < frames.length
                && (frames[caller].getClassName().equals("java.lang.Object")
                        || frames[caller].getClassName().equals("java.lang.Thread"))) {
            caller++;
        }
        return caller > 0
                && frames[0].getClassName().equals("java.lang.Object")
                && (caller == frames.length
                        || !frames[caller].getClassName().equals(Desk.class.getName()));
    }

    private static Thread[] liveThreads() {
        ThreadGroup group = Thread.currentThread().getThreadGroup();
        while (group.getParent() != null) {
            group = group.getParent();
        }
        for (int room = group.activeCount() + 16; ; room *= 2) {
            Thread[] found = new Thread[room];
            int count = group.enumerate(found, true);
            if (count < room) { // a full array may have left some out
                Thread[] threads = new Thread[count];
                System.arraycopy(found, 0, threads, 0, count);
                return threads;
            }
        }
    }

    /** Every other task's scheduling counters, or null if one of them is running or about to. */
    private String kernel(String self) {
        StringBuilder counters = new StringBuilder();
        for (String task : tasks()) {
            if (task.equals(self) || internal.contains(task)) {
                continue;
            }
            String status = read(task);
            String state = field(status, "State:");
            if (state.isEmpty() || state.charAt(0) == 'R' || state.charAt(0) == 'D') {
                return null; // ended while we looked counts as movement
            }
            counters.append(task).append(' ');
            counters.append(field(status, "voluntary_ctxt_switches:")).append(' ');
            counters.append(field(status, "nonvoluntary_ctxt_switches:")).append(' ');
        }
        return counters.toString();
    }

    private static String[] tasks() {
        String[] tasks = new File("/proc/self/task").list();
        return tasks == null ? new String[0] : tasks;
    }

    private static String ownTask() {
        try {
            return new File("/proc/thread-self").getCanonicalFile().getName();
        } catch (IOException error) {
            return ""; // then this thread sees itself run, and nothing is ever settled
        }
    }

    private String read(String task) {
        try (FileInputStream file = new FileInputStream("/proc/self/task/" + task + "/status")) {
            int length = file.read(buffer);
            return new String(buffer, 0, Math.max(length, 0), StandardCharsets.ISO_8859_1);
        } catch (IOException ended) {
            return "";
        }
    }

    /** The text after a label at the start of a line, "" if there is none. */
    private static String field(String status, String label) {
        int at = status.startsWith(label) ? 0 : status.indexOf("\n" + label) + 1;
        if (at == 0 && !status.startsWith(label)) {
            return "";
        }
        int from = at + label.length();
        int to = status.indexOf('\n', from);
        while (from < status.length() && (status.charAt(from) == '\t' || status.charAt(from) == ' ')) {
            from++;
        }
        return status.substring(from, to < from ? status.length() : to);
    }
}
