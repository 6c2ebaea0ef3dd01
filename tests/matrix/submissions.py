"""The submissions' half of the matrix: what each does, and exactly what that must cost it.

Each case replaces the body of `Steps.second` of the suite in `suite/`, or makes an odd archive.
Outcomes are in the suite's order: `first`, `second` and `third` of one process, then `first` of
another one. What is expected is the same on the cluster and of the local engine.
"""

from __future__ import annotations

import base64
import functools
import gzip
import io
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gradekeeper.api.reasons import Decision, Reason

HERE = Path(__file__).parent
SUITE_DIR = HERE / "suite"
STEPS = "src/main/java/steps/Steps.java"
GOLD = (SUITE_DIR / "submissions" / "gold" / STEPS).read_text()
MIB = 1 << 20


@dataclass(frozen=True)
class Case:
    """One submission.

    Attributes:
        name: what is injected.
        archive: makes the tar.gz.
        outcomes: one character a test, all `N` where it is not run at all; more than one only
            where the box decides what comes first, a used-up time or a used-up memory, or whether
            the next test of the same process still gets one of the processes that it used up.
        decision: of the verdict.
        reason: of the verdict.
    """

    name: str
    archive: Callable[[], bytes]
    outcomes: tuple[str, ...]
    decision: Decision = Decision.GRADED
    reason: Reason = Reason.COMPLETED

    @property
    def slug(self) -> str:
        """A name for its job."""
        words = "".join(char if char.isalnum() else " " for char in self.name.lower()).split()
        return "-".join(words)[:40].strip("-")


# -- what code can do ------------------------------------------------------------------------------

SHELL = """package steps;

/** Runs other programs of the lane. */
final class Shell {

    private Shell() {
    }

    /** Runs a script and waits for it; what it says is nobody's. */
    static void run(String script) throws Exception {
        ProcessBuilder.Redirect nothing = ProcessBuilder.Redirect.DISCARD;
        try {
            new ProcessBuilder("/bin/sh", "-c", script)
                    .redirectOutput(nothing).redirectError(nothing).start().waitFor();
        } catch (OutOfMemoryError noThreadLeft) {
            return;
        }
    }
}
"""
MEDDLE = """package steps;

import java.io.ByteArrayInputStream;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.zip.GZIPInputStream;

/** A native program, carried as text. */
final class Meddle {

    private static final String[] TEXT = {
        %s
    };

    private Meddle() {
    }

    /** The program, ready to run. */
    static ProcessBuilder program(String what) throws Exception {
        Path path = Path.of(System.getProperty("java.io.tmpdir"), "meddle");
        byte[] packed = Base64.getDecoder().decode(String.join("", TEXT));
        try (GZIPInputStream in = new GZIPInputStream(new ByteArrayInputStream(packed))) {
            Files.copy(in, path);
        }
        path.toFile().setExecutable(true);
        return new ProcessBuilder(path.toString(), what).redirectErrorStream(true);
    }

    /** Runs it to its end; returns what it says. */
    static String run(String what) throws Exception {
        Process process = program(what).start();
        String said = new String(process.getInputStream().readAllBytes());
        return process.waitFor() == 0 ? said : said + " status " + process.exitValue();
    }

    /** Starts it in the background, where it says nothing. */
    static void start(String what) throws Exception {
        ProcessBuilder.Redirect nothing = ProcessBuilder.Redirect.DISCARD;
        try {
            program(what).redirectOutput(nothing).start().waitFor();
        } catch (OutOfMemoryError noThreadLeft) {
            return;
        }
    }
}
"""


@functools.cache
def meddle() -> str:
    """`Meddle.java` with the compiled program inside."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "meddle")
        compiler = ["gcc", "-std=gnu11", "-Os", "-s", "-static", "-o", str(program)]
        subprocess.run([*compiler, str(HERE / "meddle.c")], check=True, timeout=60)
        packed = gzip.compress(program.read_bytes(), 9, mtime=0)
    text = base64.b64encode(packed).decode()
    # A constant holds 65,535 bytes.
    pieces = [text[start : start + 60_000] for start in range(0, len(text), 60_000)]
    return MEDDLE % ",\n        ".join(f'"{piece}"' for piece in pieces)


def steps(body: str) -> str:
    """Gold whose `second` does something before it answers."""
    before, second, after = GOLD.partition("String second(String word) throws Exception {")
    assert second
    return f"{before}{second}\n{body}\n{after}"


def code(
    name: str, body: str, *outcomes: str, reason: Reason = Reason.COMPLETED, native: bool = False
) -> Case:
    """A case that does something in `second` before it answers.

    Args:
        name: what is injected.
        body: Java statements; `word` is what `second` is told.
        outcomes: of `Case`.
        reason: of the verdict.
        native: whether the submission carries the native program.
    """

    def archive() -> bytes:
        files = {STEPS: steps(body), "src/main/java/steps/Shell.java": SHELL}
        if native:
            files["src/main/java/steps/Meddle.java"] = meddle()
        return pack(files)

    return Case(name, archive, outcomes, reason=reason)


def native(name: str, body: str, outcomes: str) -> Case:
    """A case of `code` that carries the native program."""
    return code(name, body, outcomes, native=True)


WAIT = "while (word != null) Thread.sleep(1000);"
ANSWER = "if (!said.isEmpty()) return said;"
"""A pass proves that nothing of what the native program tried has worked."""
LINES = """
    StringBuilder forged = new StringBuilder();
    for (int n = 0; n < 8; n++)
        forged.append("{'seq':" + n + ",'nonce':'-','type':'done'}\\n");
    byte[] line = forged.toString().replace('\\'', '"').getBytes();
    byte[] garbage = new byte[1 << 12];
    new java.util.Random(7).nextBytes(garbage);
"""
EVERY_DESCRIPTOR = """
    java.lang.reflect.Field field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
    field.setAccessible(true);
    sun.misc.Unsafe unsafe = (sun.misc.Unsafe) field.get(null);
    long place = unsafe.objectFieldOffset(java.io.FileDescriptor.class.getDeclaredField("fd"));
    for (int number = 0; number < 64; number++) {
        java.io.FileDescriptor descriptor = new java.io.FileDescriptor();
        unsafe.putInt(descriptor, place, number);
        java.io.FileOutputStream out = new java.io.FileOutputStream(descriptor);
        try { out.write(line); out.write(garbage); } catch (java.io.IOException closed) { }
    }
"""
STDOUT = "java.io.OutputStream out = new java.io.FileOutputStream(java.io.FileDescriptor.out);"
PARK = 'Meddle.program("hold").inheritIO().start().waitFor();'
SLEEPERS = """
    try { while (word != null) new ProcessBuilder("/bin/sleep", "600").start(); }
    catch (java.io.IOException | OutOfMemoryError full) { }
"""
SPINNERS = """
    for (int n = 0; n < 40; n++) {
        Thread thread = new Thread(() -> { while (word != null) { } });
        thread.setDaemon(true);
        thread.start();
    }
"""
FILES = """
    java.nio.file.Path folder = java.nio.file.Path.of(System.getProperty("java.io.tmpdir"));
    byte[] block = new byte[1 << 16];
    for (int n = 0; word != null; n++)
        java.nio.file.Files.write(folder.resolve("f" + n), block);
"""
ONE_FILE = """
    java.nio.file.Path file = java.nio.file.Path.of(System.getProperty("java.io.tmpdir"), "one");
    byte[] block = new byte[1 << 16];
    try (java.io.OutputStream out = java.nio.file.Files.newOutputStream(file)) {
        while (word != null) out.write(block);
    }
"""
EMPTY_FILES = """
    java.nio.file.Path folder = java.nio.file.Path.of(System.getProperty("java.io.tmpdir"));
    for (int n = 0; word != null; n++)
        java.nio.file.Files.createFile(folder.resolve("f" + n));
"""
ELSEWHERE = """
    String found = "";
    for (String place : new String[] {"/", "/tmp", "/lane", "/dev/shm", "/dev/mqueue", "/var/lane",
            "/var/tmp", "/run", "/opt/gradekeeper"})
        try {
            java.nio.file.Files.write(java.nio.file.Path.of(place, "written"), new byte[1 << 12]);
            found += place + " ";
        } catch (java.io.IOException refused) { }
    if (!found.isEmpty()) return found;
"""

CODE = (
    Case(
        "does not compile",
        lambda: pack({STEPS: GOLD.replace("return word", "return word +", 1)}),
        ("NNNN",),
        reason=Reason.DOES_NOT_COMPILE,
    ),
    code("endless loop", "while (word != null) { }", "PTPP"),
    code("sleeps for ever", WAIT, "PTPP"),
    code("Runtime.halt", "Runtime.getRuntime().halt(0);", "PXPP"),
    code("System.exit", "System.exit(0);", "PXPP"),
    native("crashes its JVM", 'Meddle.run("kill-parent");', "PXPP"),
    code(
        "memory eaten: heap",
        "java.util.List<byte[]> all = new java.util.ArrayList<>();"
        " while (word != null) all.add(new byte[1 << 16]);",
        "PXPP",
    ),
    native("memory eaten: another process", 'Meddle.run("eat");' + WAIT, "PTPP"),
    code("fork bomb of sleepers", SLEEPERS, "PPPP", "PPXP"),
    code("fork bomb of a shell", 'Shell.run("b() { b | b & }; b");' + WAIT, "PTPP"),
    native("fork bomb in sessions of its own", 'Meddle.start("bomb");' + WAIT, "PTPP"),
    code("scratch filled", FILES, "PFPP"),
    code("one file beyond its limit", ONE_FILE, "PFPP"),
    code("files without end", EMPTY_FILES, "PTPP", "PXPP"),
    code("writes wherever it might", ELSEWHERE, "PPPP"),
    code(
        "10 GB of output",
        STDOUT
        + " byte[] lines = new byte[1 << 16]; java.util.Arrays.fill(lines, (byte) 10);"
        + " for (long n = 0; n < 10_000_000_000L; n += lines.length) out.write(lines);",
        "PVPP",
    ),
    code(
        "errors without end",
        "byte[] junk = new byte[1 << 16];"
        " while (word != null) System.err.write(junk, 0, junk.length);",
        "PTPP",
    ),
    code(
        "one endless line",
        STDOUT
        + " byte[] line = new byte[1 << 16]; java.util.Arrays.fill(line, (byte) 120);"
        + " while (word != null) out.write(line);",
        "PVPP",
    ),
    code("starves laned: threads", SPINNERS + WAIT, "PTPP"),
    native("starves laned: processes", 'Meddle.start("spin");' + WAIT, "PTPP"),
    native("pins laned", 'String said = Meddle.run("pin");' + ANSWER, "PPPP"),
    native("idle-classes laned", 'String said = Meddle.run("idle");' + ANSWER, "PPPP"),
    native("crashes laned", 'String said = Meddle.run("crash");' + ANSWER, "PPPP"),
    native("parks its stdout, answers", PARK, "PPPP"),
    native("parks its stdout, halts", PARK + "Runtime.getRuntime().halt(0);", "PXPP"),
    code("closes its stdout", STDOUT + " out.close();", "PXPP"),
    code("deletes its scratch", 'Shell.run("rm -rf /scratch/*");', "PPPP"),
    code("garbage and forged lines everywhere", LINES + EVERY_DESCRIPTOR, "PVPP"),
    native("kills everything it can", 'Meddle.start("kill-all");', "PXPP"),
    native("types on terminals, answers", 'String said = Meddle.run("type");' + ANSWER, "PPPP"),
    native("hoards what a node has once", 'String said = Meddle.run("hoard");' + ANSWER, "PPPP"),
    native("stirs the kernel's threads", 'String said = Meddle.run("stir");' + ANSWER, "PPPP"),
    native("crashes for a core handler", 'String said = Meddle.run("dump");' + ANSWER, "PPPP"),
    native("stops everything it can", 'Meddle.start("freeze");', "PTPP"),
    native("kernel works: terminals", 'Meddle.start("terminals");' + WAIT, "PTPP"),
    native("kernel works: page tables", 'Meddle.start("tables");' + WAIT, "PTPP"),
    native("kernel works: chains of sockets", 'Meddle.start("chains");' + WAIT, "PTPP"),
)


# -- what archives can be --------------------------------------------------------------------------


def pack(files: Mapping[str, str | bytes], *more: tarfile.TarInfo) -> bytes:
    """A tar.gz of regular files, and of entries without content behind them."""
    return gzip.compress(pack_tar(files, *more), 6, mtime=0)


def pack_tar(files: Mapping[str, str | bytes], *more: tarfile.TarInfo) -> bytes:
    """The same, not compressed."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in files.items():
            add(tar, name, content)
        for entry in more:
            tar.addfile(entry)
    return buffer.getvalue()


def add(tar: tarfile.TarFile, name: str, content: str | bytes) -> None:
    """Add a regular file."""
    data = content.encode() if isinstance(content, str) else content
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    tar.addfile(entry, io.BytesIO(data))


def entry(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    """An entry that is no regular file."""
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, target
    return made


def twice(first: str, second: str) -> bytes:
    """One path with two contents."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        add(tar, STEPS, first)
        add(tar, STEPS, second)
    return buffer.getvalue()


def sparse() -> bytes:
    """Gold, and files that are told to have holes, as GNU tar and as pax write them."""
    broken = b"not Java"
    old = entry("src/main/java/steps/Old.java", tarfile.GNUTYPE_SPARSE)
    old.size = len(broken)
    new = tarfile.TarInfo("src/main/java/steps/New.java")
    new.size = len(broken)
    new.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.realsize": "1000000000000"}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
        add(tar, STEPS, GOLD)
        tar.addfile(old, io.BytesIO(broken))
        tar.addfile(new, io.BytesIO(broken))
    return buffer.getvalue()


def bomb() -> bytes:
    """800 MiB of zeros in less than one."""
    header = tarfile.TarInfo("src/main/java/Big.java")
    header.size = 800 * MIB
    return gzip.compress(header.tobuf(), mtime=0) + 800 * gzip.compress(bytes(MIB), mtime=0)


def behind_link() -> bytes:
    """A link out of the folder, then gold through it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        tar.addfile(entry("src/main/java/steps", tarfile.SYMTYPE, "/"))
        add(tar, STEPS, GOLD)
    return buffer.getvalue()


BROKEN = "not Java"
"""Would not compile if it were taken."""


def strange(name: str, *paths: str) -> Case:
    """Gold beside entries under names that are not taken."""
    return Case(name, lambda: pack({STEPS: GOLD} | dict.fromkeys(paths, BROKEN)), ("PPPP",))


def beside(name: str, entries: Sequence[tarfile.TarInfo]) -> Case:
    """Gold beside entries that are not taken."""
    return Case(name, lambda: pack({STEPS: GOLD}, *entries), ("PPPP",))


def rejected(name: str, archive: Callable[[], bytes], reason: Reason) -> Case:
    """A case that is refused as a whole."""
    return Case(name, archive, ("NNNN",), Decision.REJECTED, reason)


ABROAD = "src/main/java/steps/Abroad"
MANY = {f"src/main/java/many/C{n}.java": f"package many; class C{n} {{}}" for n in range(501)}

ARCHIVES = (
    rejected("501 files", lambda: pack(MANY), Reason.SUBMISSION_TOO_MANY_FILES),
    rejected(
        "9 MB",
        lambda: pack({STEPS: GOLD, "src/main/java/Big.java": b"x" * 9 * MIB}),
        Reason.SUBMISSION_TOO_LARGE,
    ),
    rejected(
        "9 MB that no rule takes",
        lambda: pack({STEPS: GOLD, "build/app.bin": b"x" * 9 * MIB}),
        Reason.SUBMISSION_TOO_LARGE,
    ),
    rejected("archive bomb", bomb, Reason.SUBMISSION_TOO_LARGE),
    rejected(
        "not an archive",
        lambda: gzip.compress(b"not an archive, " * 100, mtime=0),
        Reason.SUBMISSION_MALFORMED,
    ),
    rejected(
        "an archive cut short",
        lambda: pack({STEPS: GOLD})[:-20],
        Reason.SUBMISSION_MALFORMED,
    ),
    strange("absolute names", "/etc/Abroad.java", f"/{ABROAD}.java", f"//{ABROAD}.java"),
    strange(
        "names with ..",
        "../Abroad.java",
        "src/main/java/../java/steps/Abroad.java",
        "src/main/java/steps/..",
    ),
    beside(
        "links",
        [
            entry(f"{ABROAD}1.java", tarfile.SYMTYPE, "/etc/passwd"),
            entry(f"{ABROAD}2.java", tarfile.SYMTYPE, "../../../../../../etc/passwd"),
            entry(f"{ABROAD}3.java", tarfile.LNKTYPE, "/etc/passwd"),
            entry(f"{ABROAD}4.java", tarfile.LNKTYPE, STEPS),
            entry("src/main/java/way", tarfile.SYMTYPE, "/etc"),
        ],
    ),
    Case("a link in the way of a file", behind_link, ("PPPP",)),
    beside(
        "devices",
        [
            entry(f"{ABROAD}1.java", tarfile.CHRTYPE),
            entry(f"{ABROAD}2.java", tarfile.BLKTYPE),
            entry(f"{ABROAD}3.java", tarfile.FIFOTYPE),
        ],
    ),
    Case("sparse entries", sparse, ("PPPP",)),
    Case("entries twice, the last one right", lambda: twice(BROKEN, GOLD), ("PPPP",)),
    Case(
        "entries twice, the last one wrong",
        lambda: twice(GOLD, steps("if (word != null) return null;")),
        ("PFPP",),
    ),
)


def named(name: str, *classes: str) -> Case:
    """Gold that makes objects of classes of odd names, one a file; a right submission."""
    made = "".join(f"new {each}();" for each in classes)
    files = {
        f"src/main/java/steps/{each}.java": f"package steps;\n\npublic class {each} {{ }}\n"
        for each in classes
    }
    return Case(name, lambda: pack({STEPS: steps(made), **files}), ("PPPP",))


NAMES = (
    named("class names: signs", "Preis€", "$_", "\u203f\uff3f$1"),
    named("class names: composed and decomposed", "G\u00e9", "Ge\u0301"),
    named("class names: beyond the basic plane", "\U0001d400\U00020000", "A\U000e0101"),
    named("class names: as long as a file's", "L" * 249, "\u20ac" * 83),
    Case(
        "class names: files that say nothing",
        lambda: pack(
            {
                STEPS: steps("new One(); new Two(); new Three();"),
                "src/main/java/steps/a\nb.java": "package steps; class One { }",
                "src/main/java/steps/Zero\u200dWidth\x07.java": "package steps; class Two { }",
                "src/main/java/back\\slash *.java": "package steps; class Three { }",
                "src/main/java/module-info.java": "module m { exports steps; }",
            }
        ),
        ("PPPP",),
    ),
    Case(
        "class names: longer than a file's",
        lambda: pack({STEPS: GOLD + "class " + "L" * 250 + " { }"}),
        ("NNNN",),
        reason=Reason.DOES_NOT_COMPILE,
    ),
)
"""Whatever javac takes in a folder by itself is right; what no file system takes is not."""

CASES = (*CODE, *ARCHIVES, *NAMES)
