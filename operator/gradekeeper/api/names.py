"""Names, labels and annotations: every string by which two parts of Gradekeeper find each other.

Pure; anything may import it. Names are API: docs/protocols.md lists them.
"""

import hashlib
import re
from typing import Final

GROUP: Final = "gradekeeper.dev"
"""API group of both kinds."""
VERSION: Final = "v1alpha1"
"""The only served version."""
API_VERSION: Final = f"{GROUP}/{VERSION}"
"""What manifests write as `apiVersion`."""

JOB_KIND: Final = "GradingJob"
SUITE_KIND: Final = "GradingSuite"
JOBS_PLURAL: Final = "gradingjobs"
SUITES_PLURAL: Final = "gradingsuites"
CATEGORY: Final = "gradekeeper"
"""`kubectl get gradekeeper` lists both kinds."""

LABEL_MANAGED_BY: Final = "app.kubernetes.io/managed-by"
"""On every object that the operator creates; its Pod watch selects on it."""
MANAGED_BY: Final = "gradekeeper"
LABEL_JOB: Final = f"{GROUP}/job"
"""Job name; on grading Pods and on the parts of a submission."""
LABEL_JOB_UID: Final = f"{GROUP}/job-uid"
"""UID of the job, so that a job recreated under the same name does not see older Pods."""
LABEL_ATTEMPT: Final = f"{GROUP}/attempt"
"""Number of the attempt, from 1."""
LABEL_ROLE: Final = f"{GROUP}/role"
"""What a Pod is for; the network policies of the grading namespace select on it."""
ROLE_GRADING: Final = "grading"

REFEREE: Final = "referee"
"""Name of the trusted container of a grading Pod."""
LANE: Final = "lane"
"""Name of the untrusted container of a grading Pod."""

JOB_NAME_MAX: Final = 52
"""Longest job name: `<job>-part-00` and the labels then fit in 63 characters."""
SUITE_NAME_MAX: Final = 52
"""Longest suite name: `<suite>-index` and the names of its built-in jobs then fit."""
PART_KEY: Final = "part"
"""Key of a part's bytes in its ConfigMap."""
INDEX_KEY: Final = "index.json.gz"
"""Key of the compressed index in its ConfigMap."""
LOG_KEY: Final = "log.jsonl.gz"
"""Key of the compressed detail log in its Secret."""
LOG_SECRET_TYPE: Final = f"{GROUP}/detail-log"
"""Type of the Secrets that keep detail logs."""
ANNOTATION_LOG_DIGEST: Final = f"{GROUP}/log-digest"
"""On such a Secret: `sha256:…` of the whole log, also where only its beginning is kept."""
ANNOTATION_LOG_BYTES: Final = f"{GROUP}/log-bytes"
"""On such a Secret: length of the whole log."""

_NOT_LABEL = re.compile(r"[^a-z0-9]+")
_NONCE_HEX = 20


def pod_name(job_name: str, job_uid: str, attempt: int) -> str:
    """Name of the Pod of one attempt, the same in every life of the operator.

    Args:
        job_name: `metadata.name` of the job.
        job_uid: `metadata.uid` of the job; only its hash enters the name.
        attempt: Number of the attempt, from 1.

    Raises:
        ValueError: `attempt` is less than 1.
    """
    if attempt < 1:
        raise ValueError(f"attempts are counted from 1, not {attempt}")
    return f"{job_name}-{hashlib.sha256(job_uid.encode()).hexdigest()[:8]}-{attempt}"


def log_secret_name(pod: str) -> str:
    """Name of the Secret that keeps the detail log of a Pod's referee."""
    return f"{pod}-log"


def part_name(job_name: str, index: int) -> str:
    """Name of the ConfigMap that carries part `index` (from 0) of a job's submission.

    Raises:
        ValueError: `index` has more than two digits or is negative.
    """
    if not 0 <= index <= 99:
        raise ValueError(f"a submission has parts 0 to 99, not {index}")
    return f"{job_name}-part-{index:02d}"


def index_config_map_name(suite: str) -> str:
    """Usual name of the ConfigMap that carries a suite's index."""
    return f"{suite}-index"


def job_name(prefix: str, nonce: str) -> str:
    """Name of the job for a nonce: a restarted client finds its own job under it, and no other.

    Args:
        prefix: Any text; reduced to what a DNS label may contain and cut to fit.
        nonce: The job's nonce. Only its hash enters the name, so a name gives no nonce away.

    Returns:
        A DNS label of at most 52 characters.
    """
    digest = hashlib.sha256(nonce.encode()).hexdigest()[:_NONCE_HEX]
    slug = _NOT_LABEL.sub("-", prefix.lower()).strip("-")
    slug = slug[: JOB_NAME_MAX - _NONCE_HEX - 1].strip("-")
    return f"{slug or 'job'}-{digest}"
