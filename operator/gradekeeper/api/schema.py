"""What the models of both kinds share: their base classes and the types of their leaves.

The models are the only source of the CRDs: `crds.py` turns their bounds, defaults and docstrings
into OpenAPI, so a constraint is stated once. CEL rules travel in a field's `json_schema_extra`.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
)
from pydantic.alias_generators import to_camel

RULES: Final = "x-kubernetes-validations"
"""The OpenAPI extension that carries CEL rules."""

DIGEST_PATTERN: Final = r"^sha256:[0-9a-f]{64}$"
PINNED_IMAGE_PATTERN: Final = r"^[a-zA-Z0-9._:/-]+@sha256:[0-9a-f]{64}$"
DNS_NAME_PATTERN: Final = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
PRINTABLE_PATTERN: Final = r"^[ -~]*$"
OUTCOMES_PATTERN: Final = r"^[PFTXVN]*$"
MAX_TESTS: Final = 2048
"""Most tests in a task: their outcomes must fit into a termination message of 4 KiB."""
MAX_ATTEMPTS: Final = 11
"""The first attempt and at most ten retries."""


class SpecModel(BaseModel):
    """Base of what users write: unknown fields are errors, values never change."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )


class StatusModel(BaseModel):
    """Base of what the operator writes: fields of newer versions are ignored when read."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        alias_generator=to_camel,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )


def dump(model: BaseModel) -> dict[str, Any]:
    """The JSON form of a model as the API server stores it: camelCase, unset fields absent."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def rule(expression: str, message: str, **more: Any) -> dict[str, Any]:
    """One CEL rule with the message that a user sees when it does not hold."""
    return {"rule": expression, "message": message, **more}


def rules(*all_rules: dict[str, Any]) -> dict[str, Any]:
    """CEL rules as the `json_schema_extra` of a field or model."""
    return {RULES: list(all_rules)}


def immutable(what: str) -> dict[str, Any]:
    """The `json_schema_extra` of a field that may not change once the object exists."""
    return rules(rule("self == oldSelf", f"{what} is immutable: create another job instead"))


def _pinned(image: str) -> str:
    if not re.fullmatch(PINNED_IMAGE_PATTERN, image):
        raise ValueError("must name an image by digest, as in registry/name@sha256:<64 hex digits>")
    return image


def _milliseconds(moment: datetime) -> datetime:
    moment = moment.astimezone(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def format_time(moment: datetime) -> str:
    """RFC 3339 in UTC with milliseconds, as every time of ours is written."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Timestamp = Annotated[
    AwareDatetime, AfterValidator(_milliseconds), PlainSerializer(format_time, when_used="json")
]
"""A moment, kept to the millisecond so that what is written equals what is read back."""

Digest = Annotated[str, StringConstraints(pattern=DIGEST_PATTERN, max_length=71)]
"""`sha256:` and 64 hex digits."""

PinnedImage = Annotated[
    str,
    AfterValidator(_pinned),
    Field(
        max_length=512,
        json_schema_extra=rules(
            rule(
                f"self.matches('{PINNED_IMAGE_PATTERN}')",
                "must name an image by digest, as in registry/name@sha256:<64 hex digits>",
            )
        ),
    ),
]
"""An image by digest; a tag alone could mean other bytes tomorrow."""

ObjectName = Annotated[
    str, StringConstraints(pattern=DNS_NAME_PATTERN, min_length=1, max_length=253)
]
"""Name of a Kubernetes object."""

Cpu = Annotated[
    str, StringConstraints(pattern=r"^([1-9][0-9]{0,5}m|[1-9][0-9]{0,2})$", max_length=7)
]
"""CPU: whole cores or millicores, as in `2` or `1500m`."""

Memory = Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]{0,6}(Mi|Gi)$", max_length=9)]
"""Memory in whole Mi or Gi: a size that is no multiple of a page gets a Pod evicted when full."""

StringMap = Mapping[str, Annotated[str, StringConstraints(max_length=253)]]
"""A map of short strings; the number of entries is bounded by the field that uses it."""


def millicores(cpu: str) -> int:
    """A `Cpu` in millicores: 1500 for `1500m`, 2000 for `2`."""
    return int(cpu[:-1]) if cpu.endswith("m") else int(cpu) * 1000


def mebibytes(memory: str) -> int:
    """A `Memory` in MiB: 512 for `512Mi`, 1024 for `1Gi`."""
    return int(memory[:-2]) * (1024 if memory.endswith("Gi") else 1)
