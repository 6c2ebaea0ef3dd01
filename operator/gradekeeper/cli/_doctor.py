"""`gradekeeper doctor`: look at a cluster and say what grading there would lack."""

from __future__ import annotations

import asyncio
import functools
import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from gradekeeper.cli import _checks, _options
from gradekeeper.cli._checks import Check, Seen, State
from gradekeeper.cli._errors import CliError, ExitCode, plain

if TYPE_CHECKING:
    from gradekeeper.client import Connection

SYSTEM: Final = "gradekeeper-system"
_LABEL: Final = "app.kubernetes.io/name=gradekeeper"
_PROBE_SECONDS: Final = 300.0
_RETRY_SECONDS: Final = 2.0
_MOST_NODES: Final = 20
"""How many nodes' kubelets are asked."""


@dataclass(frozen=True)
class Installation:
    """What the operator's Deployment tells.

    Attributes:
        namespace: of the operator.
        name: of the Deployment, the prefix of every other object's name.
        grading: the grading namespaces.
        user_namespaces: `required`, `preferred`, or "" if unknown.
        http_port: of `/healthz`.
    """

    namespace: str
    name: str
    grading: tuple[str, ...]
    user_namespaces: str
    http_port: int

    @classmethod
    def read(cls, deployments: Seen, fallback: str, chosen: str) -> Installation:
        """Read it off the Deployment, or assume the chart's defaults.

        Args:
            deployments: those with the operator's labels.
            fallback: the operator's namespace if there is none, or more than one.
            chosen: the grading namespace to look at if none is named there.
        """
        found = deployments.items
        usual = [one for one in found if one["metadata"]["namespace"] == fallback]
        if len(found) != 1 and len(usual) != 1:
            return cls(fallback, "gradekeeper", (chosen,), "", 8080)
        [one] = found if len(found) == 1 else usual
        container = one["spec"]["template"]["spec"]["containers"][0]
        env = {each["name"]: str(each.get("value", "")) for each in container.get("env") or ()}
        ports = {each.get("name"): each["containerPort"] for each in container.get("ports") or ()}
        spaces = tuple(filter(None, env.get("GRADEKEEPER_NAMESPACES", "").split(",")))
        return cls(
            namespace=str(one["metadata"]["namespace"]),
            name=str(one["metadata"]["name"]),
            grading=spaces or (chosen,),
            user_namespaces=env.get("GRADEKEEPER_USER_NAMESPACES", ""),
            http_port=int(ports.get("http", 8080)),
        )


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("doctor")(doctor)


def doctor(
    probe: Annotated[
        bool,
        typer.Option(
            "--probe",
            help="Also grade a suite's own gold submission and report what its Pod saw: the only"
            " proof that policies and user namespaces are in force.",
        ),
    ] = False,
    system_namespace: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The operator's namespace; default: found by its label."),
    ] = None,
    namespace: _options.Namespace = None,
    context: _options.Context = None,
    kubeconfig: _options.Kubeconfig = None,
    as_json: _options.AsJson = False,
) -> None:
    """Check a cluster: versions, CRDs, operator, keys, isolation, rights, nodes, clock.

    Reads only, but for --probe, which creates one job and deletes it. Looks at the grading
    namespaces of the installation, or at the one that is given. Exit code: 0 if nothing failed
    (warnings included), 1 if something did.
    """
    from gradekeeper.client import ConfigurationError, Connection, load_settings

    async def run() -> list[Check]:
        load = functools.partial(load_settings, kubeconfig=kubeconfig, context=context)
        async with Connection(load, retry_for=_RETRY_SECONDS) as connection:
            chosen = namespace or connection.settings.namespace
            examination = _Examination(connection, system_namespace, namespace, chosen)
            checks = await examination.run()
            if probe and _checks.worst(checks[:1]) is State.OK:
                checks += await examination.probe(kubeconfig, context)
            return checks

    try:
        checks = asyncio.run(run())
    except ConfigurationError as error:
        raise CliError(plain(error)) from error
    if as_json:
        print(json.dumps([asdict(check) for check in checks], indent=2))
    else:
        _print(checks)
    if _checks.worst(checks) is State.FAILED:
        raise typer.Exit(ExitCode.FAILED)


class _Examination:
    """Asks the API server and hands the answers to the checks."""

    def __init__(
        self, connection: Connection, system: str | None, only: str | None, chosen: str
    ) -> None:
        self._connection = connection
        self._system = system
        self._only = only
        self._chosen = chosen
        self._suites: dict[str, Seen] = {}
        self._installation = Installation(SYSTEM, "gradekeeper", (chosen,), "", 8080)

    async def run(self) -> list[Check]:
        """Every check but the probe; only the first one if there is no API server."""
        from gradekeeper import __version__
        from gradekeeper.api.crds import build_job_crd, build_suite_crd

        server = await self._get("/version")
        checks = [_checks.check_server(server)]
        if checks[0].state is State.FAILED:
            return checks
        checks.append(_checks.check_clock(await self._connection.clock_skew()))
        for built in (build_job_crd(), build_suite_crd()):
            seen = await self._get(
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
                + str(built["metadata"]["name"])
            )
            checks.append(_checks.check_crd(seen, built))
        deployments = await self._deployments()
        checks.append(_checks.check_operator(deployments, __version__))
        found = self._installation = Installation.read(
            deployments, self._system or SYSTEM, self._chosen
        )
        key = f"/api/v1/namespaces/{found.namespace}/configmaps/{found.name}-verdict-key"
        checks += [
            _checks.check_health(await self._health()),
            _checks.check_verdict_key(await self._get(key)),
        ]
        for space in [self._only] if self._only else found.grading:
            checks += await self._namespace(space)
        nodes = await self._get("/api/v1/nodes")
        checks.append(_checks.check_user_namespaces(server, nodes, found.user_namespaces))
        for node in nodes.items[:_MOST_NODES]:
            name = str(node["metadata"]["name"])
            kubelet = f"/api/v1/nodes/{name}/proxy"
            configz = await self._get(f"{kubelet}/configz")
            version = await self._cgroup_version(f"{kubelet}/metrics")
            checks += _checks.check_kubelet(name, configz, version)
        return checks

    async def probe(self, kubeconfig: str | None, context: str | None) -> list[Check]:
        """Grade gold of a Ready suite in each namespace, and look at what its Pod observed."""
        checks = []
        for space, suites in self._suites.items():
            ready = _checks.ready_suites(suites)
            if not ready:
                checks.append(
                    Check(
                        f"{space}: probe",
                        State.WARNING,
                        "No suite is Ready, so there is nothing to grade.",
                        "Publish a suite; its own self-check is the same probe.",
                    )
                )
                continue
            facts, said = await self._grade_gold(space, ready[0], kubeconfig, context)
            checks.append(
                _checks.check_probe(space, facts, said, self._installation.user_namespaces)
            )
        return checks

    async def _grade_gold(
        self, space: str, suite: str, kubeconfig: str | None, context: str | None
    ) -> tuple[Mapping[str, Any] | None, str]:
        from gradekeeper.client import Builtin, GradekeeperError, GradingClient, JobRequest

        found = self._installation
        path = f"/api/v1/namespaces/{found.namespace}/configmaps/{found.name}-verdict-key"
        key = ((await self._get(path)).object or {}).get("data", {}).get("verdict.pub")
        if key is None:
            return None, "The verdict key is not published, so no verdict can be trusted."
        request = JobRequest(
            suite=suite,
            submission=Builtin.GOLD,
            nonce=secrets.token_hex(32),
            group="doctor",
            retry_limit=0,
        )
        try:
            async with GradingClient(
                public_keys=[str(key).encode()],
                namespace=space,
                context=context,
                kubeconfig=kubeconfig,
            ) as client:
                judgement = await client.grade(request, patience=_PROBE_SECONDS)
        except GradekeeperError as error:
            return None, str(error)
        facts = judgement.statement["predicate"]["isolation"]
        return facts, f"Gold of {suite} was {judgement.verdict.decision} there."

    async def _namespace(self, space: str) -> list[Check]:
        core, grading = f"/api/v1/namespaces/{space}", "/apis/gradekeeper.dev/v1alpha1"
        self._suites[space], labels, policies, dry_run = await asyncio.gather(
            self._get(f"{grading}/namespaces/{space}/gradingsuites"),
            self._get(core),
            self._get(f"/apis/networking.k8s.io/v1/namespaces/{space}/networkpolicies"),
            self._send("POST", f"{core}/pods", _pod(space), {"dryRun": "All"}),
        )
        allowed = await asyncio.gather(
            *(self._may(space, *right) for right in _checks.SUBMITTER_RIGHTS)
        )
        rights = dict(zip(_checks.SUBMITTER_RIGHTS, allowed, strict=True))
        return [
            _checks.check_namespace(space, labels),
            _checks.check_policies(space, policies),
            _checks.check_pod_creation(space, dry_run),
            _checks.check_rights(space, rights),
            _checks.check_suites(space, self._suites[space]),
        ]

    async def _deployments(self) -> Seen:
        """The operator's Deployment: in the namespace that is given, else wherever it is."""
        everywhere = "/apis/apps/v1/deployments"
        within = f"/apis/apps/v1/namespaces/{self._system or SYSTEM}/deployments"
        selector = {"labelSelector": _LABEL}
        if self._system is None:
            seen = await self._get(everywhere, selector)
            if seen.object is not None:
                return seen
        return await self._get(within, selector)

    async def _health(self) -> Seen:
        """The operator's `/healthz`, through the API server's proxy."""
        found = self._installation
        pods = f"/api/v1/namespaces/{found.namespace}/pods"
        seen = await self._get(pods, {"labelSelector": _LABEL})
        if seen.object is None:
            return seen
        running = [
            str(pod["metadata"]["name"])
            for pod in seen.items
            if (pod.get("status") or {}).get("phase") == "Running"
        ]
        if not running:
            return Seen(None, 0, "it has no running Pod.")
        return await self._get(f"{pods}/{running[0]}:{found.http_port}/proxy/healthz")

    async def _may(self, space: str, group: str, resource: str, verb: str) -> bool | None:
        attributes = {"namespace": space, "group": group, "resource": resource, "verb": verb}
        seen = await self._send(
            "POST",
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SelfSubjectAccessReview",
                "spec": {"resourceAttributes": attributes},
            },
        )
        status = (seen.object or {}).get("status")
        return None if status is None else bool(status.get("allowed"))

    async def _cgroup_version(self, path: str) -> int | None:
        from gradekeeper.client import ApiError

        found = None
        try:
            async for line in self._connection.lines(path, {}, idle=10.0):
                if line.startswith(b"kubelet_cgroup_version "):
                    found = int(float(line.split()[1]))
        except (ApiError, ValueError, IndexError):
            return None
        return found

    async def _get(self, path: str, params: Mapping[str, str] | None = None) -> Seen:
        return await self._send("GET", path, None, params)

    async def _send(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None,
        params: Mapping[str, str] | None = None,
    ) -> Seen:
        from gradekeeper.client import ApiError

        try:
            return Seen(await self._connection.request(method, path, params=params, body=body))
        except ApiError as error:
            return Seen(None, error.status, str(error))


def _pod(namespace: str) -> dict[str, Any]:
    """A Pod as harmless as a Pod can be, for a dry run."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"doctor-{secrets.token_hex(4)}", "namespace": namespace},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [
                {
                    "name": "none",
                    "image": "gradekeeper.invalid/none",
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "runAsUser": 65534,
                        "capabilities": {"drop": ["ALL"]},
                    },
                    "resources": {"limits": {"cpu": "1m", "memory": "1Mi"}},
                }
            ],
        },
    }


def _print(checks: list[Check]) -> None:
    from rich.table import Table
    from rich.text import Text

    from gradekeeper.cli._tables import console

    styles = {State.OK: "green", State.WARNING: "yellow", State.FAILED: "red"}
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("CHECK", overflow="fold")
    table.add_column("STATE", no_wrap=True)
    table.add_column("FOUND", overflow="fold")
    for check in checks:
        found = plain(check.sentence)
        if check.todo and check.state is not State.OK:
            found += f" To do: {plain(check.todo)}"
        table.add_row(
            Text(plain(check.name)), Text(check.state.value, styles[check.state]), Text(found)
        )
    console().print(table)
    counts = {state: sum(check.state is state for check in checks) for state in State}
    print(", ".join(f"{count} {state}" for state, count in counts.items()))
