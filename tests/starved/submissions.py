"""Submissions of the starved node: an honest slow one, and those that would be excused."""

from __future__ import annotations

from gradekeeper.suites.trees import archive_tree

ECHO = """package trivial;

public final class Echo {{

    private static volatile Object kept;
    private static volatile long count;

    private Echo() {{
    }}

    private static void start(int threads, Runnable body) {{
        for (int index = 0; index < threads; index++) {{
            Thread thread = new Thread(body);
            thread.setDaemon(true);
            try {{
                thread.start();
            }} catch (OutOfMemoryError error) {{
                return;
            }}
        }}
    }}

    private static void spin(double seconds) {{
        long end = System.nanoTime() + (long) (seconds * 1e9);
        while (System.nanoTime() < end) {{
            count++;
        }}
    }}

    private static void rest(int milliseconds) {{
        try {{
            Thread.sleep(milliseconds);
        }} catch (InterruptedException error) {{
            throw new IllegalStateException(error);
        }}
    }}

    public static String of(String word) throws Exception {{
        {body}
    }}
}}
"""


def submission(body: str) -> bytes:
    """A submission whose one method does this; the archive."""
    text = ECHO.format(body=body)
    return archive_tree({"src/main/java/trivial/Echo.java": (text.encode(), False)})


def honest(seconds: float) -> bytes:
    """Right, after so many seconds of processor time."""
    return submission(
        "var clock = java.lang.management.ManagementFactory.getThreadMXBean();"
        f" long end = clock.getCurrentThreadCpuTime() + {int(seconds * 1e9)}L;"
        " while (clock.getCurrentThreadCpuTime() < end) { count++; }"
        " return word;"
    )


_FOR_EVER = " while (true) { rest(1000); }"
_RUNNER = """start(6, () -> { while (true) { try {
    new ProcessBuilder("/opt/gradekeeper/java/bin/java", "-Xmx8m", "-Xshare:auto", "-version")
        .redirectErrorStream(true).redirectOutput(new java.io.File("/dev/null")).start().waitFor();
    } catch (Exception error) { rest(20); } } });"""

PROVOCATIONS: dict[str, bytes] = {
    "many threads": submission("start(100, () -> spin(1e6));" + _FOR_EVER),
    # As long as the quota of a period lasts, on all processors at once, then nothing.
    "bursts": submission(
        "start(40, () -> { while (true) { spin(0.07); rest(30); } });" + _FOR_EVER
    ),
    # Keeps still until somebody else runs, then wakes everybody.
    "lies in wait": submission(
        """var gate = new java.util.concurrent.atomic.AtomicLong();
        start(40, () -> { while (true) { if (System.nanoTime() < gate.get()) { count++; }
            else { rest(1); } } });
        while (true) { try {
            String load = java.nio.file.Files.readString(java.nio.file.Path.of("/proc/loadavg"));
            if (Integer.parseInt(load.split(" ")[3].split("/")[0]) > 1) {
                gate.set(System.nanoTime() + 10_000_000L);
            } } catch (java.io.IOException error) { rest(1); } }"""
    ),
    # The referee has to read it all, at the cost of its own quota.
    "floods": submission(
        "byte[] text = new byte[1 << 16];"
        " start(4, () -> { while (true) { System.err.write(text, 0, text.length); } });" + _FOR_EVER
    ),
    "processes, memory and files": submission(
        _RUNNER
        + """ start(4, () -> { while (true) { kept = new byte[1 << 20]; } });
        start(4, () -> { byte[] text = new byte[1 << 20]; while (true) { try {
            java.nio.file.Path file = java.nio.file.Files.createTempFile("x", "y");
            java.nio.file.Files.write(file, text); java.nio.file.Files.delete(file);
            } catch (Exception error) { rest(1); } } });"""
        + _FOR_EVER
    ),
    "sleeps": submission(_FOR_EVER),
}
