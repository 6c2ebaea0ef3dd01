"""`python -m gradekeeper.control`: the operator's process, configured by its environment."""

from __future__ import annotations

import asyncio
import faulthandler
import os
import signal
import socket
import sys

from gradekeeper.api.names import API_VERSION
from gradekeeper.control.cluster import Cluster
from gradekeeper.control.connection import load_connection
from gradekeeper.control.engine import Engine
from gradekeeper.control.errors import SettingsError
from gradekeeper.control.handlers import watch
from gradekeeper.control.health import HealthServer, Heartbeat, Vitals
from gradekeeper.control.logs import Log, configure, log
from gradekeeper.control.metrics import Metrics
from gradekeeper.control.probe import ProbePort, ServingRecord, load_served
from gradekeeper.control.recorder import Recorder
from gradekeeper.control.settings import Settings
from gradekeeper.verdicts.signing import KeyInvalid, SigningKey


async def operate(settings: Settings) -> None:
    """Run every part of the operator until a signal or the first failure of one of them."""
    connection = load_connection(settings.kubeconfig, os.environ)
    try:
        key = SigningKey.from_pem(settings.signing_key.read_bytes())
    except (OSError, KeyInvalid) as error:
        raise SettingsError(f"the signing key cannot be used: {error}") from None
    metrics = Metrics()
    cluster = Cluster(connection, metrics, in_flight=settings.api_requests_in_flight)
    state = settings.state_dir / "probe-port.json" if settings.state_dir else None
    serving = ServingRecord(
        settings.probe_address,
        settings.probe_port,
        earlier=load_served(state) if state else (),
        margin=settings.probe_margin_seconds,
    )
    recorder = Recorder(
        cluster if settings.events else None,
        metrics,
        api_version=API_VERSION,
        instance=socket.gethostname(),
    )
    engine = Engine(settings, cluster, key, serving, recorder, metrics)
    heartbeat = Heartbeat(metrics)

    def vitals() -> Vitals:
        engine.refresh_gauges()
        return engine.vitals(heartbeat.lag)

    log(Log.OPERATOR_STARTED, keyid=key.keyid, namespaces=settings.namespaces)
    probe_open = asyncio.Event()
    ports = {settings.health_port, settings.metrics_port} - {None}
    tasks = [
        asyncio.create_task(ProbePort(serving, state).run(probe_open), name="probe port"),
        asyncio.create_task(heartbeat.run(), name="heartbeat"),
        *(
            asyncio.create_task(
                HealthServer(port, vitals, metrics, settings.stale_seconds).run(),
                name=f"health on {port}",
            )
            for port in ports
            if port is not None
        ),
    ]
    if settings.events:
        tasks.append(asyncio.create_task(recorder.run(), name="recorder"))

    async def engine_when_probed() -> None:
        # No Pod may exist whose probe nobody could have answered.
        await probe_open.wait()
        await asyncio.sleep(settings.probe_margin_seconds)
        await engine.run()

    async def kopf_when_synced() -> None:
        # kopf finds our kinds only when it starts; the first list proves that they are there.
        await engine.synced.wait()
        await watch(engine, connection)

    tasks.append(asyncio.create_task(engine_when_probed(), name="engine"))
    kopf_task = asyncio.create_task(kopf_when_synced(), name="kopf")
    every = [*tasks, kopf_task]
    # kopf takes the signals over once it runs; until then, and if it cannot, a signal ends all.
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, kopf_task.cancel)
    try:
        done, _ = await asyncio.wait(every, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            if not task.cancelled():
                task.result()
                if task is not kopf_task:
                    raise RuntimeError(f"{task.get_name()} ended")
    finally:
        engine.queue.close()
        for task in every:
            task.cancel()
        await asyncio.gather(*every, return_exceptions=True)
        await cluster.close()
        log(Log.OPERATOR_STOPPED)


def main() -> int:
    """Entry point; returns the exit status."""
    faulthandler.enable()
    if hasattr(signal, "SIGUSR1"):
        faulthandler.register(signal.SIGUSR1)
    try:
        settings = Settings.from_environment(os.environ)
        configure(settings.log_level)
        asyncio.run(operate(settings))
    except SettingsError as error:
        sys.stderr.write(f"gradekeeper: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
