"""Names fit, are stable and cannot be confused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradekeeper.api.names import (
    index_config_map_name,
    job_name,
    part_name,
    pod_name,
)

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def test_pod_name_is_fixed() -> None:
    # sha256("uid-1") starts with 4a49acf8: changing it would orphan every running Pod.
    assert pod_name("job", "uid-1", 1) == "job-4a49acf8-1"


def test_pod_names_differ_by_uid_and_attempt() -> None:
    names = {pod_name("job", uid, attempt) for uid in ("a", "b") for attempt in (1, 2, 11)}
    assert len(names) == 6


def test_attempts_are_counted_from_one() -> None:
    with pytest.raises(ValueError, match="counted from 1"):
        pod_name("job", "uid", 0)


@pytest.mark.parametrize(("index", "name"), [(0, "job-part-00"), (23, "job-part-23")])
def test_part_name(index: int, name: str) -> None:
    assert part_name("job", index) == name


@pytest.mark.parametrize("index", [-1, 100])
def test_parts_have_two_digits(index: int) -> None:
    with pytest.raises(ValueError, match="parts 0 to 99"):
        part_name("job", index)


def test_parts_sort_in_their_order() -> None:
    names = [part_name("job", index) for index in range(24)]
    assert names == sorted(names)


def test_index_name() -> None:
    assert index_config_map_name("billing") == "billing-index"


@given(st.text(max_size=200), st.text(max_size=200))
def test_job_names_are_labels_that_leave_room_for_parts(prefix: str, nonce: str) -> None:
    name = job_name(prefix, nonce)
    assert LABEL.fullmatch(name)
    assert len(name) <= 52
    assert len(part_name(name, 23)) <= 63


def test_the_longest_job_name_uses_all_the_room_there_is() -> None:
    name = job_name("a" * 60, "n")
    assert len(name) == 52
    assert name.startswith("a" * 31 + "-")


@given(st.text(max_size=50), st.text(max_size=50), st.text(max_size=50))
def test_job_names_follow_the_nonce(prefix: str, nonce: str, other: str) -> None:
    assert job_name(prefix, nonce) == job_name(prefix, nonce)
    assert (job_name(prefix, nonce) == job_name(prefix, other)) == (nonce == other)


def test_job_name_keeps_what_it_can_of_the_prefix() -> None:
    name = job_name("Billing / step 7!", "n")
    assert name.startswith("billing-step-7-")
    assert "n" not in name.removeprefix("billing-step-7-")
    assert job_name("???", "n").startswith("job-")
