"""What a child that read hostile bytes may tell the referee."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradekeeper.referee import report as r
from gradekeeper.referee.report import Report, ReportError, encode_report, parse_report


@pytest.mark.parametrize(
    "line",
    [
        Report(r.STARTED, 3),
        Report(r.OUTCOME, 3, "P"),
        Report(r.OUTCOME, 3, "V", "a line is too long"),
        Report(r.OUTCOME, 3, "P", "", 1_234),
        Report(r.LIED, 0, text="something moved"),
        Report(r.ERRORS, text="no hello"),
        Report(r.PLAYED),
        Report(r.BUILT, 41),
        Report(r.BUILD_ERRORS, 2),
        Report(r.BUILD_VIOLATION, text="it ended"),
    ],
    ids=str,
)
def test_lines_arrive_as_they_are(line):
    data = encode_report(line)
    assert data.count(b"\n") == 1 and data.endswith(b"\n")
    assert parse_report(data[:-1]) == line


@given(st.text(max_size=50))
def test_a_text_cannot_make_a_line_of_its_own(text):
    data = encode_report(Report(r.ERRORS, text=text))
    assert data.count(b"\n") == 1
    assert parse_report(data[:-1]).kind == r.ERRORS


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"P 1",
        b"S",
        b"S x",
        b"S 1 2",
        b"S 9999999",
        b"E 1",
        b"E 1 Q",
        b"E 1 PP",
        b"E 1 P",
        b"E 1 P x",
        b"E 1 P -1",
        b"E 1 P 1234567890",
        b"Z 1",
        b"S 1\r",
    ],
)
def test_other_lines_are_errors(line):
    with pytest.raises(ReportError):
        parse_report(line)


@given(st.binary(max_size=40))
def test_any_bytes_are_a_report_or_an_error(line):
    try:
        parse_report(line)
    except ReportError:
        pass


def test_a_line_is_bounded():
    data = encode_report(Report(r.ERRORS, text="x" * 100_000))
    assert len(data) <= r.MAX_REPORT_LINE
    with pytest.raises(ReportError):
        parse_report(b"D " + b"x" * r.MAX_REPORT_LINE)
