"""The runtime `kubernetes`: one hardened Pod per box.

Imported by `registration` when the first box is made, and by nothing else of this package.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import posixpath
import shlex
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final
from urllib.parse import urlencode, urlsplit

import httpx
from verifiers.v1.errors import SandboxError
from verifiers.v1.runtimes.base import ProgramResult, Runtime
from verifiers.v1.runtimes.limiters import creation_limiter
from verifiers.v1.utils.aio import run_shielded
from verifiers.v1.utils.scope import run_scope

from gradekeeper.client import (
    ConflictError,
    ForbiddenError,
    GradekeeperError,
    NotFoundError,
    ServerSettings,
)
from gradekeeper_verifiers.cluster import Cluster, pods_path, policies_path
from gradekeeper_verifiers.config import KubernetesConfig, KubernetesRuntimeInfo
from gradekeeper_verifiers.ending import end_pod
from gradekeeper_verifiers.errors import BoxEndedError, BoxUnreachableError
from gradekeeper_verifiers.execution import (
    Completed,
    ExecError,
    ExecLostError,
    ExecRefusedError,
    run_command,
)
from gradekeeper_verifiers.network import (
    CUT_OFF_SCRIPT,
    REACHABLE_SCRIPT,
    build_network_policy,
    parse_probe,
)
from gradekeeper_verifiers.owner import this_process
from gradekeeper_verifiers.pod import (
    DEFAULT_WORKDIR,
    LABEL_BOX,
    STATE_DIRECTORY,
    Manifest,
    box_labels,
    build_pod,
    owner_reference,
)
from gradekeeper_verifiers.relay import Relays, relay
from gradekeeper_verifiers.status import BoxState, Ended, Hopeless, Lost, Running, read_box

log = logging.getLogger(__name__)

# Bytes of a command in a URL. The API server takes about 1 MB, proxies before it far less, often
# 8 KiB; the kernel takes 128 KiB for one argument.
_MAX_COMMAND: Final = 4096
# Bytes that a script of this module may say; an agent may have put anything into its place.
_MAX_SAID: Final = 4096
_MAX_FILE: Final = 256 << 20
_KILLED: Final = 137
_NOT_STARTED: Final = 126
_CUT_OFF_SECONDS: Final = 30
# An API server that restarts, or a node that comes back, needs less.
_END_SECONDS: Final = 600.0
_KILL_SECONDS: Final = 15.0
# So long after its end a box may still look alive: the kubelet reports once a second or so.
_AFTERMATH_SECONDS: Final = 15.0
# So many times longer if the command was lost and no other begins: an eviction takes its time.
_LOST_FACTOR: Final = 4
_RESPONSE_SECONDS: Final = 10.0
_POLL_SECONDS: Final = (0.1, 1.0)

# The exec'd process leads its session: its id is what a cancelled command is killed by.
# Both may begin in either order, as a node starts a command late. Each leaves its note before it
# looks for the other's, so one of them always sees that the command is not wanted any more.
_NOTE: Final = '{ echo $$ >"$1"; } 2>/dev/null; [ ! -e "$1.off" ] || exit 137; shift; '
_RUN: Final = _NOTE + 'cd -- "$1" || exit 125; shift; exec "$@"'
_KILL: Final = '{ true >"$1.off"; } 2>/dev/null; p=$(cat "$1") && kill -KILL "-$p"'
# Only regular files: a pipe would never end, a device never stop. What is counted and what is sent
# is one open file, whatever takes its name meanwhile.
_READ: Final = (
    '[ -f "$1" ] && exec 3<"$1" && [ -f /proc/self/fd/3 ] || '
    '{ echo "no such regular file" >&2; exit 66; }; '
    'n=$(wc -c </proc/self/fd/3) || exit 66; [ -z "$2" ] || [ "$n" -le "$2" ] || n=$2; '
    'head -c "$n" <&3 && printf %s "$n" >&2'
)
# A pipe that takes a file's name at the right moment holds whoever opens it. Time of one read or
# write, and bytes a second that any way to a box carries.
_FILE_SECONDS: Final = 180.0
_FILE_RATE: Final = 1 << 20
# All of it lies in $3 before the file is touched, so no cut connection leaves half of one. Copied
# and not moved from there: links, modes and owners stay.
_WRITE: Final = (
    "trap 'rm -f -- \"$3\"' EXIT; "
    'mkdir -p -- "$(dirname -- "$1")" && cat >"$3" && n=$(wc -c <"$3") && echo "$n" && '
    '[ "$n" -eq "$2" ] && cat "$3" >"$1"'
)
_PREPARE: Final = 'mkdir -p "$1" "$2" && cd "$2" && [ -w . ] || exit 1'
_BACKGROUND: Final = 'log=$1; shift; nohup "$@" >"$log" 2>&1 </dev/null &'


class KubernetesRuntime(Runtime):
    """A box: a Pod whose only container idles while commands are run in it by exec.

    Every call raises SandboxError for what the platform did, its kind `BoxUnreachableError` for a
    command that was lost on its way, and its kind `BoxEndedError` for what ended the box from
    inside; the API server tells them apart, never the box.
    """

    # What one rollout was told of this host: views that share a box share all else.
    __slots__ = ("__dict__", "__weakref__", "_host_ports")

    # Nothing of verifiers may open a tunnel for a box: `run_program` has its own.
    is_local = True

    def __init__(self, config: KubernetesConfig, name: str | None = None) -> None:
        super().__init__(name)
        workdir = (config.workdir or DEFAULT_WORKDIR).rstrip("/")
        self.config = config.model_copy(update={"workdir": workdir})
        self.info = KubernetesRuntimeInfo(**self.config.model_dump())
        self._workdir = workdir
        self._box = f"box-{uuid.uuid4().hex[:16]}"
        self._run = run_scope()
        self._namespace = ""
        self._cluster: Cluster | None = None
        self._settings: ServerSettings | None = None
        self._pod: Manifest | None = None
        self._policy_made = False
        self._host_ports: frozenset[int] = frozenset()
        self._relays = Relays(self._relay)
        # Whether the Pod may exist; the last thing that `cleanup` needs.
        self._created = False

    # --- life -------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Create the Pod and wait until commands can be run in it.

        Raises:
            SandboxError: No settings, refused by the API server, hopeless, or not in time.
        """
        async with _typed(f"box {self._box}"):
            self._cluster = await Cluster.acquire(self.config.kubeconfig, self.config.context)
            self._settings = self._cluster.connection.settings
            self._namespace = self.config.namespace or self._settings.namespace
            async with contextlib.AsyncExitStack() as stack:
                # Of the API server, whoever's run it is: that is what the rate is to spare.
                server = urlsplit(self._settings.url).netloc
                limiter = creation_limiter(self.config.creates_per_sec, "kubernetes", server)
                if limiter is not None:
                    await stack.enter_async_context(limiter)
                await self._wait_until_running(time.monotonic() + self.config.start_timeout)
            done = await self._script(_PREPARE, STATE_DIRECTORY, self._workdir)
            if done.code != 0:
                raise SandboxError(
                    f"box {self._box}: {self._workdir} cannot be used by uid {self.config.uid}:"
                    f" {_text(done.stderr).strip()[-500:]}"
                )
        self.info.id = self._box

    async def _wait_until_running(self, deadline: float) -> None:
        await self._create(deadline)
        delay, most = _POLL_SECONDS
        while True:
            state = await self._state()
            if isinstance(state, Running):
                return
            if isinstance(state, Hopeless | Ended | Lost):
                raise SandboxError(
                    f"box {self._box} did not start ({state.reason}): {state.message}"
                )
            if time.monotonic() + delay > deadline:
                raise SandboxError(
                    f"box {self._box} did not start within {self.config.start_timeout:g} seconds"
                    f" ({state.reason}): {state.message}"
                )
            await asyncio.sleep(delay)
            delay = min(most, delay * 1.5)

    async def _create(self, deadline: float) -> None:
        pod = build_pod(
            self.config, name=self._box, run=self._run, rollout=self.name, owner=this_process()
        )
        connection = self._live().connection
        # Before the request: one that is cancelled may have been carried out all the same.
        self._created = True
        failures = 0
        while True:
            try:
                self._pod = await connection.request("POST", pods_path(self._namespace), body=pod)
                return
            except ConflictError:
                # The answer to an earlier try was lost; nobody else draws this name.
                self._pod = await connection.request("GET", pods_path(self._namespace, self._box))
                return
            except ForbiddenError as error:
                # Others of the run will end and free the quota.
                failures += 1
                delay = connection.backoff.delay(failures)
                if "exceeded quota" not in str(error) or time.monotonic() + delay > deadline:
                    raise
                await asyncio.sleep(delay)

    async def end(self) -> None:
        """Delete the Pod, and return once nothing of it runs; safe to repeat, and before `stop`.

        Raises:
            SandboxError: It was not seen to end.
        """
        if self._created:
            known = self._pod["metadata"]["uid"] if self._pod is not None else None
            async with _typed(f"box {self._box}"):
                await end_pod(
                    self._live(), self._namespace, self._box, uid=known, seconds=_END_SECONDS
                )
            self._created = False
        await self.stop()

    async def teardown(self) -> None:
        """Delete the Pod, what belongs to it goes with it; safe to repeat."""
        cluster = self._cluster
        if cluster is None:
            return
        try:
            if self._created:
                await cluster.connection.request("DELETE", pods_path(self._namespace, self._box))
        except NotFoundError:
            self._created = False
        except GradekeeperError as error:
            # Not worth a rollout: `cleanup`, its deadline and the sweep are left.
            log.warning("The box %s was not deleted: %s", self._box, error)
        else:
            self._created = False
        finally:
            self._cluster = None
            await cluster.release()

    def cleanup(self) -> None:
        """Delete the Pod without an event loop, when the interpreter ends; safe to repeat."""
        settings = self._settings
        if not self._created or settings is None:
            return
        authorization = settings.authorization()
        verify = settings.verify if settings.verify is not None else False
        with httpx.Client(verify=verify, timeout=10.0, trust_env=False) as http:
            answer = http.request(
                "DELETE",
                settings.url + pods_path(self._namespace, self._box),
                headers={"authorization": authorization} if authorization else {},
                extensions={"sni_hostname": settings.server_name} if settings.server_name else {},
            )
        if answer.is_success or answer.status_code == 404:
            self._created = False

    async def alive(self) -> bool:
        """Whether the API server says that the box runs; what is broken inside does not count."""
        try:
            async with _typed(f"box {self._box}"):
                state = await self._state()
                return isinstance(state, Running) and state.reported
        except SandboxError:
            return False

    async def _state(self) -> BoxState:
        pod = await self._live().read_pod(self._namespace, self._box)
        known = self._pod["metadata"]["uid"] if self._pod is not None else None
        return read_box(pod, known)

    def _live(self) -> Cluster:
        if self._cluster is None:
            raise SandboxError(f"box {self._box} was not started, or was stopped")
        return self._cluster

    # --- commands ---------------------------------------------------------------------------------

    async def run(self, argv: list[str], env: dict[str, str]) -> ProgramResult:
        """Run a command in the workdir. Cancelling kills it, and all of its process group.

        A command that writes more than `max_output` bytes is killed: exit code 137 and a note.
        """
        done = await self.capture(argv, env, max_output=self.config.max_output)
        stderr = _text(done.stderr)
        if done.code is None:
            stderr += f"\nkilled: more than {self.config.max_output} bytes of output\n"
        code = _KILLED if done.code is None else done.code
        return ProgramResult(code, _text(done.stdout), stderr)

    async def capture(
        self, argv: Sequence[str], env: dict[str, str], *, max_output: int
    ) -> Completed:
        """Run a command as `run` does, for its bytes; its code is None if it wrote more of them."""
        process = f"{STATE_DIRECTORY}/{uuid.uuid4().hex}"
        command = self._command(argv, env, process)
        if len(urlencode([("command", part) for part in command])) > _MAX_COMMAND:
            script = f"{process}.sh"
            lines = f"rm -f -- {shlex.quote(script)}\nexec {shlex.join(command)}\n"
            said = await self._put(script, lines.encode())
            if said is not None:
                # It runs and cannot hold even that: no room left, or no folder. Its own doing.
                return Completed(_NOT_STARTED, b"", f"the command was not put into {said}".encode())
            command = ["sh", script]
        return await self._killing(process, self._exec(command, max_output=max_output))

    def _command(self, argv: Sequence[str], env: dict[str, str], process: str) -> list[str]:
        variables = [f"{name}={value}" for name, value in self.process_env(env).items()]
        prefix = ["env", *variables] if variables else []
        return ["sh", "-c", _RUN, "sh", process, self._workdir, *prefix, *argv]

    async def run_background(self, argv: list[str], env: dict[str, str], log: str) -> None:
        """Start a command that runs until the box is deleted."""
        command = self._command(argv, env, "/dev/null")
        done = await self._script(_BACKGROUND, self._path(log), *command)
        if done.code != 0:
            raise SandboxError(f"box {self._box}: {_text(done.stderr).strip()[-500:]}")

    def host_url(self, url: str) -> str:
        """Note an address of this host that the box will need; it is the same in there."""
        parts = urlsplit(url)
        if parts.hostname in ("127.0.0.1", "localhost"):
            port = parts.port or (443 if parts.scheme == "https" else 80)
            self._host_ports |= {port}
        return url

    async def run_program(self, argv: list[str], env: dict[str, str]) -> ProgramResult:
        """Run a harness's program, which finds the host's addresses at its own loopback meanwhile.

        Not before, as a harness outside the box runs no program and needs no python3 in there; and
        not after, as a port of the host may by then be another's. A program that loses its relay is
        killed, exit code 137: only what runs in the box ends a relay of a box that lives.

        Raises:
            SandboxError: The platform ended the relay, or the box; see the class.
        """
        async with contextlib.AsyncExitStack() as stack:
            relays = [
                await stack.enter_async_context(self._relays.use(port))
                for port in sorted(self._host_ports)
            ]
            if not any(task.done() for task in relays):
                program = asyncio.create_task(self.run(argv, env))
                try:
                    await asyncio.wait({program, *relays}, return_when=asyncio.FIRST_COMPLETED)
                    if program.done():
                        return await program
                finally:
                    program.cancel()
                    await asyncio.gather(program, return_exceptions=True)
            ended = await next(task for task in relays if task.done())
        how = "" if ended.code is None else f"exit code {ended.code} "
        return ProgramResult(
            _KILLED,
            "",
            "killed: the relay to this host's loopback ended in the box:"
            f" {how}{_text(ended.stderr).strip()}",
        )

    async def _relay(self, port: int, ready: asyncio.Future[None]) -> Completed:
        return await self._judge(
            lambda: relay(self._live(), self._namespace, self._box, port, ready)
        )

    async def _kill(self, process: str) -> None:
        """Kill a command's process group; a box that cannot even do that is left alone."""
        with contextlib.suppress(ExecError, GradekeeperError, TimeoutError):
            async with asyncio.timeout(_KILL_SECONDS):
                await run_command(
                    self._live(),
                    self._namespace,
                    self._box,
                    ["sh", "-c", _KILL, "sh", process],
                    max_output=4096,
                )

    async def _script(
        self,
        script: str,
        *arguments: str,
        stdin: bytes | None = None,
        max_output: int = _MAX_SAID,
    ) -> Completed:
        """Run a script of this module; its code is None if it said too much and was killed."""
        process = f"{STATE_DIRECTORY}/{uuid.uuid4().hex}"
        command = ["sh", "-c", _NOTE + script, "sh", process, *arguments]
        return await self._killing(process, self._exec(command, stdin=stdin, max_output=max_output))

    async def _killing(self, process: str, command: Awaitable[Completed]) -> Completed:
        """Wait for a command; kill it if it wrote too much, or nobody waits any more."""
        try:
            done = await command
        except asyncio.CancelledError:
            await run_shielded(self._kill(process))
            raise
        if done.code is None:
            await self._kill(process)
        return done

    async def _exec(
        self, argv: Sequence[str], *, stdin: bytes | None = None, max_output: int
    ) -> Completed:
        return await self._judge(
            lambda: run_command(
                self._live(),
                self._namespace,
                self._box,
                argv,
                stdin=stdin,
                max_output=max_output,
            )
        )

    async def _judge(self, run: Callable[[], Awaitable[Completed]]) -> Completed:
        """Run a command; what has no exit status, or may not have earned it, is asked about."""
        async with _typed(f"box {self._box}", BoxUnreachableError):
            try:
                done = await self._try(run)
            except ExecLostError as error:
                await self._settle(_LOST_FACTOR * _AFTERMATH_SECONDS)
                raise BoxUnreachableError(f"box {self._box}: {error}") from error
            if done.code == _KILLED and not await self._responds():
                # A box that dies answers like a command that is killed.
                await self._settle(_AFTERMATH_SECONDS)
            return done

    async def _try(self, run: Callable[[], Awaitable[Completed]]) -> Completed:
        """Run a command, a second time if the node could not start it; exit code 126: nor then."""
        try:
            return await run()
        except ExecRefusedError as error:
            refusal = error
        # Nothing was started, so it may be tried again, if anything can be started at all.
        if await self._settle(_AFTERMATH_SECONDS):
            try:
                return await run()
            except ExecRefusedError as error:
                refusal = error
        # It runs and yet starts nothing: no memory or process ids left. Its own doing.
        return Completed(_NOT_STARTED, b"", str(refusal).encode())

    async def _responds(self) -> bool:
        try:
            async with asyncio.timeout(_RESPONSE_SECONDS):
                probe = await run_command(
                    self._live(), self._namespace, self._box, ["sh", "-c", ":"], max_output=4096
                )
        except (ExecError, TimeoutError):
            return False
        return probe.code == 0

    async def _settle(self, seconds: float) -> bool:
        """Wait until it is known whether the box is over; raise if it is.

        Args:
            seconds: After which a box that runs no commands is left at that.

        Returns:
            Whether it runs commands; False: it runs, says the API server, but no commands.
        """
        deadline = time.monotonic() + seconds
        while True:
            self._raise_if_over(await self._state())
            if await self._responds():
                return True
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(_POLL_SECONDS[1])

    def _raise_if_over(self, state: BoxState) -> None:
        if isinstance(state, Running):
            return
        kind = BoxEndedError if isinstance(state, Ended) else SandboxError
        raise kind(f"box {self._box} is no more ({state.reason}): {state.message}")

    # --- files ------------------------------------------------------------------------------------

    async def _read(self, path: str, max_bytes: int | None = None) -> bytes:
        limit = "" if max_bytes is None else str(max_bytes)
        most = (_MAX_FILE if max_bytes is None else max_bytes) + _MAX_SAID
        try:
            async with asyncio.timeout(_FILE_SECONDS + most / _FILE_RATE) as allowed:
                done = await self._script(_READ, self._path(path), limit, max_output=most)
        except TimeoutError:
            if not allowed.expired():
                raise
            raise SandboxError(f"box {self._box}: read {path!r}: it took too long") from None
        if done.code != 0 or str(len(done.stdout)) != _text(done.stderr).strip():
            raise SandboxError(
                f"box {self._box}: read {path!r}: {_text(done.stderr).strip()[-500:]}"
                f" (exit {done.code}, {len(done.stdout)} bytes)"
            )
        return done.stdout

    async def write(self, path: str, data: bytes) -> None:
        """Write a file and make its directories; what arrived is counted in the box."""
        said = await self._put(path, data)
        if said is not None:
            raise SandboxError(f"box {self._box}: write {said}")

    async def _put(self, path: str, data: bytes) -> str | None:
        """Write a file; what kept the box from taking it, or None."""
        # In /tmp, which is always there: the folder of the file may be what is submitted.
        first = f"{STATE_DIRECTORY}-{uuid.uuid4().hex}"
        sizes = (str(len(data)), first)
        try:
            async with asyncio.timeout(_FILE_SECONDS + len(data) / _FILE_RATE) as allowed:
                done = await self._script(_WRITE, self._path(path), *sizes, stdin=data)
        except TimeoutError:
            if not allowed.expired():
                raise
            return f"{path!r}: it took too long"
        if done.code == 0 and _text(done.stdout).strip() == str(len(data)):
            return None
        return (
            f"{path!r}: {_text(done.stderr).strip()[-500:]}"
            f" (exit {done.code}, {_text(done.stdout).strip()[:100] or 0} of {len(data)} bytes)"
        )

    def _path(self, path: str) -> str:
        return posixpath.join(self._workdir, path)

    # --- network ----------------------------------------------------------------------------------

    async def prepare_execution(self, routes: list[str] | None) -> None:
        """Cut the box off before the agent starts, and see that it is; None opens it again.

        Commands reach a box by the kubelet, which no policy stops: `routes` need no exception.

        Raises:
            SandboxError: Nothing enforces the policy, or it cannot be proven.
        """
        if not self.network_restricted:
            return
        async with _typed(f"box {self._box}"):
            if routes is None:
                await self._open_network()
            else:
                await self._close_network()

    async def _close_network(self) -> None:
        if self._policy_made:
            return
        assert self._pod is not None
        # Where something is allowed, a failed connection says nothing about the rest; with
        # everything denied it proves the policy.
        prove = self.config.network_proof == "required" and not self.config.allow
        probe = parse_probe(self.config.network_probe)
        if prove:
            await self._probe(REACHABLE_SCRIPT, *probe)
        policy = build_network_policy(
            self._box,
            labels=box_labels(self._box, self._run),
            selector={LABEL_BOX: self._box},
            allow=self.config.allow,
            block=self.config.block,
            owner=owner_reference(self._pod),
        )
        with contextlib.suppress(ConflictError):
            await self._live().connection.request(
                "POST", policies_path(self._namespace), body=policy
            )
        if prove:
            await self._probe(CUT_OFF_SCRIPT, *probe, str(_CUT_OFF_SECONDS))
        self._policy_made = True

    async def _probe(self, script: str, *arguments: str) -> None:
        done = await self._script(script, *arguments)
        if done.code == 0:
            return
        why = {
            3: "the image has neither python3, bash with timeout, nor nc to try a connection with",
            4: "the box knows no API server; set network_probe to an IP:port that it reaches",
        }.get(done.code or 0)
        if why is None and script is CUT_OFF_SCRIPT:
            why = (
                f"still connected {_CUT_OFF_SECONDS} seconds after the NetworkPolicy was made: the"
                " cluster's network does not enforce policies"
            )
        elif why is None:
            why = (
                "it was cut off before its own policy was made, so that one cannot be seen to work;"
                " set network_probe to an IP:port that it reaches"
            )
        raise SandboxError(f"box {self._box}: no proof that its network is closed: {why}")

    async def _open_network(self) -> None:
        with contextlib.suppress(NotFoundError):
            await self._live().connection.request(
                "DELETE", policies_path(self._namespace, self._box)
            )
        self._policy_made = False

    async def expose(self, port: int) -> str:
        """Refuse: a box publishes nothing."""
        raise SandboxError(
            f"box {self._box} publishes no port {port}; host tools outside the box instead"
        )


@contextlib.asynccontextmanager
async def _typed(what: str, kind: type[SandboxError] = SandboxError) -> AsyncIterator[None]:
    """Turn errors of the client into SandboxErrors: the platform's, not the task's."""
    try:
        yield
    except GradekeeperError as error:
        raise kind(f"{what}: {error}") from error


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
