"""The supervisor: a detached process that starts, watches, restarts and stops the components.

It writes ``run/status.json`` after every change and one process record a component. SIGTERM makes
it stop everything in reverse order and exit; the records of what it stopped go with it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType

from .commands import SEARCH_PATH
from .components import Component
from .layout import Layout
from .processes import record_of

_FIRST_BACKOFF = 0.5
_LONGEST_BACKOFF = 10.0
# A component that ran this long starts again at the first backoff.
_STEADY_SECONDS = 30.0
_TICK = 0.05
_CHECK_EVERY = 0.1
_STOP_LIMIT = 10.0
STATUS_FILE = "status.json"


def next_backoff(previous: float, ran_seconds: float) -> float:
    """Return the seconds to wait before the next start of a component that died.

    Args:
        previous: The wait before its last start; 0 for the first start.
        ran_seconds: How long it ran.
    """
    if previous <= 0 or ran_seconds >= _STEADY_SECONDS:
        return _FIRST_BACKOFF
    return min(previous * 2, _LONGEST_BACKOFF)


@dataclass(slots=True)
class ComponentStatus:
    """What status.json says of a component.

    Attributes:
        state: ``waiting`` (for its turn or its precondition), ``starting``, ``ready``, ``failed``
            (not ready within its limit) or ``stopped``.
        pid: Process id while it runs.
        restarts: How often it was started again.
        reason: Why it is not ready, in its health check's words.
        last_exit: Exit status of the newest end; negative for a signal.
    """

    state: str = "waiting"
    pid: int | None = None
    restarts: int = 0
    reason: str = ""
    last_exit: int | None = None


class Stopping(Exception):
    """SIGTERM arrived."""


@dataclass(slots=True)
class _Running:
    component: Component
    status: ComponentStatus
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    starts: int = 0
    backoff: float = 0.0
    due_at: float | None = None


class Supervisor:
    """Runs the components until it is told to stop."""

    def __init__(self, layout: Layout, components: tuple[Component, ...]) -> None:
        self._layout = layout
        self._all = [_Running(component, ComponentStatus()) for component in components]
        self._stopping = False
        self._published = ""

    def run(self) -> int:
        """Start everything, watch it, and stop it in reverse order on SIGTERM."""
        signal.signal(signal.SIGTERM, self._on_term)
        signal.signal(signal.SIGINT, self._on_term)
        try:
            for running in self._all:
                running.due_at = time.monotonic()
                self._bring_up(running)
            while True:
                self._tick()
                time.sleep(_TICK)
        except Stopping:
            return 0
        finally:
            # Also when the supervisor itself fails: nothing may run without it.
            self._stop_all()

    def _on_term(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping = True

    def _bring_up(self, running: _Running) -> None:
        begun = time.monotonic()
        next_check = begun
        while True:
            self._tick()
            now = time.monotonic()
            if running.process is not None and now >= next_check:
                reason = running.component.check()
                if reason is None and running.process.poll() is None:
                    break
                running.status.reason = reason or "it ended"
                next_check = time.monotonic() + _CHECK_EVERY
            if now - begun > running.component.limit and running.status.state != "failed":
                running.status.state = "failed"
                running.status.reason += f" (limit: {running.component.limit:.0f} s)"
                self._publish()
            time.sleep(_TICK)
        if running.component.after is not None:
            running.component.after()
        running.status.state, running.status.reason = "ready", ""
        self._publish()

    def _tick(self) -> None:
        if self._stopping:
            raise Stopping
        now = time.monotonic()
        for running in self._all:
            if running.process is not None and running.process.poll() is not None:
                self._on_exit(running, now)
            if running.process is None and running.due_at is not None and now >= running.due_at:
                self._start(running)
            elif running.process is not None and running.status.state == "starting":
                self._watch_restart(running)
        self._publish()

    def _watch_restart(self, running: _Running) -> None:
        """After a restart nobody waits in :meth:`_bring_up`: the check runs here."""
        if running.starts < 2 or running.component.check() is not None:
            return
        running.status.state, running.status.reason = "ready", ""

    def _on_exit(self, running: _Running, now: float) -> None:
        process = running.process
        if process is None:
            return
        running.backoff = next_backoff(running.backoff, now - running.started_at)
        running.due_at = now + running.backoff
        running.status.last_exit = process.returncode
        running.status.pid = None
        if running.status.state != "failed":
            running.status.state = "waiting"
        running.status.reason = f"it ended with status {process.returncode}"
        running.process = None
        self._note(f"{running.component.name} ended with status {process.returncode}, "
                   f"next start in {running.backoff:.1f} s")  # fmt: skip

    def _start(self, running: _Running) -> None:
        component = running.component
        if component.before is not None and (reason := component.before()) is not None:
            running.status.reason = reason
            running.due_at = time.monotonic() + _CHECK_EVERY
            return
        with open(self._layout.logs / f"{component.name}.log", "ab") as log:
            running.process = subprocess.Popen(
                component.argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._layout.run,
                env=component_environment(os.environ),
                start_new_session=True,
            )
        running.started_at = time.monotonic()
        running.starts += 1
        running.due_at = None
        running.status.pid = running.process.pid
        running.status.restarts = running.starts - 1
        if running.status.state != "failed":
            running.status.state = "starting"
        record = record_of(running.process.pid, component.argv)
        if record is not None:
            record.write(self._layout.run / f"{component.name}.process.json")
        self._note(f"{component.name} started, pid {running.process.pid}")

    def _stop_all(self) -> None:
        for running in reversed(self._all):
            process = running.process
            if process is not None and process.poll() is None:
                process.terminate()
                try:
                    process.wait(_STOP_LIMIT)
                except subprocess.TimeoutExpired:
                    self._note(f"{running.component.name} ignores SIGTERM: SIGKILL")
                    process.kill()
                    process.wait(_STOP_LIMIT)
            running.status.state, running.status.pid = "stopped", None
            self._note(f"{running.component.name} stopped")
            # The run folder may be what is missing; the next component has to be stopped all the
            # same.
            with suppress(OSError):
                record = self._layout.run / f"{running.component.name}.process.json"
                record.unlink(missing_ok=True)
                self._publish()

    def _note(self, text: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)

    def _publish(self) -> None:
        text = json.dumps({r.component.name: asdict(r.status) for r in self._all}, indent=1)
        if text == self._published:
            return
        temporary = self._layout.run / f".{STATUS_FILE}"
        temporary.write_text(text)
        temporary.replace(self._layout.run / STATUS_FILE)
        self._published = text


def component_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of every component: nothing of the caller's but proxies' absence.

    A component must not pick up a kubeconfig, a proxy or a runtime address of whoever started it.
    """
    kept = {name: environ[name] for name in ("HOME", "LANG", "TZ") if name in environ}
    return {**kept, "PATH": SEARCH_PATH}


def read_status(run: Path) -> dict[str, ComponentStatus]:
    """Return what the supervisor published last; empty when it has not yet."""
    try:
        raw = json.loads((run / STATUS_FILE).read_text())
        return {name: ComponentStatus(**fields) for name, fields in raw.items()}
    except (OSError, ValueError, TypeError):
        return {}
