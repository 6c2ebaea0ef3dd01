"""A child that judges what costs it most, under its real bounds: run as `python -I -S hungry.py`.

Arguments: the folder of the package, the name of a shape, its size. The program holds exactly what
a referee may hold, plays one test against a lane that sends the shape, and prints as JSON how the
test ended, how many calls of functions that took, and by how much the child grew.
"""

import itertools
import json
import os
import sys
import threading

PACKAGE, SHAPE, SIZE = sys.argv[1], sys.argv[2], float(sys.argv[3])
sys.path.insert(0, PACKAGE)

from gradekeeper.referee import __main__, child, report  # noqa: E402, F401
from gradekeeper.referee.bounds import HEAP_MIB  # noqa: E402
from gradekeeper.referee.bundle import Test as Hidden  # noqa: E402
from gradekeeper.referee.channel import EXITED, Channel  # noqa: E402
from gradekeeper.referee.judge import Rules  # noqa: E402
from gradekeeper.referee.observations import MAX_RUN_BYTES  # noqa: E402
from gradekeeper.referee.play import Case, Plan, Player  # noqa: E402
from gradekeeper.referee.players import CHILD_BOUNDS  # noqa: E402

LINE = 65_000
WIDE = "\U0001f600"


def lines_of(room):
    """How many full lines fit into what a run may say beside its tokens."""
    return int(SIZE * (MAX_RUN_BYTES - 200_000) // room)


def texts(tokens):
    """Texts that take four bytes a character, with tokens and what has to be escaped."""
    for number in range(lines_of(LINE)):
        token = tokens[number % len(tokens)]
        yield "k", json.dumps(WIDE + token + "$" * (LINE - 200), ensure_ascii=number % 2 == 0)


def chain(tokens):
    """Each token is seen beside the next one only; long texts besides."""
    for one, other in itertools.pairwise(tokens):
        yield "c", json.dumps([one, other])
    yield from texts(tokens)


def records(tokens):
    """As many values as a test may have, each the most that few bytes can be."""
    for _ in range(int(SIZE * 12)):
        yield "r", "[" + ",".join(['{"t":"R","f":{}}'] * 3_700) + "]"


def numbers(tokens):
    """Decimals that are written in full, some of them tolerated."""
    for number in range(int(SIZE * 24)):
        one = '{"t":"dec","v":"9e60"}' if number % 2 else '{"t":"dec","v":"9e9999999999"}'
        yield "near" if number % 3 else "d", "[" + ",".join([one] * 1_900) + "]"


def maps(tokens):
    """Maps of maps, with tokens that their order depends on."""
    for number in range(lines_of(LINE)):
        inner = tokens[number % len(tokens)] + WIDE + "x" * 60_000
        for depth in range(8):
            key = tokens[(number + depth) % len(tokens)]
            inner = {"t": "map", "v": [[key, inner], ["k", None]]}
        yield "m", json.dumps(inner)


def pairs(tokens):
    """Maps of many entries, whose keys are tokens."""
    for number in range(int(SIZE * 40)):
        count = len(tokens)
        entries = [[tokens[at % count], tokens[(at + number) % count]] for at in range(600)]
        yield "p", json.dumps({"t": "map", "v": entries})


def crowd(tokens):
    """Every token many times in one text."""
    for number in range(lines_of(LINE)):
        turned = tokens[number % len(tokens) :] + tokens[: number % len(tokens)]
        yield "t", json.dumps(("".join(turned) * 40)[: LINE - 200])


def small(tokens):
    """As many entries as a test may have."""
    for number in range(int(SIZE * 3_800)):
        yield "s", json.dumps(tokens[number % len(tokens)] + WIDE)


SHAPES = {one.__name__: one for one in (texts, chain, records, numbers, maps, pairs, crowd, small)}


def fill_heap():
    """Hold what a referee may hold when it forks."""
    kept = []
    while child.measure_space()[1] < HEAP_MIB * child.MIB - 200_000:
        kept.append(bytes(100_000))
    return kept


def play(output, errors, control, feed, report_to):
    """In the child; what `players` does there, and its growth besides."""
    child.confine(CHILD_BOUNDS, [output, errors, control, feed, report_to])
    before = child.measure_space()[0]
    rules = Rules(multiset=True, tolerance={"near": "0.5"})
    test = Hidden("g/a", "m01", {}, rules)
    expected = [[["obs", "k", "$zz#1"], ["obs", "k", "$zz#2"]]]
    plan = Plan([Case(0, test, {}, 0, expected)], 60.0, 60.0, 0)
    channel = Channel(
        output=output, errors=errors, control=control, feed=feed, max_bytes=MAX_RUN_BYTES
    )
    found = []
    calls = itertools.count()
    sys.setprofile(lambda frame, event, called: next(calls))
    try:
        Player(plan, channel, found.append, None).play()
        ended = [line.outcome for line in found if line.kind == report.OUTCOME]
    except MemoryError:
        ended = ["MemoryError"]
    except BaseException as error:
        ended = [repr(error)]
    sys.setprofile(None)
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmPeak"))
    said = {
        "ended": ended,
        "grown_kib": int(peak.split()[1]) - before // 1024,
        "calls": next(calls),
    }
    os.write(report_to, json.dumps(said).encode())
    os._exit(0)


def lane(feed, output, control):
    """Say hello, take 110 tokens, send the shape."""
    hears = open(feed, "rb")
    out = open(output, "wb")
    seq = 0
    nonce = "-"

    def say(body):
        nonlocal seq
        out.write(b'{"seq":%d,"nonce":"%s",%s}\n' % (seq, nonce.encode(), body.encode()))
        seq += 1

    say('"type":"hello","protocol":1')
    out.flush()
    nonce = json.loads(hears.readline())["nonce"]
    for call in range(110):
        say(f'"type":"call","call":{call},"method":"zz","args":[]')
    out.flush()
    tokens = [json.loads(hears.readline())["value"] for _ in range(110)]
    try:
        for key, value in SHAPES[SHAPE](tokens):
            say(f'"type":"obs","key":"{key}","value":{value}')
        say('"type":"done"')
        out.flush()
        hears.readline()
    except BrokenPipeError:
        pass
    os.write(control, EXITED)


def main():
    kept = fill_heap()
    (feed_r, feed_w), (out_r, out_w), (err_r, _), (control_r, control_w), (said_r, said_w) = (
        os.pipe() for _ in range(5)
    )
    pid = child.fork()
    if pid == 0:
        play(out_r, err_r, control_r, feed_w, said_w)
    for descriptor in (feed_w, out_r, err_r, said_w):
        os.close(descriptor)
    thread = threading.Thread(target=lane, args=(feed_r, out_w, control_w), daemon=True)
    thread.start()
    print(os.read(said_r, 65_536).decode())
    os.waitpid(pid, 0)
    assert kept


main()
