"""A harness inside the box, on the cluster: it reaches the model, and an agent can break it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from env.boxes import open_place
from env.scripted_model import serve

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(600)]

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent

# Exits 0 where nothing answers.
CUT_OFF = """python3 - <<'END'
import os, socket, sys
places = [(os.environ["KUBERNETES_SERVICE_HOST"], int(os.environ["KUBERNETES_SERVICE_PORT"])),
          ("127.0.0.1", %d)]
for place in places:
    try:
        socket.create_connection(place, 2)
    except OSError:
        continue
    sys.exit(1)
END
"""
KILL_THE_RELAY = """for p in /proc/[0-9]*; do
  tr '\\0' ' ' <"$p/cmdline" | grep -q '[s]tdin.buffer.read' && kill -9 "${p#/proc/}"
done; sleep 60"""


def test_a_harness_in_the_box_reaches_the_model_and_nothing_else(tmp_path: Path) -> None:
    with open_place() as place, serve() as (url, requests):
        port = urlsplit(url).port
        assert port is not None
        cases: dict[str, list[tuple[str, dict[str, str]]]] = {
            # More than all windows and buffers hold, in one request of the box.
            "right": [
                ("bash", {"command": "head -c 3000000 /dev/zero | tr '\\0' x"}),
                ("bash", {"command": CUT_OFF % port + "[ $? = 0 ] && echo 42 > answer.txt"}),
            ],
            "kills the relay": [("bash", {"command": KILL_THE_RELAY})],
            "kills everything": [("bash", {"command": "kill -9 -1"})],
        }
        done = subprocess.run(
            [
                BIN / "vf-eval",
                "box-cases",
                *place.flags("--env.agent.runtime"),
                *("--env.agent.harness.id", "box_loop"),
                *("-m", "scripted", "--client.base-url", url, "--client.api-key-var", "KEY"),
                *("-r", "1", "-c", str(len(cases)), "-o", tmp_path / "out", "--no-push"),
                "--no-rich",
            ],
            env={
                **place.cluster.environment,
                "PYTHONPATH": f"{HERE / 'tasksets'}{os.pathsep}{HERE.parent}",
                "BOX_CASES": json.dumps(cases),
                "HOME": str(tmp_path),
                "KEY": "none",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
        left = place.boxes()
    (file,) = (tmp_path / "out").rglob("traces.jsonl")
    traces: dict[str, dict[str, Any]] = {}
    for line in file.read_text().splitlines():
        (trace,) = json.loads(line)["traces"]
        traces[trace["task"]["data"]["id"]] = trace
    said = done.stdout[-3000:] + done.stderr[-3000:]

    assert set(traces) == set(cases), said
    right = traces["right"]
    assert right["ok"] and right["rewards"]["answered"]["score"] == 1.0, said
    assert max(len(json.dumps(request)) for request in requests) > 3_000_000
    # What it breaks is dropped, not scored: the reason why a harness outside is the default.
    errors = {case: traces[case]["errors"][-1] for case in cases if case != "right"}
    assert {error["type"] for error in errors.values()} == {"HarnessError"}, errors
    assert "ended in the box: exit code 137" in errors["kills the relay"]["message"]
    assert "exited 137" in errors["kills everything"]["message"]
    assert left == []
