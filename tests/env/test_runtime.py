"""What a box is to verifiers when things go wrong, against a server that makes them go wrong."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from aiohttp import web
from verifiers.v1.errors import SandboxError, stop_condition
from verifiers.v1.runtimes import limiters
from verifiers.v1.runtimes.limiters import CreationLimiter

from env.fake_api import FakeApi, exit_status, refusal
from gradekeeper_verifiers import runtime as runtime_module
from gradekeeper_verifiers.config import KubernetesConfig
from gradekeeper_verifiers.errors import BoxEndedError, BoxUnreachableError
from gradekeeper_verifiers.execution import Completed
from gradekeeper_verifiers.frames import STDIN_END
from gradekeeper_verifiers.runtime import KubernetesRuntime
from gradekeeper_verifiers.sweep import sweep

OOM = {"terminated": {"reason": "OOMKilled", "exitCode": 137}}
NOT_STARTED = "Internal error occurred: error executing command in container: no processes left"


@pytest.fixture
async def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeApi]:
    monkeypatch.setenv("VF_RUN_ID", "run-1")
    monkeypatch.setattr(runtime_module, "_AFTERMATH_SECONDS", 0.2)
    monkeypatch.setattr(runtime_module, "_POLL_SECONDS", (0.01, 0.05))
    async with FakeApi(tmp_path / "kubeconfig") as server:
        yield server


def _new(api: FakeApi, **fields: Any) -> KubernetesRuntime:
    settings = {"kubeconfig": str(api.kubeconfig), "creates_per_sec": None, **fields}
    return KubernetesRuntime(KubernetesConfig(**settings), "r-1")


@pytest.fixture
async def box(api: FakeApi) -> AsyncIterator[KubernetesRuntime]:
    made = _new(api)
    await made.start()
    yield made
    await made.stop()


def _is_command(argv: list[str], text: str) -> bool:
    return any(text in part for part in argv)


async def test_a_box_is_made_used_and_deleted(api: FakeApi) -> None:
    box = _new(api)

    await box.start()
    made = dict(api.pods)
    result = await box.run(["ls"], {"A": "b"})
    alive = await box.alive()
    await box.stop()

    assert list(made) == [box.info.id]
    assert made[box.info.id]["metadata"]["annotations"]["gradekeeper.dev/rollout"] == "r-1"
    assert result.exit_code == 0 and alive
    assert api.commands[-1][-3:] == ["env", "A=b", "ls"]
    assert api.pods == {} and not await box.alive()


@pytest.mark.parametrize("channel", [b"\x01", b"\x02"])
async def test_a_command_that_writes_without_end_is_killed(
    api: FakeApi, box: KubernetesRuntime, channel: bytes
) -> None:
    box.config.max_output = 1000

    async def endless(api: FakeApi, argv: list[str], socket: web.WebSocketResponse) -> None:
        if argv[-1] != "yes":
            return await socket.send_bytes(exit_status(0))
        while not socket.closed:
            try:
                await socket.send_bytes(channel + b"Z" * 300)
            except ConnectionError:
                break
            await asyncio.sleep(0)

    api.on_exec = endless
    result = await box.run(["yes"], {})

    assert result.exit_code == 137
    assert "killed: more than 1000 bytes of output" in result.stderr
    assert (result.stdout + result.stderr).count("Z") == 1000
    assert _is_command(api.commands[-1], "kill -KILL")


async def test_a_cancelled_command_is_killed(api: FakeApi, box: KubernetesRuntime) -> None:
    begun = asyncio.Event()

    async def hang(api: FakeApi, argv: list[str], socket: web.WebSocketResponse) -> None:
        if argv[-1] == "sleep":
            begun.set()
            await socket.receive()  # until the client closes
        else:
            await socket.send_bytes(exit_status(0))

    api.on_exec = hang
    task = asyncio.create_task(box.run(["sleep"], {}))
    await begun.wait()
    process = api.commands[-1][4]
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert _is_command(api.commands[-1], "kill -KILL") and api.commands[-1][-1] == process


async def _start(argv: list[str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *argv,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )


@pytest.mark.parametrize("begins", ["after the kill", "before the kill"])
async def test_a_cancelled_command_ends_whenever_the_node_starts_it(
    api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begins: str
) -> None:
    """The node runs the commands, as real processes, in an order of its own."""
    monkeypatch.setattr(runtime_module, "STATE_DIRECTORY", str(tmp_path / "state"))
    box = _new(api, workdir=str(tmp_path / "work"))
    late = begins == "after the kill"
    asked, killed = asyncio.Event(), asyncio.Event()
    ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    command = ["sh", "-c", "echo begun; exec sleep 60"]

    async def node(api: FakeApi, argv: list[str], socket: web.WebSocketResponse) -> None:
        if argv[-3:] == command:
            if late:
                asked.set()
                await killed.wait()
            process = await _start(argv)
            assert process.stdout is not None
            assert await process.stdout.readline() == (b"" if late else b"begun\n")
            asked.set()
            ended.set_result(await process.wait())
        else:
            await socket.send_bytes(exit_status(await (await _start(argv)).wait()))
            if _is_command(argv, "kill -KILL"):
                killed.set()

    api.on_exec = node
    await box.start()
    async with asyncio.timeout(30):
        task = asyncio.create_task(box.run(command, {}))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await ended == (137 if late else -9)
    await box.stop()


async def test_a_box_that_takes_no_long_command_has_a_command_that_fails(
    api: FakeApi, box: KubernetesRuntime
) -> None:
    """An agent may remove the folder that these are put into; an error would drop its rollout."""

    async def refuse(api: FakeApi, argv: list[str], socket: web.WebSocketResponse) -> None:
        if _is_command(argv, "cat >"):
            await socket.send_bytes(b"\x02mkdir: File exists\n")
        await socket.send_bytes(exit_status(1 if _is_command(argv, "cat >") else 0))

    api.on_exec = refuse
    done = await box.run(["echo", "x" * 200_000], {})

    assert done.exit_code == 126 and "File exists" in done.stderr
    assert not any(_is_command(argv, "x" * 100) for argv in api.commands)


async def test_all_runs_of_a_host_share_the_rate_of_an_api_server(
    api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    reserve = CreationLimiter._reserve

    def note(limiter: CreationLimiter) -> float:
        waits.append(reserve(limiter))
        return 0.0

    monkeypatch.setattr(limiters, "LIMITER_DIR", tmp_path / "limiter")
    monkeypatch.setattr(CreationLimiter, "_reserve", note)
    for run in ("run-2", "run-3"):
        monkeypatch.setenv("VF_RUN_ID", run)
        box = _new(api, creates_per_sec=0.001)
        await box.start()
        await box.stop()

    assert waits[0] == 0 and waits[1] > 900


def _answers(first: bytes | None, then: bytes | None, before: Callable[[FakeApi], None]) -> Any:
    """Answer the agent's command with one frame and all other commands with another; None: cut."""

    async def answer(api: FakeApi, argv: list[str], socket: web.WebSocketResponse) -> None:
        agents = argv[-1] == "agent"
        if agents:
            before(api)
        frame = first if agents else then
        if frame is not None:
            await socket.send_bytes(frame)

    return answer


def _nothing(api: FakeApi) -> None:
    return None


def _out_of_memory(api: FakeApi) -> None:
    api.end(OOM)


def _deleted(api: FakeApi) -> None:
    api.pods.clear()


@pytest.mark.parametrize(
    ("first", "then", "before", "expected"),
    [
        pytest.param(exit_status(3), None, _nothing, 3, id="an exit code is an exit code"),
        pytest.param(exit_status(137), exit_status(0), _nothing, 137, id="killed in a live box"),
        pytest.param(exit_status(137), None, _out_of_memory, BoxEndedError, id="out of memory"),
        pytest.param(exit_status(137), None, _deleted, SandboxError, id="deleted"),
        pytest.param(exit_status(137), None, _nothing, 137, id="killed, nothing else starts"),
        pytest.param(None, None, _out_of_memory, BoxEndedError, id="cut: out of memory"),
        pytest.param(None, None, _deleted, SandboxError, id="cut: deleted"),
        pytest.param(None, exit_status(0), _nothing, BoxUnreachableError, id="cut: the connection"),
        pytest.param(
            refusal("dial tcp"), None, _nothing, BoxUnreachableError, id="node not reached"
        ),
        pytest.param(
            refusal(NOT_STARTED), refusal("dial"), _nothing, 126, id="no other command either"
        ),
        pytest.param(
            refusal(NOT_STARTED), refusal(NOT_STARTED), _nothing, 126, id="no processes left"
        ),
        pytest.param(
            refusal(NOT_STARTED), exit_status(0), _nothing, 126, id="this one cannot be started"
        ),
        pytest.param(refusal(NOT_STARTED), None, _deleted, SandboxError, id="not started: deleted"),
    ],
)
async def test_who_is_to_blame(
    api: FakeApi,
    box: KubernetesRuntime,
    first: bytes | None,
    then: bytes | None,
    before: Callable[[FakeApi], None],
    expected: int | type[SandboxError],
) -> None:
    api.on_exec = _answers(first, then, before)

    if isinstance(expected, int):
        assert (await box.run(["agent"], {})).exit_code == expected
        assert await box.alive()
    else:
        with pytest.raises(SandboxError) as raised:
            await box.run(["agent"], {})
        assert type(raised.value) is expected


def test_retry_rules_for_the_platforms_errors_cover_lost_commands() -> None:
    error = BoxUnreachableError("m")

    assert stop_condition(error) == "sandbox_error"
    assert type(error).__name__ == "SandboxError"


async def test_a_second_try_that_is_lost_is_not_the_agents_doing(
    api: FakeApi, box: KubernetesRuntime
) -> None:
    frames = [refusal(NOT_STARTED), refusal("dial tcp")]

    async def answer(api: FakeApi, argv: list[str], socket: web.WebSocketResponse) -> None:
        await socket.send_bytes(frames.pop(0) if argv[-1] == "agent" else exit_status(0))

    api.on_exec = answer
    with pytest.raises(BoxUnreachableError, match="dial tcp"):
        await box.run(["agent"], {})


async def test_a_box_that_hangs_does_not_hold_up_the_judge(
    api: FakeApi, box: KubernetesRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime_module, "_RESPONSE_SECONDS", 0.1)

    async def answer(api: FakeApi, argv: list[str], socket: web.WebSocketResponse) -> None:
        if argv[-1] == "agent":
            await socket.send_bytes(exit_status(137))
        else:
            await socket.receive()  # until the client closes

    api.on_exec = answer
    async with asyncio.timeout(30):
        assert (await box.run(["agent"], {})).exit_code == 137


async def test_a_box_whose_node_fell_silent_is_not_alive(
    api: FakeApi, box: KubernetesRuntime
) -> None:
    ready = {"type": "Ready", "status": "True"}
    pod = api.pods[box.info.id]
    pod["status"] = {**pod["status"], "conditions": [ready]}
    assert await box.alive()

    pod["status"] = {**pod["status"], "conditions": [{**ready, "status": "False"}]}
    assert not await box.alive()


async def test_a_record_that_lags_is_waited_for(
    api: FakeApi, box: KubernetesRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime_module, "_AFTERMATH_SECONDS", 10.0)
    asked = 0

    async def answer(api: FakeApi, argv: list[str], socket: web.WebSocketResponse) -> None:
        nonlocal asked
        if argv[-1] == "agent":
            await socket.send_bytes(exit_status(137))
        else:
            asked += 1
            if asked == 3:
                api.end(OOM)

    api.on_exec = answer
    with pytest.raises(BoxEndedError, match="OOMKilled"):
        await box.run(["agent"], {})
    assert not await box.alive()


async def test_an_exec_that_was_never_accepted_is_tried_again(
    api: FakeApi, box: KubernetesRuntime
) -> None:
    api.refuse_exec = [429, 401, 429]

    with pytest.raises(SandboxError, match="HTTP 401"):
        await box.run(["agent"], {})

    api.refuse_exec = [401]
    assert (await box.run(["agent"], {})).exit_code == 0
    api.refuse_exec = [429, 503]
    assert (await box.run(["agent"], {})).exit_code == 0
    api.refuse_exec = [403]
    with pytest.raises(SandboxError, match="HTTP 403"):
        await box.run(["agent"], {})


async def test_short_reads_and_writes_are_errors(api: FakeApi, box: KubernetesRuntime) -> None:
    async def short(api: FakeApi, argv: list[str], socket: web.WebSocketResponse) -> None:
        if _is_command(argv, "cat >"):
            await socket.send_bytes(b"\x012\n")
        elif _is_command(argv, "head"):
            await socket.send_bytes(b"\x01abc")
            await socket.send_bytes(b"\x024")
        await socket.send_bytes(exit_status(0))

    api.on_exec = short
    with pytest.raises(SandboxError, match="2 of 3 bytes"):
        await box.write("file", b"abc")
    with pytest.raises(SandboxError, match="3 bytes"):
        await box.read("file")


Use = Callable[[KubernetesRuntime], Awaitable[Any]]


@pytest.mark.parametrize(
    ("use", "most"),
    [
        pytest.param(lambda box: box.write("file", b"abc"), 1 << 16, id="write"),
        pytest.param(lambda box: box.read("file", max_bytes=1 << 20), 2 << 20, id="read"),
        pytest.param(lambda box: box.read("file"), 4 << 20, id="read without a limit"),
        pytest.param(lambda box: box.run_background(["x"], {}, "log"), 1 << 16, id="background"),
        pytest.param(lambda box: box.prepare_execution([]), 1 << 16, id="probe"),
    ],
)
async def test_no_box_fills_the_hosts_memory(
    api: FakeApi, box: KubernetesRuntime, monkeypatch: pytest.MonkeyPatch, use: Use, most: int
) -> None:
    """An agent may put anything in the place of `cat`, or of `sh`."""
    monkeypatch.setattr(runtime_module, "_MAX_FILE", 3 << 20)
    sent = 0

    async def flood(api: FakeApi, argv: list[str], socket: web.WebSocketResponse) -> None:
        nonlocal sent
        if _is_command(argv, "kill -KILL"):
            return await socket.send_bytes(exit_status(0))
        with contextlib.suppress(ConnectionError):
            while sent < 64 << 20 and not socket.closed:
                await socket.send_bytes(b"\x01" + b"x" * (1 << 14))
                sent += 1 << 14
                await asyncio.sleep(0)
        await socket.send_bytes(exit_status(0))

    kept: list[int] = []
    run_command = runtime_module.run_command

    async def weigh(*arguments: Any, **settings: Any) -> Completed:
        done = await run_command(*arguments, **settings)
        kept.append(len(done.stdout))
        return done

    monkeypatch.setattr(runtime_module, "run_command", weigh)
    api.on_exec = flood
    with pytest.raises(SandboxError) as raised:
        await use(box)

    assert kept and max(kept) <= most
    assert len(str(raised.value)) < 1000
    assert _is_command(api.commands[-1], "kill -KILL")


def _execute(stdin: bytes | None = None) -> Any:
    """Run commands as real processes; `stdin` is what of the host's data arrives, None: all."""

    async def node(api: FakeApi, argv: list[str], socket: web.WebSocketResponse) -> None:
        given = bytearray()
        while _is_command(argv, "trap"):
            frame = (await socket.receive()).data
            if frame == STDIN_END:
                break
            given += frame[1:]
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        out, err = await process.communicate(bytes(given) if stdin is None else stdin)
        assert process.returncode is not None
        await socket.send_bytes(b"\x01" + out)
        await socket.send_bytes(b"\x02" + err)
        await socket.send_bytes(exit_status(process.returncode))

    return node


@pytest.fixture
async def real(
    api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[KubernetesRuntime]:
    """A box whose commands are real processes of this host, in `tmp_path`."""
    monkeypatch.setattr(runtime_module, "STATE_DIRECTORY", str(tmp_path / "state"))
    made = _new(api, workdir=str(tmp_path / "work"))
    api.on_exec = _execute()
    await made.start()
    yield made
    await made.stop()


def _left_over(folder: Path) -> list[Path]:
    return list(folder.glob("state-*"))


async def test_a_write_that_is_cut_leaves_the_file_as_it_was(
    api: FakeApi, real: KubernetesRuntime, tmp_path: Path
) -> None:
    file = tmp_path / "work" / "A.java"
    file.write_bytes(b"class A {}")
    api.on_exec = _execute(stdin=b"class B")

    with pytest.raises(SandboxError, match="7 of 10 bytes"):
        await real.write("A.java", b"class B {}")

    assert file.read_bytes() == b"class A {}"
    assert _left_over(tmp_path) == []
    assert [path.name for path in file.parent.iterdir()] == ["A.java"]


async def test_a_write_keeps_modes_and_links(real: KubernetesRuntime, tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "run").write_bytes(b"old")
    (work / "run").chmod(0o751)
    (work / "link").symlink_to("run")
    (work / "same").hardlink_to(work / "run")

    await real.write("link", b"new\x00\xff")
    await real.write("a b/-c", b"")

    assert (work / "link").is_symlink() and (work / "same").read_bytes() == b"new\x00\xff"
    assert (work / "run").stat().st_mode & 0o777 == 0o751
    assert (work / "a b" / "-c").read_bytes() == b""
    assert _left_over(tmp_path) == []


async def test_long_commands_go_by_a_file(api: FakeApi, real: KubernetesRuntime) -> None:
    """Proxies refuse long URLs, and an agent chooses how long its commands are."""
    text = "'ä\n" * 1500
    before = len(api.commands)

    done = await real.run(["printf", "%s", text], {"A": "b"})

    assert (done.exit_code, done.stdout) == (0, text)
    assert len(api.commands) == before + 2
    assert all(len(urlencode([("command", part) for part in argv])) < 4096 for argv in api.commands)


@pytest.mark.parametrize("status", [414, 431])
async def test_a_command_too_long_for_a_proxy_fails_and_drops_no_rollout(
    api: FakeApi, box: KubernetesRuntime, status: int
) -> None:
    api.longest_url, api.too_long = 2000, status
    done = await box.run(["echo", "x" * 2000], {})

    assert done.exit_code == 126 and f"HTTP {status}" in done.stderr
    assert (await box.run(["echo"], {})).exit_code == 0


async def test_an_eviction_that_is_reported_late_is_the_agents_doing(
    api: FakeApi, box: KubernetesRuntime
) -> None:
    """A node cuts the command first, and reports seconds later why."""
    asked: list[float] = []

    async def answer(api: FakeApi, argv: list[str], socket: web.WebSocketResponse) -> None:
        asked.append(time.monotonic())
        if asked[-1] - asked[0] > 2 * runtime_module._AFTERMATH_SECONDS:
            api.end({"terminated": {"reason": "Error", "exitCode": 137}}, reason="Evicted")

    api.on_exec = answer
    with pytest.raises(BoxEndedError, match="Evicted"):
        await box.run(["agent"], {})


@pytest.mark.parametrize(
    ("started", "why"),
    [
        (
            {
                "phase": "Pending",
                "containerStatuses": [
                    {"name": "box", "state": {"waiting": {"reason": "ErrImageNeverPull"}}}
                ],
            },
            "ErrImageNeverPull",
        ),
        ({"phase": "Pending"}, r"within 0.3 seconds \(Pending\)"),
    ],
)
async def test_a_box_that_does_not_start_is_an_error_and_gone(
    api: FakeApi, started: dict[str, Any], why: str
) -> None:
    api.started = started
    box = _new(api, start_timeout=0.3)

    with pytest.raises(SandboxError, match=why):
        await box.start()
    assert len(api.pods) == 1
    await box.stop()
    assert api.pods == {}


async def test_creation_waits_for_quota_and_not_for_rights(api: FakeApi) -> None:
    quota = {"reason": "Forbidden", "message": "pods is forbidden: exceeded quota: boxes"}
    api.refuse = [(403, quota), (403, quota)]
    box = _new(api)
    await box.start()
    await box.stop()
    assert api.refuse == []

    api.refuse = [(403, {"reason": "Forbidden", "message": "no right"})]
    box = _new(api)
    with pytest.raises(SandboxError, match="no right"):
        await box.start()
    await box.stop()


async def test_a_cancelled_start_leaves_nothing(api: FakeApi) -> None:
    api.started = {"phase": "Pending"}
    box = _new(api)
    task = asyncio.create_task(box.start())
    await api.created.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    await box.stop()

    assert api.pods == {}


async def test_what_a_second_interrupt_leaves_is_deleted_at_exit(
    api: FakeApi, box: KubernetesRuntime
) -> None:
    await asyncio.to_thread(box.cleanup)
    assert api.pods == {}
    await asyncio.to_thread(box.cleanup)


def _network(reachable: int, cut_off: int) -> Any:
    async def answer(api: FakeApi, argv: list[str], socket: web.WebSocketResponse) -> None:
        if _is_command(argv, "n=0 end="):
            assert api.policies, "proven before the policy was made"
            return await socket.send_bytes(exit_status(cut_off))
        if _is_command(argv, "for i in 1 2 3 4 5"):
            assert not api.policies, "reached under the policy"
            return await socket.send_bytes(exit_status(reachable))
        return await socket.send_bytes(exit_status(0))

    return answer


async def test_the_network_is_closed_once_it_was_seen_to_be(
    api: FakeApi, box: KubernetesRuntime
) -> None:
    api.on_exec = _network(0, 0)

    await box.prepare_setup()
    assert api.policies == {}
    await box.prepare_execution(["http://127.0.0.1:1/v1"])
    (policy,) = api.policies.values()
    assert policy["spec"]["egress"] == []
    assert policy["metadata"]["ownerReferences"][0]["uid"] == f"uid-of-{box.info.id}"
    commands = len(api.commands)
    await box.prepare_execution([])
    assert len(api.commands) == commands

    # A second setup in the same box opens it again.
    await box.prepare_setup()
    assert api.policies == {}


@pytest.mark.parametrize(
    ("reachable", "cut_off", "why"),
    [
        (0, 1, "does not enforce policies"),
        (1, 0, "cut off before its own policy"),
        (3, 0, "neither python3"),
        (4, 0, "knows no API server"),
    ],
)
async def test_without_proof_no_agent_starts(
    api: FakeApi, box: KubernetesRuntime, reachable: int, cut_off: int, why: str
) -> None:
    api.on_exec = _network(reachable, cut_off)

    with pytest.raises(SandboxError, match=why):
        await box.prepare_execution([])


async def test_the_sweep_deletes_what_has_no_owner(api: FakeApi, box: KubernetesRuntime) -> None:
    abandoned = {**api.pods[box.info.id], "metadata": {**api.pods[box.info.id]["metadata"]}}
    abandoned["metadata"]["name"] = "box-old"
    abandoned["metadata"]["annotations"] = {
        **abandoned["metadata"]["annotations"],
        "gradekeeper.dev/owner-process": "1-0",
    }
    api.pods["box-old"] = abandoned
    kubeconfig = str(api.kubeconfig)

    assert await sweep(kubeconfig=kubeconfig, dry_run=True) == [
        ("box-old", "its process 1 is gone")
    ]
    assert set(api.pods) == {"box-old", box.info.id}
    await sweep(kubeconfig=kubeconfig)
    assert set(api.pods) == {box.info.id}
    assert await sweep(kubeconfig=kubeconfig, run="run-1") == [
        (box.info.id, "the run run-1 is over")
    ]
    assert api.pods == {}
