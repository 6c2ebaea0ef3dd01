"""The bytes of the exec protocol."""

import json

import pytest

from gradekeeper_verifiers.frames import (
    STDIN_CHUNK,
    STDIN_END,
    Exited,
    Refused,
    parse_status,
    split_frame,
    stdin_frames,
)


def _status(**fields: object) -> bytes:
    return json.dumps({"kind": "Status", "apiVersion": "v1", **fields}).encode()


@pytest.mark.parametrize("size", [0, 1, STDIN_CHUNK, STDIN_CHUNK + 1, 3 * STDIN_CHUNK - 1])
def test_standard_input_arrives_whole_and_is_closed_at_last(size: int) -> None:
    data = bytes(i % 251 for i in range(size))

    *sent, last = stdin_frames(data)

    assert last == STDIN_END == b"\xff\x00"
    assert b"".join(frame[1:] for frame in sent) == data
    assert all(frame[0] == 0 and 1 < len(frame) <= STDIN_CHUNK + 1 for frame in sent)


def test_a_frame_is_its_channel_and_the_rest() -> None:
    assert split_frame(b"\x01\xff\x00x") == (1, b"\xff\x00x")
    assert split_frame(b"\x02") == (2, b"")
    assert split_frame(b"") == (255, b"")


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        pytest.param(_status(status="Success"), Exited(0), id="success"),
        pytest.param(
            _status(
                status="Failure",
                reason="NonZeroExitCode",
                details={"causes": [{"reason": "Other"}, {"reason": "ExitCode", "message": "137"}]},
            ),
            Exited(137),
            id="exit code",
        ),
        pytest.param(
            _status(
                status="Failure",
                reason="InternalError",
                message="Internal error occurred: error executing command in container: failed to "
                'exec in container: failed to start exec "5b": OCI runtime exec failed',
            ),
            Refused(
                "Internal error occurred: error executing command in container: failed to exec in "
                'container: failed to start exec "5b": OCI runtime exec failed',
                by_container=True,
            ),
            id="could not be started",
        ),
        pytest.param(
            _status(status="Failure", message="error dialing backend: dial tcp: refused"),
            Refused("error dialing backend: dial tcp: refused", by_container=False),
            id="never reached the node",
        ),
        pytest.param(
            _status(
                status="Failure",
                reason="NonZeroExitCode",
                details={"causes": [{"reason": "ExitCode", "message": "-1"}]},
            ),
            Refused("NonZeroExitCode", by_container=False),
            id="an exit code that is none",
        ),
        pytest.param(
            _status(status="Failure", details={"causes": None}),
            Refused("no reason given", by_container=False),
            id="no reason",
        ),
        pytest.param(b"oops", Refused("oops", by_container=False), id="no JSON"),
        pytest.param(b"[]", Refused("[]", by_container=False), id="no object"),
        pytest.param(b"", Refused("an empty status", by_container=False), id="empty"),
        pytest.param(
            _status(
                status="Failure",
                message="m",
                details={"causes": [{"reason": "ExitCode", "message": "9" * 5_000}]},
            ),
            Refused("m", by_container=False),
            id="digits",
        ),
        pytest.param(b"[" * 100_000, Refused("[" * 500, by_container=False), id="deep"),
        pytest.param(b" " * (2 << 20), Refused(" " * 500, by_container=False), id="long"),
    ],
)
def test_how_a_command_ended(payload: bytes, expected: Exited | Refused) -> None:
    assert parse_status(payload) == expected
