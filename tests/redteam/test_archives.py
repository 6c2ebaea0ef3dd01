"""Archives that are slow to unpack are refused: they must not look like a slow referee."""

import gzip
import tarfile

from gradekeeper.referee import grading
from redteam.attacks import grade

PAX = tarfile.TarInfo("p")
PAX.type = tarfile.XHDTYPE


def test_a_refusal_comes_before_the_referee_gives_up():
    # A referee may have a fifth of a processor, and must not be late because of that.
    assert grading.INTAKE_CPU_SECONDS / 0.2 < grading.INTAKE_SECONDS


def test_headers_that_take_long_are_the_submissions(bundle, lane):
    body = b"6 a=b\n" * (64 * 1024 // 6)
    PAX.size = len(body)
    header = PAX.tobuf(tarfile.USTAR_FORMAT) + body + b"\0" * (-len(body) % 512)
    # Less than a mebibyte, as compressed.
    result = grade(bundle, lane, gzip.compress(header * 1_500, 1)).result
    assert (result.decision, result.reason) == ("Rejected", "SubmissionMalformed")
