"""Nothing that decides is within reach of a lane, and nothing of a lane reaches the API."""

from __future__ import annotations

import json
import time

import pytest
from demo import jobs, stage
from demo.cases import SUITE_DIR, Case
from demo.commands import DemoError

from gradekeeper.api import names
from gradekeeper.suites.bundle import read_pins
from gradekeeper.suites.definition import load_suite
from gradekeeper.suites.trees import Expectation, archive_tree, submission_tree

from .conftest import NAMESPACE, Graded

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(1500)]

MARKER = "zq8-marker-of-a-submission-4fx"
SERVICE = "src/main/java/com/acme/billing/service/RefundService.java"
#: Runs in the lane by exec, as the lane's own user: prints every readable file that has a line
#: of standard input in it. A submission can read no more than that.
SEARCH = """
set -u
cat > /scratch/patterns
for place in /lane /scratch /opt /etc /var /home /root /tmp /run /usr/local /dev/shm /srv /mnt; do
  grep -rIlaF -f /scratch/patterns "$place" 2>/dev/null | grep -v '^/scratch/patterns$'
done
for process in /proc/[0-9]*; do
  for file in environ cmdline maps; do
    grep -laF -f /scratch/patterns "$process/$file" 2>/dev/null
  done
done
rm -f /scratch/patterns
echo searched
"""


def running_pod(graded: Graded, job: str) -> str:
    """Name of the job's Pod once its lane runs submitted code."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        pods = graded.cluster.read("pods", "-n", NAMESPACE, "-l", f"{names.LABEL_JOB}={job}")
        for pod in pods["items"]:
            if pod["status"].get("phase") != "Running":
                continue
            name = str(pod["metadata"]["name"])
            try:
                look = lane(graded, name, "ls /lane/app/com/acme")
            except DemoError:
                continue
            if "billing" in look:
                return name
        time.sleep(0.3)
    raise AssertionError(f"{job}: no lane ran submitted code within two minutes")


def lane(graded: Graded, pod: str, script: str, stdin: str = "") -> str:
    return graded.cluster.kubectl(
        *("-n", NAMESPACE, "exec", "-i", pod, "-c", names.LANE, "--", "/bin/sh", "-c", script),
        stdin=stdin,
        limit=60,
    )


def test_no_expectation_is_within_reach_of_a_lane(graded: Graded, made: list[str]) -> None:
    case = Case(
        "e2e-search",
        "never ends",
        "endless-loop",
        Expectation(),
        {"testTimeoutSeconds": "20"},
    )
    made.append(case.name)
    jobs.apply_case(graded.cluster, NAMESPACE, case, stage.OUT / "e2e")
    pod = running_pod(graded, case.name)
    # The search itself finds what is there: the drivers, by a name that they do have.
    assert "/lane/suite/drivers.jar" in lane(graded, pod, SEARCH, "drivers/DeskA\n").splitlines()
    pins = read_pins(SUITE_DIR, load_suite(SUITE_DIR))
    ids = {test_id.partition("/")[2] for test_id in pins}
    assert len(ids) > 20
    secrets = ids | {"transcripts", "GRADEKEEPER_JOB", "gradekeeper.result/v1", "discriminat"}
    found = lane(graded, pod, SEARCH, "\n".join(sorted(secrets)) + "\n").split()
    assert found == ["searched"]
    # Neither the judge's code nor the bundle's other half is mounted.
    for path in ("/suite", "/opt/gradekeeper/gradekeeper", "/submission", "/var/run/secrets"):
        assert lane(graded, pod, f"ls -d {path} 2>/dev/null; true") == ""


def test_nothing_that_a_submission_prints_reaches_the_api(graded: Graded, made: list[str]) -> None:
    definition = load_suite(SUITE_DIR)
    tree = submission_tree(SUITE_DIR, definition, ["gold"])
    source = tree[SERVICE][0].decode()
    head, brace, rest = source.partition("public class RefundService {")
    assert brace
    shout = f"""
    static final class {MARKER.replace("-", "_")} extends RuntimeException {{
        {MARKER.replace("-", "_")}() {{ super("{MARKER}"); }}
    }}
    static {{
        System.out.println("{MARKER}");
        System.err.println("{MARKER}");
        for (String path : new String[] {{"/dev/termination-log", "/var/lane/termination",
                "/scratch/{MARKER}", "/proc/1/fd/1", "/proc/1/fd/2", "/proc/self/fd/1",
                "/proc/self/fd/2", "/lane/{MARKER}", "/dev/shm/{MARKER}"}}) {{
            try (java.io.FileOutputStream out = new java.io.FileOutputStream(path, true)) {{
                out.write("{MARKER}\\n".getBytes());
            }} catch (java.io.IOException ignored) {{
                Thread.currentThread().setName("{MARKER}");
            }}
        }}
        try {{
            new java.io.FileOutputStream(java.io.FileDescriptor.out)
                .write("{MARKER} {{\\"type\\":\\"{MARKER}\\"}}\\n".getBytes());
        }} catch (java.io.IOException ignored) {{
        }}
    }}

    private static void shout() {{
        throw new {MARKER.replace("-", "_")}();
    }}
"""
    changed = (
        head
        + brace
        + shout
        + rest.replace('Money.requirePositive(requested, "a refund");', "shout();")
    )
    assert changed.count("shout();") == 1
    tree[SERVICE] = (changed.encode(), False)
    name = "e2e-marker"
    made.append(name)
    archive = archive_tree(tree)
    jobs.apply_archive(graded.cluster, NAMESPACE, name, archive, stage.OUT / "e2e")
    graded.cluster.kubectl(
        *("-n", NAMESPACE, "wait", "--for=condition=Succeeded", f"gradingjob/{name}"),
        "--timeout=300s",
        limit=330,
    )
    job = graded.cluster.read("gradingjob", name, "-n", NAMESPACE)
    verdict = job["status"]["verdict"]
    assert verdict["decision"] == "Graded"
    assert 0 < verdict["tests"]["failed"] < verdict["tests"]["total"]
    attestation = jobs.decode_attestation(job)
    events = graded.cluster.read("events", "-n", NAMESPACE)
    for text in (json.dumps(job["status"]), attestation, json.dumps(events)):
        assert MARKER not in text
        assert MARKER.replace("-", "_") not in text
    assert name in json.dumps(events)
