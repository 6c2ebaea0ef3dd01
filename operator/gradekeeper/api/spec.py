"""What users write: the specs of GradingJob and GradingSuite.

Pure, frozen, strict (`extra="forbid"`). Field docstrings are what `kubectl explain` prints.
Parse with `GradingJobSpec.model_validate(obj["spec"])`; write with `schema.dump`.
"""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from gradekeeper.api.reasons import Reason
from gradekeeper.api.schema import (
    PRINTABLE_PATTERN,
    Cpu,
    Digest,
    Memory,
    ObjectName,
    PinnedImage,
    SpecModel,
    StringMap,
    immutable,
    rule,
    rules,
)

_ONE_SOURCE = "exactly one of configMaps, builtin and untransportable must be set"
_NULL_HINT = '; in YAML, quote "null"'
_DIGEST_WITH_PARTS = "digest must be set together with configMaps, and only with them"
_UNIQUE_PARTS = "configMaps must not name a part twice"


class Builtin(StrEnum):
    """A submission that lies in the suite's own bundle."""

    GOLD = "gold"
    NULL = "null"


class SuiteRef(SpecModel):
    """Names the suite that grades a job."""

    name: ObjectName
    """Name of a GradingSuite in the job's namespace."""


class Untransportable(SpecModel):
    """What the client saw of a submission that it could not send."""

    bytes: int = Field(ge=0, le=2**53)
    """Size of the submission in bytes, compressed or not, as the client measured it."""
    files: int = Field(ge=0, le=2**53)
    """Number of files in the submission, as the client counted them."""
    reason: Literal[
        Reason.SUBMISSION_TOO_LARGE, Reason.SUBMISSION_TOO_MANY_FILES, Reason.SUBMISSION_MALFORMED
    ]
    """Why it could not be sent; becomes the reason of the verdict `Rejected`."""


class Submission(
    SpecModel,
    json_schema_extra=rules(
        rule(
            "[has(self.configMaps), has(self.builtin), has(self.untransportable)]"
            ".filter(x, x).size() == 1",
            _ONE_SOURCE + _NULL_HINT,
        ),
        rule("has(self.configMaps) == has(self.digest)", _DIGEST_WITH_PARTS),
    ),
):
    """Where the submission is: exactly one of `config_maps`, `builtin`, `untransportable`."""

    config_maps: tuple[ObjectName, ...] | None = Field(
        default=None,
        min_length=1,
        max_length=24,
        json_schema_extra=rules(
            rule("self.all(x, self.exists_one(y, x == y))", _UNIQUE_PARTS),
        ),
    )
    """Names of the ConfigMaps that carry the parts of the submission, in order: at most 24 of at
    most 1 MiB, each immutable, labelled `gradekeeper.dev/job: <job>`, the bytes under the key
    `part`. Joined they are one tar.gz. They may be created after the job; grading waits for all."""
    digest: Digest | None = None
    """SHA-256 of the joined parts, as `sha256:<hex>`. Required with `configMaps`."""
    builtin: Builtin | None = None
    """A submission of the suite itself: `gold` passes every test, `null` (quote it in YAML) fails
    every discriminating one. Used for a suite's self-check and to try an installation out."""
    untransportable: Untransportable | None = None
    """A submission too large to be sent. The job is answered at once with `Rejected`, and the
    signed verdict says that the sizes are the client's observation."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        sources = (self.config_maps, self.builtin, self.untransportable)
        if sum(source is not None for source in sources) != 1:
            raise ValueError(_ONE_SOURCE)
        if (self.config_maps is None) != (self.digest is None):
            raise ValueError(_DIGEST_WITH_PARTS)
        if self.config_maps is not None and len(set(self.config_maps)) != len(self.config_maps):
            raise ValueError(_UNIQUE_PARTS)
        return self


class GradingJobSpec(SpecModel):
    """One submission to be graded by one suite, once.

    Immutable after creation, except `suspend`, `cancel` and `ttlSecondsAfterFinished`.
    """

    suite_ref: SuiteRef = Field(json_schema_extra=immutable("suiteRef"))
    """The suite that grades the submission."""
    task: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._/-]*$", max_length=253)] = Field(
        default="", json_schema_extra=immutable("task")
    )
    """A task of the suite: a selection of its tests. Empty: the whole suite."""
    submission: Submission = Field(json_schema_extra=immutable("submission"))
    """The submission: exactly one of `configMaps` (with `digest`), `builtin` and
    `untransportable`."""
    nonce: Annotated[str, StringConstraints(pattern=PRINTABLE_PATTERN, max_length=128)] = Field(
        default="", json_schema_extra=immutable("nonce")
    )
    """A value that the client chose for this grading alone; the signed verdict repeats it, so that
    a verdict cannot be passed off as another's. Best: an HMAC of a run's secret over rollout and
    trial."""
    group: Annotated[str, StringConstraints(pattern=PRINTABLE_PATTERN, max_length=128)] = Field(
        default="", json_schema_extra=immutable("group")
    )
    """Free text that ties jobs together, such as the rollouts of one training step. Repeated in
    the verdict."""
    parameters: StringMap = Field(
        default={}, max_length=32, json_schema_extra=immutable("parameters")
    )
    """Values for parameters that the suite declares, by name; at most 32. An unknown name makes
    the job `Unjudged` with the reason `InvalidJob`."""
    suspend: bool = False
    """True: start no attempt. An attempt that runs goes on."""
    cancel: bool = Field(
        default=False,
        json_schema_extra=rules(rule("self || !oldSelf", "cancel cannot be taken back")),
    )
    """True: stop grading. A job without a verdict becomes `Unjudged` with the reason
    `Cancelled`."""
    attempt_deadline_seconds: int = Field(
        default=1800, ge=10, le=86400, json_schema_extra=immutable("attemptDeadlineSeconds")
    )
    """Seconds that one attempt may take from the start of its Pod on a node. It is the platform's
    time: when it is used up the attempt is `Unjudged`. Make it longer than 1.75 times the suite's
    own `suiteTimeoutSeconds`: that is the submission's time, and what a busy node takes of it is
    added, up to so much."""
    retry_limit: int = Field(default=2, ge=0, le=10, json_schema_extra=immutable("retryLimit"))
    """How many more attempts may follow the first one. Only failures of the platform are retried,
    never those of the submission."""
    ttl_seconds_after_finished: int = Field(default=3600, ge=0, le=2592000)
    """Seconds after its verdict at which the job is deleted, with its Pods and parts."""


class ContainerResources(SpecModel):
    """CPU and memory of one container; requests equal limits."""

    cpu: Cpu
    """Limit and request: whole cores or millicores, as in `2` or `1500m`. An installation may
    lower the request."""
    memory: Memory
    """Limit and request, in whole Mi or Gi."""


class SuiteResources(SpecModel):
    """Resources of the two containers of a grading Pod."""

    referee: ContainerResources
    """Of the trusted container. Its memory also holds the 64 MiB volume that the lane reads."""
    lane: ContainerResources
    """Of the untrusted container. Its memory must hold all heaps that run side by side, the
    scratch volume, and some more."""


class SuiteLimits(SpecModel):
    """What a submission may use; the author signs these values.

    The defaults here are those of the CRD and of `suite.yaml`: compare limits as models, so that a
    value left out equals its default.
    """

    suite_timeout_seconds: int = Field(default=900, ge=1, le=86400)
    """Seconds for everything: what has not finished then fails."""
    run_timeout_seconds: int = Field(default=600, ge=1, le=86400)
    """Seconds for one run, which is one process with a group of tests."""
    test_timeout_seconds: int = Field(default=20, ge=1, le=3600)
    """Seconds for one test."""
    restarts_per_group: int = Field(default=4, ge=0, le=16)
    """How often a run is started again with the remaining tests after one hung or crashed."""
    parallel: int = Field(default=2, ge=1, le=16)
    """How many runs go side by side."""
    heap_mib: int = Field(default=192, ge=16, le=65536, alias="heapMiB")
    """Heap of one run in MiB."""
    scratch_mib: int = Field(default=16, ge=1, le=16384, alias="scratchMiB")
    """Size in MiB of the memory volume that runs may write to, in all."""
    processes: int = Field(default=256, ge=8, le=32768)
    """Processes and threads of the lane (enforced only with user namespaces)."""
    file_mib: int = Field(default=8, ge=1, le=16384, alias="fileMiB")
    """Largest file in MiB that a run may write."""


class IndexRef(SpecModel):
    """Names the ConfigMap that carries the suite's index."""

    name: ObjectName
    """Name of an immutable ConfigMap in the suite's namespace, by custom `<suite>-index`, with the
    compressed index under the key `index.json.gz`."""


class Toleration(SpecModel):
    """A taint that grading Pods tolerate; as in a Pod."""

    key: Annotated[str, StringConstraints(max_length=316)] | None = None
    """Key of the taint. Absent with the operator `Exists`: every taint."""
    operator: Literal["Exists", "Equal"] = "Equal"
    """`Exists` ignores the value, `Equal` compares it."""
    value: Annotated[str, StringConstraints(max_length=63)] | None = None
    """Value of the taint, with `Equal`."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """Effect of the taint. Absent: every effect."""
    toleration_seconds: int | None = Field(default=None, ge=0, le=86400)
    """With `NoExecute`: seconds for which the taint is tolerated. Absent: for ever."""


class GradingSuiteSpec(SpecModel):
    """A signed bundle of hidden tests, and how its gradings run."""

    image: PinnedImage
    """The suite's image, with the bundle and the referee, by digest. Runs only as the trusted
    container."""
    lane_image: PinnedImage
    """The image in which submissions run, by digest."""
    signature: Annotated[
        str, StringConstraints(pattern=r"^[A-Za-z0-9+/]+={0,2}$", min_length=4, max_length=65536)
    ]
    """The author's signature: a DSSE envelope in base64, as `gradekeeper suite sign` prints it. It
    covers the bundle, both images, the index, the limits and the resources."""
    index_ref: IndexRef
    """The suite's index: the ordered ids of its tests, without any expectation."""
    resources: SuiteResources
    """Resources of the two containers."""
    limits: SuiteLimits = SuiteLimits()
    """What a submission may use."""
    runtime_class_name: ObjectName | None = None
    """RuntimeClass of grading Pods, such as `gvisor`. Absent: the installation's."""
    node_selector: StringMap = Field(default={}, max_length=16)
    """Labels that a node must have, in addition to the installation's; at most 16."""
    tolerations: tuple[Toleration, ...] = Field(default=(), max_length=16)
    """Taints that grading Pods tolerate, in addition to the installation's; at most 16."""
