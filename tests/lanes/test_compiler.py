"""The Java kit's Compiler in a real JVM, and both programs under a real laned."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from lanes.lane_client import LANE, SCRATCH, Lane
from lanes.runner_client import flags

COMPILER = "gradekeeper.kit.Compiler"
UTF_8 = {"LANG": "C.UTF-8"}
POINT = "package a.b;\npublic record Point(int x) { static class Inner {} }\n"
USER = "package a;\nimport a.b.Point;\nclass User { Runnable r = () -> new Point(1); }\n"


@dataclass
class Compiled:
    """The parsed answer: class files by path in order, or a count of errors."""

    status: int
    classes: dict[str, bytes]
    errors: int
    messages: str


def parse(output: bytes, status: int, messages: bytes) -> Compiled:
    """Reads the compiler's stream to its last byte."""
    classes: dict[str, bytes] = {}
    while True:
        line, _, output = output.partition(b"\n")
        word, *fields = line.split(b" ")
        if word == b"C":
            size = int(fields[1])
            assert fields[0].decode() not in classes
            classes[fields[0].decode()], output = output[:size], output[size:]
        elif word == b"OK":
            assert (int(fields[0]), output, status) == (len(classes), b"", 0)
            return Compiled(status, classes, 0, messages.decode())
        else:
            assert (word, output, classes, status) == (b"ERRORS", b"", {}, 1)
            return Compiled(status, {}, int(fields[0]), messages.decode())


def write(root: Path, sources: Mapping[str, str | bytes]) -> Path:
    for name, text in sources.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """A folder of sources, the compiler's working directory beside it must stay as it was."""
    (tmp_path / "sources").mkdir()
    (tmp_path / "work").mkdir()
    yield tmp_path / "sources"
    assert list((tmp_path / "work").iterdir()) == []


def compile_in(root: Path, lane_folder: Path, *options: str) -> Compiled:
    command = ["java", *flags("compile", heap=256), *options, "-cp", f"{lane_folder}/kit.jar"]
    before = sorted(root.rglob("*"))
    done = subprocess.run(
        [*command, COMPILER, "--release", "17", str(root)],
        capture_output=True, timeout=120, cwd=root.parent / "work", env=UTF_8,
    )  # fmt: skip
    assert sorted(root.rglob("*")) == before, "it wrote into the sources"
    return parse(done.stdout, done.returncode, done.stderr)


def test_class_files_are_streamed_in_order(root: Path, lane_folder: Path) -> None:
    write(root, {"a/b/Point.java": POINT, "a/User.java": USER, "a/notes.txt": "x"})
    compiled = compile_in(root, lane_folder)
    assert list(compiled.classes) == ["a/User.class", "a/b/Point$Inner.class", "a/b/Point.class"]
    assert all(data[:8] == b"\xca\xfe\xba\xbe\0\0\0\x3d" for data in compiled.classes.values())
    assert compiled.messages == ""


def test_the_same_sources_give_the_same_bytes(root: Path, lane_folder: Path) -> None:
    write(root, {"a/b/Point.java": POINT, "a/User.java": USER})
    first = compile_in(root, lane_folder)
    strange = ["-Duser.language=tr", "-Dfile.encoding=UTF-16", "-Duser.timezone=Asia/Tokyo"]
    assert compile_in(root, lane_folder, *strange) == first


def test_the_classes_run(root: Path, lane_folder: Path, tmp_path: Path) -> None:
    text = 'public class Hello { public static void main(String[] a) { System.out.print("hé"); } }'
    write(root, {"Hello.java": text})
    write(tmp_path / "classes", compile_in(root, lane_folder).classes)
    command = ["java", "-Dfile.encoding=UTF-8", "-cp", str(tmp_path / "classes"), "Hello"]
    done = subprocess.run(command, capture_output=True, timeout=60)
    assert done.stdout == "hé".encode()


def test_errors_are_counted_and_named(root: Path, lane_folder: Path) -> None:
    write(
        root, {"a/b/Point.java": POINT, "a/Bad.java": "package a;\nclass Bad { int x = y; z q; }"}
    )
    compiled = compile_in(root, lane_folder)
    assert compiled.errors == 2
    assert re.findall(r"^(\S+): error", compiled.messages, re.M) == ["a/Bad.java:2"] * 2


ERRORS: dict[str, dict[str, str | bytes]] = {
    "syntax": {"A.java": "class A {"},
    "not UTF-8": {"A.java": b"class A { String s = \"\xff\"; }"},
    "two of a name": {"a/X.java": "package p; class X {}", "b/X.java": "package p; class X {}"},
    "public class in another file": {"A.java": "public class B {}"},
    "package of the JDK": {"java/lang/Evil.java": "package java.lang; class Evil {}"},
    "unknown import": {"A.java": "import org.junit.Test; class A {}"},
    "the kit": {"A.java": "class A { gradekeeper.kit.Desk desk; }"},
    "internals of the JDK": {"A.java": "class A { jdk.internal.misc.Unsafe u; }"},
    "newer Java": {"A.java": "class A { int f(Object o) { return switch (o) {"
                             " case String s -> 1; default -> 2; }; } }"},
    "deep nesting": {"A.java": "class A { int x = " + "(" * 100_000 + "1" + ")" * 100_000 + "; }"},
    "too much code": {"A.java": "class A { void f() { int i = 0;" + "i++;" * 40_000 + "} }"},
    "nothing": {"readme.txt": "no sources"},
    "empty name": {".java": "class A {"},
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_what_does_not_compile_is_an_error(root: Path, lane_folder: Path, name: str) -> None:
    write(root, ERRORS[name])
    compiled = compile_in(root, lane_folder)
    assert compiled.errors >= 1
    assert "error: " in compiled.messages
    assert len(compiled.messages) < 2_000, "an author reads the head of it"


def test_a_module_is_compiled_with_the_rest(root: Path, lane_folder: Path) -> None:
    module = "module m { requires java.sql; exports a.b; }"
    user = USER.replace("class User {", "class User { java.sql.Connection c;")
    write(root, {"module-info.java": module, "a/b/Point.java": POINT, "a/User.java": user})
    assert "module-info.class" in compile_in(root, lane_folder).classes
    write(root, {"module-info.java": "module m { }"})
    assert "java.sql" in compile_in(root, lane_folder).messages


def test_names_of_any_letters(root: Path, lane_folder: Path) -> None:
    text = "public class Preis€ { class \U00020000 {} Object o = new Object() { int \u203f; }; }"
    write(root, {"Preis€.java": text})
    names = ["Preis€$1.class", "Preis€$\U00020000.class", "Preis€.class"]
    assert sorted(compile_in(root, lane_folder).classes) == sorted(names)


def test_any_number_of_warnings(root: Path, lane_folder: Path) -> None:
    """A hundred thousand, each of a kind that no option of ours keeps quiet."""
    body = "{" + "new Integer(1);" * 2_000 + "}"
    for name in range(10):
        text = "".join(f"static void m{number}() {body}" for number in range(5))
        write(root, {f"W{name}.java": f"class W{name} {{ {text} }}"})
    compiled = compile_in(root, lane_folder)
    assert (len(compiled.classes), compiled.messages) == (10, "")


def test_a_table_of_constants_as_full_as_javac_fills_it(root: Path, lane_folder: Path) -> None:
    """Names of variables take none of its 65,535 places, as with javac by itself."""
    texts = ""
    for part in range(0, 32_000, 3_200):
        lines = "".join(f'a="s{number}";' for number in range(part, part + 3_200))
        texts += f"static void t{part}() {{ String a;{lines} }}"
    names = "".join(f"int name{number}=1;" for number in range(3_000))
    write(root, {"K.java": f"class K {{ {texts} static void v() {{ {names} }} }}"})
    assert list(compile_in(root, lane_folder).classes) == ["K.class"]


def test_a_name_that_no_file_may_have_is_an_error_of_its_class(
    root: Path, lane_folder: Path
) -> None:
    write(root, {"A.java": f"class A {{}}\nclass {'L' * 250} {{}}"})
    compiled = compile_in(root, lane_folder)
    assert compiled.errors == 1
    assert re.search("^A.java:2: error: .* a file name has at most 255 bytes", compiled.messages)


def test_hostile_file_names_are_only_names(root: Path, lane_folder: Path) -> None:
    """No argument file is written, so a name cannot become an option."""
    write(
        root,
        {
            "a\n-processor\nEvil.java": "class One {}",
            "-proc:only.java": "class Two {}",
            "@list.java": "class Three {}",
            "sp ace/%41?#.java": "package x; class Four {}",
            "quote\"'\\.java": "class Five {}",
            "é/Größe.java": "package é; public class Größe {}",
            "A.JAVA": "not Java",
            "B.java.txt": "not Java",
        },
    )
    (root / "link.java").symlink_to("/etc/passwd")
    (root / "loop").symlink_to(root)
    (root / "folder.java").mkdir()
    os.mkfifo(root / "fifo.java")
    compiled = compile_in(root, lane_folder)
    names = ["Five.class", "One.class", "Three.class", "Two.class", "x/Four.class"]
    assert list(compiled.classes) == [*names, "é/Größe.class"]


EVIL = """
package evil;
import java.util.*;
import javax.annotation.processing.*;
import javax.lang.model.element.TypeElement;
import com.sun.source.util.*;
public class Evil extends AbstractProcessor implements Plugin {
  static { System.err.println("EVIL RAN"); }
  public String getName() { return "evil"; }
  public boolean autoStart() { return true; }
  public void init(JavacTask task, String... args) { throw new Error("EVIL RAN"); }
  public Set<String> getSupportedAnnotationTypes() { return Set.of("*"); }
  public boolean process(Set<? extends TypeElement> a, RoundEnvironment e) {
    throw new Error("EVIL RAN"); }
}
"""


def evil_jar(folder: Path) -> Path:
    """A processor and auto-starting plug-in, compiled and registered as a service."""
    source = write(folder, {"evil/Evil.java": EVIL}) / "evil/Evil.java"
    command = ["javac", "-proc:none", "-d", str(folder / "classes"), str(source)]
    subprocess.run(command, check=True, timeout=60)
    jar = folder / "evil.jar"
    with zipfile.ZipFile(jar, "w") as file:
        file.write(folder / "classes/evil/Evil.class", "evil/Evil.class")
        for service in ("javax.annotation.processing.Processor", "com.sun.source.util.Plugin"):
            file.writestr(f"META-INF/services/{service}", "evil.Evil\n")
    return jar


def test_no_processor_and_no_plugin_runs(root: Path, lane_folder: Path, tmp_path: Path) -> None:
    jar = evil_jar(tmp_path / "evil")
    write(root, {"a/b/Point.java": POINT})
    # It does run where javac can see it: without that this test would prove nothing.
    plain = ["javac", "-cp", str(jar), "-d", str(tmp_path / "out"), str(root / "a/b/Point.java")]
    assert b"EVIL RAN" in subprocess.run(plain, capture_output=True, timeout=60).stderr
    shutil.copy(jar, root)
    with zipfile.ZipFile(jar) as file:
        file.extractall(root)
    write(root, {"evil/Evil.java": EVIL.replace("com.sun.source.util.*", "java.io.*")
                 .replace("implements Plugin", "").replace("JavacTask", "Object")})  # fmt: skip
    compiled = compile_in(root, lane_folder)
    assert "a/b/Point.class" in compiled.classes
    assert "EVIL RAN" not in compiled.messages


def test_classes_beside_the_sources_are_not_seen(root: Path, lane_folder: Path) -> None:
    """Neither the sources' folder nor the working directory is a class or source path."""
    write(root, {"a/b/Point.java": POINT})
    classes = compile_in(root, lane_folder).classes
    shutil.rmtree(root / "a")
    write(root, {"a/User.java": USER, **classes})
    compiled = compile_in(root, lane_folder)
    assert compiled.errors >= 1
    assert "a.b" in compiled.messages


def test_it_is_called_in_one_way(lane_folder: Path) -> None:
    command = ["java", *flags("compile"), "-cp", f"{lane_folder}/kit.jar", COMPILER]
    for arguments in ([], ["--release", "17"], ["--source", "17", "/"], ["-J", "--release", "17"]):
        done = subprocess.run([*command, *arguments], capture_output=True, timeout=60)
        assert (done.returncode, done.stdout) == (2, b"")


def test_a_missing_folder_is_nobodys_error(lane_folder: Path, tmp_path: Path) -> None:
    """No `ERRORS` line: the referee must not take its own mistake for the submission's."""
    command = ["java", *flags("compile"), "-cp", f"{lane_folder}/kit.jar", COMPILER]
    arguments = ["--release", "17", str(tmp_path / "nowhere")]
    done = subprocess.run([*command, *arguments], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, b"")


# -- in a lane --------------------------------------------------------------------------------


def java() -> str:
    path = shutil.which("java")
    assert path
    return str(Path(path).resolve())


def test_the_compiler_works_in_a_lane(lane: Lane, lane_folder: Path) -> None:
    write(lane_folder / "sources", {"a/b/Point.java": POINT, "a/User.java": USER})
    program = [java(), *flags("compile", heap=256), "-cp", f"{LANE}/kit.jar", COMPILER]
    run = lane.run(
        [*program, "--release", "17", f"{LANE}/sources"],
        cwd=f"{SCRATCH}/s", nproc=64, fsize=1 << 20, cpu=60, timeout=120,
    )  # fmt: skip
    assert run.status == 0, run.stderr
    assert len(parse(run.stdout, run.status, run.stderr).classes) == 3
    assert lane.run([f"{LANE}/hostile", "list", f"{SCRATCH}/s"]).stdout == b""


def run_case(lane: Lane, method: str, last: bytes, **limits: int) -> tuple[bytes, bytes]:
    """Runs one case in a lane until `last` comes or the run ends; returns both outputs."""
    paths = f"{LANE}/kit.jar:{LANE}/drivers"
    command = [java(), *flags("run"), "-cp", paths, "gradekeeper.kit.Runner", "drivers.Cases"]
    number, stdin, out, err = lane.spawn(command, cwd=f"{SCRATCH}/s", **limits)
    inputs = '{"a":"b","d":"1","n":"1"}'
    line = f'{{"type":"case","nonce":"n","method":"{method}","inputs":{inputs}}}\n'
    os.write(stdin, line.encode())
    written = {out: b"", err: b""}
    try:
        while not any(last in data for data in written.values()):
            ready, _, _ = select.select(list(written), [], [], 60)
            assert ready, written
            chunks = {descriptor: os.read(descriptor, 65536) for descriptor in ready}
            assert any(chunks.values()), written
            for descriptor, chunk in chunks.items():
                written[descriptor] += chunk
        lane.sweep()
        lane.wait_for("exit", id=str(number))
        for descriptor in written:
            while chunk := os.read(descriptor, 65536):
                written[descriptor] += chunk
    finally:
        for descriptor in (stdin, out, err):
            os.close(descriptor)
    return written[out], written[err]


def test_the_runner_works_in_a_lane(lane: Lane, kit: Path) -> None:
    assert kit
    output, errors = run_case(lane, "inputs", b'"type":"done"', nproc=64, nofile=256)
    assert b'"key":"decimal","value":{"t":"dec","v":"1"}' in output
    assert errors == b""


def test_a_jvm_that_gets_no_threads_warns_nobody(lane: Lane, kit: Path) -> None:
    """HotSpot would write its warnings to descriptor 1."""
    assert kit
    output, _ = run_case(lane, "threads", b'"type":"done"', nproc=64)
    assert b'"key":"driver","threw":"java.lang.OutOfMemoryError"' in output
    assert all(line.startswith(b'{"seq":') for line in output.splitlines())
