"""Metrics for Prometheus: as text for scraping, or in a text file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from trectools_plus.errors import MissingExtraError, UsageError
from trectools_plus.formats.files.atomic import atomic_write
from trectools_plus.service.api.settings import DEFAULT_PREFIX, check_prefix
from trectools_plus.service.api.snapshots import Snapshot, SnapshotStore, split_measure
from trectools_plus.statistics.comparison import ends_of

try:
    from prometheus_client import (
        CollectorRegistry,
        Gauge,
        Histogram,
        ProcessCollector,
        disable_created_metrics,
        generate_latest,
    )
except ImportError as error:
    raise MissingExtraError("metrics for Prometheus", "service") from error

disable_created_metrics()
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper ends of the buckets of latency histograms, in seconds."""
ENDS = {
    "": "Mean",
    "_low": "Lower end of the interval of the mean",
    "_high": "Upper end of the interval of the mean",
}
"""The gauges of a figure: the ends of their names, and the beginning of their descriptions."""


def render_metrics(snapshots: Iterable[Snapshot], prefix: str = DEFAULT_PREFIX) -> bytes:
    """Return figures in the text format of Prometheus.

    The names of the figures of one type of queries begin with ``stratum_``, so that a selector
    without ``query_type`` finds only those over all queries.

    Args:
        snapshots: One for each dataset and mode.
        prefix: The prefix of names.

    Raises:
        UsageError: If the prefix is invalid.
    """
    check_prefix(prefix)
    gauges = _Gauges(f"{prefix}_retrieval")
    for snapshot in snapshots:
        labels = {"dataset": snapshot.dataset, "mode": snapshot.mode}
        for query_type, figures in snapshot.groups.items():
            start = "" if query_type is None else "stratum_"
            group = labels if query_type is None else {**labels, "query_type": query_type}
            for measure, figure in figures.items():
                name, further = _family(measure)
                values = figure.mean, *ends_of(figure.ci)
                for (end, words), value in zip(ENDS.items(), values, strict=True):
                    text = f"{words} of a measure over queries."
                    gauges.set(f"{start}{name}{end}", text, {**group, **further}, value)
            count = max((figure.n for figure in figures.values()), default=None)
            gauges.set(f"{start}queries", "Queries averaged over.", group, count)
        text = "When the figures were computed, in seconds since 1970."
        gauges.set("run_timestamp_seconds", text, labels, snapshot.created)
        gauges.observe("latency_seconds", "Time per query.", labels, snapshot.latency_ms)
    return generate_latest(gauges.registry)


class _Gauges:
    """Metrics that are created with their first value."""

    def __init__(self, prefix: str) -> None:
        self.registry = CollectorRegistry()
        self._prefix = prefix
        self._metrics: dict[str, Any] = {}

    def set(self, name: str, text: str, labels: Mapping[str, str], value: float | None) -> None:
        if value is not None:
            self._metric(Gauge, name, text, labels).set(value)

    def observe(
        self, name: str, text: str, labels: Mapping[str, str], latency_ms: Iterable[float]
    ) -> None:
        for value in latency_ms:
            self._metric(Histogram, name, text, labels, buckets=BUCKETS).observe(value / 1000)

    def _metric(
        self, kind: Any, name: str, text: str, labels: Mapping[str, str], **options: Any
    ) -> Any:
        if name not in self._metrics:
            full = f"{self._prefix}_{name}"
            self._metrics[name] = kind(full, text, [*labels], registry=self.registry, **options)
        # Users choose the names of datasets and query types, so labels can contain anything.
        values = (value.encode("utf-8", "replace").decode() for value in labels.values())
        return self._metrics[name].labels(*values)


def _family(measure: str) -> tuple[str, dict[str, str]]:
    """Return the name of the gauge of a measure, and its further label with the value."""
    parts = split_measure(measure)
    if parts is None:
        return "measure", {"measure": measure}
    name, cutoff = parts
    return (name, {}) if cutoff is None else (f"{name}_at_k", {"k": cutoff})


def write_textfile(path: str | Path, content: bytes) -> None:
    """Write figures for the textfile collector of node_exporter, atomically.

    Raises:
        UsageError: If the name does not end in ``.prom``; the collector ignores other files.
        InputError: If the file cannot be written.
    """
    if Path(path).suffix != ".prom":
        raise UsageError(
            "node_exporter only reads files whose names end in .prom",
            where=str(path),
            remedy="rename the file",
        )
    with atomic_write(path, "wb") as stream:
        stream.write(content)


class ServiceMetrics:
    """The metrics of ``/metrics``: retrieval figures, and figures of the service itself.

    Args:
        prefix: The prefix of names.
        store: The retrieval figures.
        unfinished: A function that returns the number of unfinished requests.
        ready: A function that returns true if the service can answer requests.
    """

    def __init__(
        self,
        prefix: str,
        store: SnapshotStore,
        unfinished: Callable[[], int],
        ready: Callable[[], bool],
    ) -> None:
        self._prefix, self._store = prefix, store
        self._registry = registry = CollectorRegistry()
        self._seconds = Histogram(
            f"{prefix}_http_request_duration_seconds",
            "Time to answer a request.",
            ["method", "route", "status"],
            registry=registry,
        )
        work = Gauge(f"{prefix}_service_unfinished_work", "Unfinished requests.", registry=registry)
        work.set_function(unfinished)
        Gauge(f"{prefix}_service_ready", "1 when all is ready.", registry=registry).set_function(
            ready
        )
        ProcessCollector(registry=registry)

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a response."""
        self._seconds.labels(method, route, str(status)).observe(seconds)

    def render(self) -> bytes:
        """Return the metrics in the text format."""
        return generate_latest(self._registry) + render_metrics(self._store.current(), self._prefix)
