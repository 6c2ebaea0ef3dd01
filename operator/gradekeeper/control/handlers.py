"""kopf: the watches and the life of the process. Handlers store and enqueue; nothing else.

`on.event` alone: any other kind of handler patches annotations into every object (measured). No
finalizer, timer, daemon or index. This is the only module that imports kopf.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import kopf

from gradekeeper.api.names import (
    GROUP,
    JOBS_PLURAL,
    LABEL_MANAGED_BY,
    MANAGED_BY,
    SUITES_PLURAL,
    VERSION,
)
from gradekeeper.control.connection import Connection
from gradekeeper.control.engine import Engine

WATCH_SECONDS = 300
EXIT_SECONDS = 8.0


class NoDiffBase(kopf.DiffBaseStorage):
    """Keeps no last-seen state: no handler of ours compares with it.

    kopf builds it for every event all the same, by deep copies of the object (measured: a third of
    what an event costs).
    """

    def build(
        self, *, body: kopf.Body, extra_fields: Iterable[kopf.FieldSpec] | None = None
    ) -> kopf.BodyEssence:
        """Return nothing to compare with."""
        return cast(kopf.BodyEssence, {})

    def fetch(self, *, body: kopf.Body) -> kopf.BodyEssence | None:
        """Return nothing: nothing was ever stored."""
        return None

    def store(self, *, body: kopf.Body, patch: kopf.Patch, essence: kopf.BodyEssence) -> None:
        """Store nothing."""


def build_registry(engine: Engine, connection: Connection) -> kopf.OperatorRegistry:
    """Register the watches of one engine, and how kopf logs in."""
    registry = kopf.OperatorRegistry()

    async def on_job(event: Any, **_: Any) -> None:
        engine.observe("job", event["type"], dict(event["object"]))

    async def on_suite(event: Any, **_: Any) -> None:
        engine.observe("suite", event["type"], dict(event["object"]))

    async def on_pod(event: Any, **_: Any) -> None:
        engine.observe("pod", event["type"], dict(event["object"]))

    async def on_login(**_: Any) -> kopf.ConnectionInfo:
        return kopf.ConnectionInfo(
            server=connection.server,
            ca_data=connection.ca_data,
            insecure=connection.insecure or None,
            token=connection.bearer(),
            scheme="Bearer" if connection.bearer() else None,
            certificate_data=connection.certificate_data,
            private_key_data=connection.key_data,
        )

    kopf.on.event(GROUP, VERSION, JOBS_PLURAL, id="job", registry=registry)(on_job)
    kopf.on.event(GROUP, VERSION, SUITES_PLURAL, id="suite", registry=registry)(on_suite)
    kopf.on.event("", "v1", "pods", id="pod", registry=registry)(on_pod)
    kopf.on.login(id="login", registry=registry)(on_login)
    return registry


def build_settings() -> kopf.OperatorSettings:
    """Return kopf's settings; each deviation from its defaults has its reason here."""
    settings = kopf.OperatorSettings()
    # Our recorder posts Events; kopf would post log lines.
    settings.posting.enabled = False
    # One replica; peering freezes equals.
    settings.peering.standalone = True
    # Fixed namespaces, and no right to watch namespaces or CRDs.
    settings.scanning.disabled = True
    # Other people's Pods never reach this process.
    settings.watching.label_selectors["", "v1", "pods"] = f"{LABEL_MANAGED_BY}={MANAGED_BY}"
    settings.watching.chunk_size = 500
    # Watches that never end freeze silently; the server ends them, the client a little later.
    settings.watching.server_timeout = WATCH_SECONDS
    settings.watching.client_timeout = WATCH_SECONDS + 15
    settings.watching.connect_timeout = 10
    settings.networking.request_timeout = 60
    settings.networking.connect_timeout = 10
    settings.networking.error_backoffs = (0.2, 0.5, 1, 2, 4, 8, 15, 15, 15, 15)
    # No limit: a slot is held for the idle time after an object's last event (measured).
    settings.queueing.worker_limit = None
    settings.queueing.idle_timeout = 1.0
    settings.queueing.exit_timeout = 0.5
    # Nothing is persisted by kopf; should it ever be, then under our own name.
    settings.persistence.finalizer = f"{GROUP}/kopf"
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=GROUP)
    settings.persistence.diffbase_storage = NoDiffBase()
    # Below the Pod's grace period, so that the end is ours.
    settings.process.ultimate_exiting_timeout = EXIT_SECONDS
    return settings


async def watch(engine: Engine, connection: Connection) -> None:
    """Run kopf until SIGTERM, SIGINT or a failure that only a restart can mend."""
    await kopf.operator(
        registry=build_registry(engine, connection),
        settings=build_settings(),
        namespaces=engine.settings.namespaces,
        standalone=True,
    )
