"""`doctor` against a small API server: a healthy installation, then one thing wrong at a time."""

from __future__ import annotations

import copy
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import Result

from gradekeeper import __version__
from gradekeeper.api.crds import build_job_crd, build_suite_crd
from gradekeeper.cli import _checks
from gradekeeper.cli._checks import Check, Seen, State
from gradekeeper.verdicts.signing import generate_key

Run = Callable[..., Result]
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GRADING = "/api/v1/namespaces/grading"
SYSTEM = "/api/v1/namespaces/gradekeeper-system"
POLICIES = "/apis/networking.k8s.io/v1/namespaces/grading/networkpolicies"
SUITES = "/apis/gradekeeper.dev/v1alpha1/namespaces/grading/gradingsuites"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
HEALTH = f"{SYSTEM}/pods/operator-1:8080/proxy/healthz"
REFUSED = {
    "kind": "Status",
    "reason": "Forbidden",
    "message": "denied: only the gradekeeper operator creates or changes Pods",
}


def established(crd: dict[str, Any]) -> dict[str, Any]:
    return {**crd, "status": {"conditions": [{"type": "Established", "status": "True"}]}}


def items(*objects: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "List", "items": list(objects)}


def healthy() -> dict[str, tuple[int, Any]]:
    """Path → status and answer of an installation without a fault."""
    deployment = {
        "metadata": {
            "name": "gradekeeper",
            "namespace": "gradekeeper-system",
            "labels": {"app.kubernetes.io/version": __version__},
        },
        "spec": {
            "template": {
                "spec": {
                    "containers": [
                        {
                            "env": [
                                {"name": "GRADEKEEPER_NAMESPACES", "value": "grading"},
                                {"name": "GRADEKEEPER_USER_NAMESPACES", "value": "required"},
                                {"name": "GRADEKEEPER_PROBE_ADDRESS", "valueFrom": {}},
                            ],
                            "ports": [{"name": "http", "containerPort": 8080}],
                        }
                    ]
                }
            }
        },
        "status": {"availableReplicas": 1},
    }
    node = {
        "metadata": {"name": "n1"},
        "status": {
            "runtimeHandlers": [
                {"name": "", "features": {"userNamespaces": True}},
                {"name": "other", "features": {"userNamespaces": False}},
            ]
        },
    }
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    return {
        "GET /version": (200, {"gitVersion": "v1.34.4"}),
        f"GET {CRDS}/gradingjobs.gradekeeper.dev": (200, established(build_job_crd())),
        f"GET {CRDS}/gradingsuites.gradekeeper.dev": (200, established(build_suite_crd())),
        "GET /apis/apps/v1/deployments": (200, items(deployment)),
        f"GET {SYSTEM}/pods": (
            200,
            items({"metadata": {"name": "operator-1"}, "status": {"phase": "Running"}}),
        ),
        f"GET {HEALTH}": (
            200,
            {"alive": True, "synced": True, "relistAgeSeconds": 3.5, "loopLagSeconds": 0.0},
        ),
        f"GET {SYSTEM}/configmaps/gradekeeper-verdict-key": (
            200,
            {"data": {"verdict.pub": generate_key()[1].decode()}},
        ),
        f"GET {GRADING}": (
            200,
            {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}},
        ),
        f"GET {POLICIES}": (
            200,
            items(
                {
                    "metadata": {"name": "deny-all"},
                    "spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]},
                }
            ),
        ),
        f"POST {GRADING}/pods": (403, REFUSED),
        f"POST {REVIEWS}": (201, {"status": {"allowed": True}}),
        f"GET {SUITES}": (200, items({"metadata": {"name": "billing"}, "status": ready})),
        "GET /api/v1/nodes": (200, items(node)),
        "GET /api/v1/nodes/n1/proxy/configz": (200, {"kubeletconfig": {"podPidsLimit": 1024}}),
        "GET /api/v1/nodes/n1/proxy/metrics": (
            200,
            "# HELP x\nkubelet_cgroup_version 2\nother 1\n",
        ),
    }


class World:
    """The server's answers, and the paths that were asked for."""

    def __init__(self) -> None:
        self.answers = healthy()
        self.date: str | None = None
        self.asked: list[str] = []


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    made = World()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 65536  # one segment an answer: two would wait for each other's acknowledgement

        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            made.asked.append(f"{self.command} {self.path}")
            wanted = f"{self.command} {self.path.partition('?')[0]}"
            missing = (404, {"kind": "Status", "reason": "NotFound", "message": "no such thing"})
            status, body = made.answers.get(wanted, missing)
            data = (body if isinstance(body, str) else json.dumps(body)).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = answer

        def date_time_string(self, timestamp: float | None = None) -> str:
            return made.date or super().date_time_string(timestamp)  # type: ignore[arg-type]

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    config = tmp_path / "kubeconfig"
    config.write_text(
        yaml.safe_dump(
            {
                "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [
                    {
                        "name": "c",
                        "cluster": {"server": f"http://127.0.0.1:{server.server_port}"},
                    }
                ],
                "users": [{"name": "u", "user": {"token": "t"}}],
            }
        )
    )
    monkeypatch.setenv("KUBECONFIG", str(config))
    monkeypatch.setattr("gradekeeper.cli._doctor._RETRY_SECONDS", 0.0)
    yield made
    server.shutdown()
    thread.join(10)
    server.server_close()


def findings(run: Run, exit_code: int) -> dict[str, dict[str, str]]:
    result = run("doctor", "--json")
    assert result.exit_code == exit_code, result.stdout + result.stderr
    return {check["name"]: check for check in json.loads(result.stdout)}


def test_a_healthy_installation_has_no_complaint(run: Run, world: World) -> None:
    found = findings(run, 0)
    assert {name: check["state"] for name, check in found.items()} == dict.fromkeys(
        (
            "API server",
            "clock",
            "CRD gradingjobs",
            "CRD gradingsuites",
            "operator",
            "heartbeat",
            "verdict key",
            "grading: Pod Security",
            "grading: NetworkPolicies",
            "grading: foreign Pods",
            "grading: your rights",
            "grading: suites",
            "user namespaces",
            "n1: process limit",
            "n1: cgroups",
        ),
        "ok",
    )
    assert all(check["todo"] == "" for check in found.values())
    assert "3.5 s ago" in found["heartbeat"]["sentence"]
    writes = [line for line in world.asked if line.startswith("POST") and REVIEWS not in line]
    assert writes == [f"POST {GRADING}/pods?dryRun=All"]


def test_the_table_names_what_to_do(run: Run, world: World) -> None:
    world.answers[f"GET {POLICIES}"] = (200, items())
    result = run("doctor")
    assert result.exit_code == 1
    assert "grading: NetworkPolicies" in result.stdout
    assert "To do: Install the chart with `networkPolicy.enabled: true`." in result.stdout
    assert result.stdout.splitlines()[-1] == "14 ok, 0 warning, 1 failed"


def changed(path: str, change: Callable[[Any], None], status: int = 200) -> Callable[[World], None]:
    def apply(world: World) -> None:
        body = copy.deepcopy(world.answers[path][1])
        change(body)
        world.answers[path] = (status, body)

    return apply


def gone(path: str) -> Callable[[World], None]:
    return lambda world: world.answers.__delitem__(path)


def refused(path: str) -> Callable[[World], None]:
    message = {"kind": "Status", "reason": "Forbidden", "message": "not for you"}
    return lambda world: world.answers.__setitem__(path, (403, message))


def other_schema(crd: dict[str, Any]) -> None:
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["properties"]["spec"]["properties"]["nonce"]


def allow_dns(policies: dict[str, Any]) -> None:
    spec = {"podSelector": {}, "policyTypes": ["Egress"], "egress": [{}]}
    policies["items"].append({"metadata": {"name": "dns"}, "spec": spec})


def without_user_namespaces(nodes: dict[str, Any]) -> None:
    nodes["items"][0]["status"]["runtimeHandlers"][0]["features"] = {}


def only_some_pods(policies: dict[str, Any]) -> None:
    policies["items"][0]["spec"]["podSelector"] = {"matchLabels": {"a": "b"}}


def second_operator(deployments: dict[str, Any]) -> None:
    other = copy.deepcopy(deployments["items"][0])
    other["metadata"]["namespace"] = "elsewhere"
    deployments["items"].append(other)


def rewrite(path: str, status: int, body: Any) -> Callable[[World], None]:
    return lambda world: world.answers.__setitem__(path, (status, body))


JOB_CRD = f"GET {CRDS}/gradingjobs.gradekeeper.dev"
DEPLOYMENTS = "GET /apis/apps/v1/deployments"
KEY = f"GET {SYSTEM}/configmaps/gradekeeper-verdict-key"
METRICS = "GET /api/v1/nodes/n1/proxy/metrics"
FAULTS: list[tuple[str, str, str, Callable[[World], None]]] = [
    ("CRD gradingjobs", "failed", "not installed", gone(JOB_CRD)),
    ("CRD gradingjobs", "warning", "you may not read it", refused(JOB_CRD)),
    ("CRD gradingjobs", "warning", "not that of this program", changed(JOB_CRD, other_schema)),
    (
        "CRD gradingjobs",
        "failed",
        "not established",
        changed(JOB_CRD, lambda crd: crd.pop("status")),
    ),
    (
        "operator",
        "failed",
        "no available replica",
        changed(DEPLOYMENTS, lambda found: found["items"][0].pop("status")),
    ),
    ("operator", "warning", "There are 2", changed(DEPLOYMENTS, second_operator)),
    (
        "operator",
        "warning",
        "version 9.9",
        changed(
            DEPLOYMENTS,
            lambda found: found["items"][0]["metadata"]["labels"].update(
                {"app.kubernetes.io/version": "9.9"}
            ),
        ),
    ),
    ("heartbeat", "failed", "not well", rewrite(f"GET {HEALTH}", 503, {"alive": False})),
    ("heartbeat", "failed", "stuck", changed(f"GET {HEALTH}", lambda h: h.update(alive=False))),
    (
        "heartbeat",
        "warning",
        "starting",
        changed(f"GET {HEALTH}", lambda h: h.update(synced=False)),
    ),
    ("heartbeat", "warning", "you may not read it", refused(f"GET {HEALTH}")),
    ("verdict key", "failed", "does not exist", gone(KEY)),
    ("verdict key", "failed", "no verdict.pub", rewrite(KEY, 200, {"data": {}})),
    ("verdict key", "failed", "is no key", rewrite(KEY, 200, {"data": {"verdict.pub": "x"}})),
    (
        "grading: Pod Security",
        "failed",
        "enforces nothing",
        changed(f"GET {GRADING}", lambda space: space["metadata"].pop("labels")),
    ),
    (
        "grading: NetworkPolicies",
        "failed",
        "allow traffic: dns",
        changed(f"GET {POLICIES}", allow_dns),
    ),
    (
        "grading: NetworkPolicies",
        "failed",
        "None denies all",
        changed(f"GET {POLICIES}", only_some_pods),
    ),
    (
        "grading: foreign Pods",
        "failed",
        "could create a Pod",
        rewrite(f"POST {GRADING}/pods", 201, {}),
    ),
    (
        "grading: foreign Pods",
        "warning",
        "whether others may was not seen",
        refused(f"POST {GRADING}/pods"),
    ),
    (
        "grading: your rights",
        "warning",
        "create gradingjobs",
        rewrite(f"POST {REVIEWS}", 201, {"status": {"allowed": False}}),
    ),
    ("grading: your rights", "warning", "does not review", gone(f"POST {REVIEWS}")),
    ("grading: suites", "warning", "There is none", rewrite(f"GET {SUITES}", 200, items())),
    (
        "grading: suites",
        "warning",
        "0 of 1 are Ready; not: billing",
        changed(f"GET {SUITES}", lambda found: found["items"][0].pop("status")),
    ),
    (
        "user namespaces",
        "failed",
        "these nodes does not report them: n1",
        changed("GET /api/v1/nodes", without_user_namespaces),
    ),
    (
        "user namespaces",
        "warning",
        "feature gate",
        rewrite("GET /version", 200, {"gitVersion": "v1.32.0"}),
    ),
    (
        "n1: process limit",
        "warning",
        "any number",
        rewrite("GET /api/v1/nodes/n1/proxy/configz", 200, {"kubeletconfig": {}}),
    ),
    ("n1: cgroups", "warning", "Version 1", rewrite(METRICS, 200, "kubelet_cgroup_version 1\n")),
    ("n1: cgroups", "warning", "do not tell", refused(METRICS)),
]


@pytest.mark.parametrize(
    ("name", "state", "sentence", "fault"), FAULTS, ids=[f"{f[0]}: {f[2]}" for f in FAULTS]
)
def test_a_fault_is_found_and_nothing_else(
    run: Run,
    world: World,
    name: str,
    state: str,
    sentence: str,
    fault: Callable[[World], None],
) -> None:
    fault(world)
    found = findings(run, 1 if state == "failed" else 0)
    assert found[name]["state"] == state
    assert sentence in found[name]["sentence"]
    assert state == "warning" or found[name]["todo"]
    assert [other for other, check in found.items() if check["state"] != "ok"] == [name]


def test_without_an_api_server_there_is_one_finding(run: Run, world: World) -> None:
    world.answers["GET /version"] = (503, {"kind": "Status", "message": "asleep"})
    assert list(findings(run, 1)) == ["API server"]
    world.answers["GET /version"] = (200, {"gitVersion": "v1.29.9"})
    assert findings(run, 1)["API server"]["sentence"].endswith("which is too old.")


@pytest.mark.parametrize(("ahead", "state"), [(10, "warning"), (-100, "failed")])
def test_a_clock_that_is_wrong(run: Run, world: World, ahead: int, state: str) -> None:
    import time

    world.date = formatdate(time.time() + ahead, usegmt=True)
    found = findings(run, 1 if state == "failed" else 0)["clock"]
    assert found["state"] == state
    assert ("ahead of" if ahead > 0 else "behind") in found["sentence"]


def test_a_chosen_namespace_is_looked_at_instead(run: Run, world: World) -> None:
    result = run("doctor", "--json", "-n", "other")
    found = {check["name"]: check for check in json.loads(result.stdout)}
    assert found["other: Pod Security"]["sentence"] == "The namespace does not exist."
    assert not any(name.startswith("grading:") for name in found)


def test_without_rights_on_all_namespaces_the_usual_one_is_asked(run: Run, world: World) -> None:
    own = "GET /apis/apps/v1/namespaces/gradekeeper-system/deployments"
    world.answers[own] = world.answers[DEPLOYMENTS]
    refused(DEPLOYMENTS)(world)
    assert findings(run, 0)["operator"]["state"] == "ok"


def test_a_probe_without_a_suite_says_so(run: Run, world: World) -> None:
    world.answers[f"GET {SUITES}"] = (200, items())
    result = run("doctor", "--json", "--probe")
    last = json.loads(result.stdout)[-1]
    assert (last["name"], last["state"]) == ("grading: probe", "warning")
    assert "No suite is Ready" in last["sentence"]


@pytest.mark.parametrize(
    ("facts", "mode", "state"),
    [
        ({"network": "denied", "userNamespace": True}, "required", State.OK),
        ({"network": "reachable", "userNamespace": True}, "required", State.FAILED),
        ({"userNamespace": True}, "required", State.FAILED),
        ({"network": "denied", "userNamespace": False}, "required", State.FAILED),
        ({"network": "denied", "userNamespace": False}, "preferred", State.OK),
        ({"network": "denied", "userNamespace": False}, "", State.FAILED),
        (None, "required", State.FAILED),
    ],
)
def test_what_a_grading_pod_saw(facts: dict[str, Any] | None, mode: str, state: State) -> None:
    check = _checks.check_probe("grading", facts, "said", mode)
    assert check.state is state
    if state is State.OK:
        assert facts is not None
        assert ("WITHOUT" in check.sentence) == (not facts["userNamespace"])


def test_the_worst_state_decides() -> None:
    ok, warning, failed = (Check("n", state, "s") for state in State)
    assert _checks.worst([]) is State.OK
    assert _checks.worst([ok, warning]) is State.WARNING
    assert _checks.worst([failed, ok, warning]) is State.FAILED


def test_no_nodes_may_be_read(run: Run, world: World) -> None:
    refused("GET /api/v1/nodes")(world)
    found = findings(run, 0)
    assert found["user namespaces"]["state"] == "warning"
    assert not any(name.startswith("n1") for name in found)


def test_an_old_server_needs_the_gate_whatever_its_nodes_say() -> None:
    seen = Seen({"gitVersion": "v1.32.9"})
    assert _checks.server_version(seen) == (1, 32)
    assert _checks.server_version(Seen({"gitVersion": "odd"})) == (0, 0)
