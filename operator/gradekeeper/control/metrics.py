"""Prometheus metrics of the operator; names are API, label values are bounded."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class Metrics:
    """All metrics, on a registry of their own so that tests can have several operators."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        registry = self.registry
        self.verdicts = Counter(
            "gradekeeper_verdicts_total",
            "Verdicts written, by decision and reason.",
            ["decision", "reason"],
            registry=registry,
        )
        self.attempts_failed = Counter(
            "gradekeeper_attempts_failed_total",
            "Attempts that the platform failed, by reason.",
            ["reason"],
            registry=registry,
        )
        self.verdict_seconds = Histogram(
            "gradekeeper_verdict_seconds",
            "From a job's creation to its verdict.",
            buckets=(1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 1800, 3600),
            registry=registry,
        )
        self.pods_in_flight = Gauge(
            "gradekeeper_pods_in_flight", "Slots for grading Pods that are held.", registry=registry
        )
        self.jobs_waiting = Gauge(
            "gradekeeper_jobs_waiting", "Jobs in the line for a slot.", registry=registry
        )
        self.stored_objects = Gauge(
            "gradekeeper_stored_objects", "Objects in memory, by kind.", ["kind"], registry=registry
        )
        self.queue_depth = Gauge(
            "gradekeeper_queue_depth", "Keys ready to be reconciled.", registry=registry
        )
        self.loop_lag_seconds = Gauge(
            "gradekeeper_loop_lag_seconds",
            "How late the event loop ran its last heartbeat.",
            registry=registry,
        )
        self.reconcile_errors = Counter(
            "gradekeeper_reconcile_errors_total",
            "Runs that ended in an error, by kind.",
            ["kind"],
            registry=registry,
        )
        self.api_requests = Counter(
            "gradekeeper_api_requests_total",
            "Requests to the API server by the engine, by verb, resource and outcome.",
            ["verb", "resource", "outcome"],
            registry=registry,
        )
        self.api_seconds = Histogram(
            "gradekeeper_api_request_seconds",
            "Time that a request to the API server took, waiting for its turn apart.",
            ["verb"],
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
            registry=registry,
        )
        self.watch_events = Counter(
            "gradekeeper_watch_events_total", "Watch events, by kind.", ["kind"], registry=registry
        )
        self.relist_healed = Counter(
            "gradekeeper_relist_healed_total",
            "Differences that a relist found and the watches had missed, by kind.",
            ["kind"],
            registry=registry,
        )
        self.detail_logs = Counter(
            "gradekeeper_detail_logs_total",
            "Detail logs of referees that were to be kept, by what became of them.",
            ["outcome"],
            registry=registry,
        )
        self.events_dropped = Counter(
            "gradekeeper_events_dropped_total",
            "Kubernetes Events that were not posted.",
            registry=registry,
        )
