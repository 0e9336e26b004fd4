"""Metrics for Prometheus: as text for scraping, or in a text file."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

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

_LOG = logging.getLogger("trectools_plus.service.access")
disable_created_metrics()  # type: ignore[no-untyped-call]
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper ends of the buckets of latency histograms, in seconds."""
_LABELS = ("dataset", "mode")
_MEANS = "Mean over queries, or an end of its interval (_low, _high)."


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
    start, registry = f"{prefix}_retrieval_", CollectorRegistry()
    stamps = Gauge(f"{start}run_timestamp_seconds", "Time of the run.", _LABELS, registry=registry)
    latencies = Histogram(
        f"{start}latency_seconds", "Time per query.", _LABELS, buckets=BUCKETS, registry=registry
    )
    gauges: dict[str, Gauge] = {}
    for snapshot in snapshots:
        for name, labels, value in _values(snapshot):
            if name not in gauges:
                gauges[name] = Gauge(start + name, _MEANS, [*labels], registry=registry)
            gauges[name].labels(*map(_clean, labels.values())).set(value)
        run = _clean(snapshot.dataset), snapshot.mode
        stamps.labels(*run).set(snapshot.created)
        for milliseconds in snapshot.latency_ms:
            latencies.labels(*run).observe(milliseconds / 1000)
    return generate_latest(registry)


def _values(snapshot: Snapshot) -> Iterator[tuple[str, dict[str, str], float]]:
    """Yield name, labels and value of each gauge of a figure."""
    for query_type, figures in snapshot.groups.items():
        start, labels = "", {"dataset": snapshot.dataset, "mode": snapshot.mode}
        if query_type is not None:
            start, labels = "stratum_", {**labels, "query_type": query_type}
        for measure, figure in figures.items():
            name, further = _family(measure)
            values = figure.mean, *ends_of(figure.ci)
            for end, value in zip(("", "_low", "_high"), values, strict=True):
                if value is not None:
                    yield f"{start}{name}{end}", {**labels, **further}, value
        if figures:
            yield f"{start}queries", labels, max(figure.n for figure in figures.values())


def _clean(label: str) -> str:
    """Return a label as valid UTF-8: users choose the names of datasets and query types."""
    return label.encode("utf-8", "replace").decode()


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
    """

    def __init__(self, prefix: str, store: SnapshotStore) -> None:
        self._prefix, self._store = prefix, store
        self._registry = CollectorRegistry()
        self._seconds = Histogram(
            f"{prefix}_http_request_duration_seconds",
            "Time to answer a request.",
            ["method", "route", "status"],
            registry=self._registry,
        )
        ProcessCollector(registry=self._registry)

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count and log a response."""
        _LOG.info("%s %s %d %.0f ms", method, route, status, 1000 * seconds)
        self._seconds.labels(method, route, str(status)).observe(seconds)

    def render(self) -> bytes:
        """Return the metrics in the text format."""
        return generate_latest(self._registry) + render_metrics(self._store.current(), self._prefix)
