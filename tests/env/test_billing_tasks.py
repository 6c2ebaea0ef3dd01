"""Which tasks the billing environment has, what they say, and what they keep to themselves."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import Any

import pytest
import verifiers.v1 as vf
from pydantic import ValidationError
from verifiers.v1.runtimes import SubprocessConfig
from verifiers.v1.task import WireTaskData
from verifiers.v1.utils.compile import resolve_runtime_config
from verifiers.v1.utils.loaders import load_taskset

from billing_payment_debug import defects
from billing_payment_debug.taskset import (
    BillingData,
    BillingTask,
    BillingTaskConfig,
    BillingTasksetConfig,
)
from gradekeeper_verifiers.config import KubernetesConfig

BENCHMARK = ["billing-debug-tickets", "billing-debug-minimal"]


def load(**settings: Any) -> list[BillingTask]:
    return list(load_taskset(BillingTasksetConfig(id="billing-payment-debug", **settings)))


@pytest.fixture(scope="module")
def every() -> list[BillingTask]:
    """All tasks of the default sizes, the benchmark's first."""
    return load(num_sampled_tasks=1274)


def pair(task: BillingTask) -> tuple[str, frozenset[str]]:
    return task.data.variant, frozenset(task.data.active_defects)


def test_the_benchmark_comes_first_and_has_all_defects() -> None:
    tasks = load()

    assert [task.data.name for task in tasks] == BENCHMARK
    assert all(task.data.active_defects == list(defects.catalog()) for task in tasks)
    assert [task.data.name for task in load(variants=["minimal"])] == BENCHMARK[1:]
    assert load(include_full_tasks=False) == []


def test_1274_tasks_of_default_sizes_differ_and_there_is_no_other(every: list[BillingTask]) -> None:
    sampled = every[2:]
    assert [task.data.name for task in every[:2]] == BENCHMARK
    assert [task.data.name for task in sampled] == [
        f"billing-debug-{task.data.variant}-s{place}" for place, task in enumerate(sampled)
    ]
    assert len({pair(task) for task in sampled}) == 1274
    assert {len(task.data.active_defects) for task in sampled} == {1, 2, 3, 4, 5}
    for field in ("name", "id"):
        assert len({getattr(task.data, field) for task in every}) == 1276
    with pytest.raises(ValidationError, match="only 1274 are different"):
        load(num_sampled_tasks=1275)


def test_2046_tasks_of_all_sizes_differ() -> None:
    tasks = load(num_sampled_tasks=2046, max_active_defects=10)

    assert len({pair(task) for task in tasks[2:]}) == 2046
    assert len({task.key for task in tasks}) == 2048
    with pytest.raises(ValidationError, match="only 2046 are different"):
        load(num_sampled_tasks=2047, max_active_defects=10)


def test_all_sizes_and_variants_are_drawn_alike() -> None:
    tasks = load(num_sampled_tasks=80, include_full_tasks=False, min_active_defects=2)

    sizes = Counter(len(task.data.active_defects) for task in tasks)
    variants = Counter(task.data.variant for task in tasks)
    assert set(sizes) == {2, 3, 4, 5} and min(sizes.values()) >= 10
    assert min(variants["tickets"], variants["minimal"]) >= 25


def test_the_same_settings_give_the_same_tasks_in_every_process(every: list[BillingTask]) -> None:
    first = load(num_sampled_tasks=50)
    assert [task.data for task in first] == [task.data for task in load(num_sampled_tasks=50)]
    assert [task.data for task in first] == [task.data for task in every[:52]]
    other = load(num_sampled_tasks=50, sampling_seed=1)
    assert [pair(task) for task in other[2:]] != [pair(task) for task in first[2:]]
    # Of a run that others want to repeat, on another machine and with another Python.
    told = "\n".join(f"{task.data.name} {task.key}" for task in every)
    assert hashlib.sha256(told.encode()).hexdigest().startswith("4da2903c84bb58ae")


def test_a_task_has_the_same_key_in_every_list(every: list[BillingTask]) -> None:
    known = {pair(task): task.key for task in every}
    for task in load(num_sampled_tasks=300, sampling_seed=7)[2:]:
        assert task.key == known[pair(task)] == task.data.id


def test_names_keys_and_descriptions_tell_no_defect(every: list[BillingTask]) -> None:
    descriptions = {task.data.description for task in every}
    assert len(descriptions) == 1
    shown = [*descriptions, *(f"{task.data.name} {task.key}" for task in every)]
    for text in shown:
        words = re.sub("billing-debug-(tickets|minimal)", "", str(text)).lower()
        assert not any(group.split("_")[0].rstrip("s") in words for group in defects.GROUPS), text
    # One task's number says as much of its defects as any other's: nothing.
    assert {len(task.key) for task in every[2:] if task.data.variant == "minimal"} == {38}


def test_prompts_tell_symptoms_of_the_active_defects_and_no_place(every: list[BillingTask]) -> None:
    catalog = defects.catalog()
    sources = b"".join(
        content for path, content in defects.task_repo().items() if path.endswith(".java")
    ).decode()
    names = {word for word in re.findall(r"\w+", sources) if re.search(r"[a-z][A-Z]", word)}
    assert {"calculateTax", "RefundService"} <= names
    for task in every:
        prompt = task.data.prompt
        assert isinstance(prompt, str)
        told = [group for group, one in catalog.items() if one.ticket in prompt]
        assert told == (task.data.active_defects if task.data.variant == "tickets" else [])
        assert not set(re.findall(r"\w+", prompt)) & names
        assert not re.search(r"[_(){}/`]|\.java|\.md|\.sh", prompt)
        assert all(
            rule in prompt for rule in ("signatures", "existing tests", "README", "hidden suite")
        )
    assert len({task.data.prompt for task in every if task.data.variant == "minimal"}) == 1


def test_the_box_is_as_the_benchmark_says() -> None:
    data = load(agent_timeout_seconds=60)[0].data

    assert (data.image, data.workdir) == ("eclipse-temurin:17-jdk", "/workspace/billing-service")
    assert (data.resources.cpu, data.resources.memory, data.resources.disk) == (2, 4, 5)
    assert (data.timeout.setup, data.timeout.agent) == (300, 60)
    assert (data.timeout.finalize, data.timeout.scoring) == (None, None)
    # A queue is nobody's failure: no framework deadline cuts the wait for a verdict.
    assert data.timeout.finalize is None
    assert data.network_allow == [] and data.system_prompt is None
    assert load(allow_network=True)[0].data.network_allow == ["*"]
    assert BillingTask.NEEDS_CONTAINER


@pytest.mark.parametrize("allow_network", [False, True])
def test_a_box_on_a_cluster_is_what_the_task_asks_for(allow_network: bool) -> None:
    task = load(allow_network=allow_network)[0]
    box = resolve_runtime_config(KubernetesConfig(allow=["*"]), task)

    assert (box.image, box.workdir) == (task.data.image, task.data.workdir)
    assert (box.cpu, box.memory, box.disk) == (2, 4, 5)
    assert box.allow == (["*"] if allow_network else [])
    assert resolve_runtime_config(KubernetesConfig(), task).allow == []
    with pytest.raises(ValueError, match="subprocess"):
        resolve_runtime_config(SubprocessConfig(), task)


def test_a_tasks_data_survives_its_trace_and_holds_no_more_than_it_says() -> None:
    task = load(num_sampled_tasks=3)[3]
    wire = task.data.model_dump_json(exclude_none=True)

    assert BillingData.model_validate_json(wire) == task.data
    foreign = WireTaskData.model_validate_json(wire)
    assert BillingData.model_validate(foreign.model_dump()) == task.data
    assert BillingTask(foreign, None).hash == task.hash  # type: ignore[arg-type]
    own = set(BillingData.model_fields) - set(vf.TaskData.model_fields)
    assert own == {"variant", "active_defects"}
    for one in defects.catalog().values():
        assert one.location not in wire
        for hunk in one.hunks:
            lines = [line.strip() for line in (hunk.before + hunk.after).splitlines()]
            assert not any(line in wire for line in lines if len(line) > 8)


def test_the_repository_of_a_task_has_its_defects_and_no_other() -> None:
    seeded, gold = defects.task_repo(), defects.gold()
    for task in load(num_sampled_tasks=20):
        files = task.repository()
        repaired = defects.apply(files, task.data.active_defects)
        assert repaired == {**seeded, **gold}
        assert set(files) == set(seeded)


def test_defaults_are_those_of_the_benchmark() -> None:
    taskset, task = BillingTasksetConfig(), BillingTaskConfig()

    assert taskset.model_dump(exclude={"task", "id", "system_prompt"}) == {
        "variants": ["tickets", "minimal"],
        "include_full_tasks": True,
        "num_sampled_tasks": 0,
        "min_active_defects": 1,
        "max_active_defects": 5,
        "sampling_seed": 0,
        "image": "eclipse-temurin:17-jdk",
        "agent_timeout_seconds": 1800,
        "allow_network": False,
    }
    assert task.model_dump(exclude={"grading", "judges", "stops", "metrics", "rewards"}) == {
        "grader": "kubernetes",
        "suite_path": None,
        "isolated_grading": True,
        "concurrency_repeats": 3,
        "test_timeout_seconds": 20,
        "suite_timeout_seconds": 900,
        "grading_timeout_seconds": 1200,
    }
    # Also where other settings of grading are given.
    told = BillingTaskConfig.model_validate({"grading": {"namespace": "grading"}})
    assert told.grading.suite == task.grading.suite == "billing-payment-debug"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"isolated_grading": False}, "cannot grade it"),
        ({"concurrency_repeats": 1}, "the suite has signed 3"),
        ({"suite_timeout_seconds": 29}, "greater than or equal to 30"),
        ({"suite_timeout_seconds": 1200}, "must be more than suite_timeout_seconds"),
        ({"grader": "local"}, "set suite_path"),
    ],
)
def test_what_could_not_be_graded_is_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        BillingTaskConfig(**settings)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"variants": []}, "at least 1 item"),
        ({"variants": ["tickets", "tickets"]}, "name each once"),
        ({"variants": ["hints"]}, "'tickets' or 'minimal'"),
        ({"min_active_defects": 6}, "more than max_active_defects"),
        ({"max_active_defects": 11}, "less than or equal to 10"),
        ({"num_sampled_tasks": 638, "variants": ["minimal"]}, "only 637 are different"),
    ],
)
def test_task_lists_that_do_not_exist_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        BillingTasksetConfig(**settings)
