"""Metrics for Prometheus: as text for scraping, or in a text file."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trectools_plus.errors import MissingExtraError, UsageError
from trectools_plus.formats.files.atomic import atomic_write
from trectools_plus.service.api.settings import DEFAULT_PREFIX, check_prefix
from trectools_plus.service.api.snapshots import Snapshot, SnapshotStore, as_label, split_measure

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper ends of the buckets of latency histograms, in seconds."""

_LABELS = ("dataset", "mode")
_STRATUM = "stratum_"
"""Begins the names of the figures of one type of queries, which have the label ``query_type``.

Names without it are over all queries, so that a selector without ``query_type`` finds only them.
"""


def render_metrics(snapshots: Iterable[Snapshot], prefix: str = DEFAULT_PREFIX) -> bytes:
    """Return figures in the text format of Prometheus.

    Args:
        snapshots: One for each dataset and mode.
        prefix: The prefix of names.

    Raises:
        UsageError: If the prefix is invalid.
        MissingExtraError: If the extra ``service`` is not installed.
    """
    client = _client()
    content: bytes = client.generate_latest(make_registry(lambda: snapshots, prefix))
    return content


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


def make_registry(snapshots: Any, prefix: str) -> CollectorRegistry:
    """Return a registry that reads the current figures whenever it is collected.

    Args:
        snapshots: A function without arguments that returns the snapshots.
        prefix: The prefix of names.

    Raises:
        UsageError: If the prefix is invalid.
        MissingExtraError: If the extra ``service`` is not installed.
    """
    check_prefix(prefix)
    registry: CollectorRegistry = _client().CollectorRegistry(auto_describe=False)
    registry.register(RetrievalCollector(snapshots, prefix))
    return registry


class RetrievalCollector:
    """Convert snapshots to families of metrics.

    Args:
        snapshots: A function without arguments that returns the snapshots.
        prefix: The prefix of names.
    """

    def __init__(self, snapshots: Any, prefix: str) -> None:
        self._snapshots = snapshots
        self._prefix = f"{prefix}_retrieval"

    def collect(self) -> Iterator[Any]:
        """Yield the families of metrics; prometheus_client calls this method."""
        from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily

        snapshots = list(self._snapshots())
        gauges: dict[str, Any] = {}
        for name, text, labels, number in chain.from_iterable(map(_gauges, snapshots)):
            if number is not None:
                full_name = f"{self._prefix}_{name}"
                if name not in gauges:
                    gauges[name] = GaugeMetricFamily(full_name, text, labels=[*labels])
                gauges[name].add_metric([*labels.values()], number)
        yield from gauges.values()
        stamps = GaugeMetricFamily(
            f"{self._prefix}_run_timestamp_seconds",
            "When the figures were computed, in seconds since 1970.",
            labels=_LABELS,
        )
        latencies = HistogramMetricFamily(
            f"{self._prefix}_latency_seconds", "Time per query of the latest run.", labels=_LABELS
        )
        for snapshot in snapshots:
            values = [*_labels(snapshot, None).values()]
            stamps.add_metric(values, snapshot.created)
            if times := sorted(ms / 1000 for ms in snapshot.latency_ms):
                counts = [(str(end), float(bisect_right(times, end))) for end in BUCKETS]
                latencies.add_metric(values, [*counts, ("+Inf", float(len(times)))], sum(times))
        yield from (stamps, latencies)


def _gauges(snapshot: Snapshot) -> Iterator[tuple[str, str, dict[str, str], float | None]]:
    """Yield the name, description, labels and number of each gauge."""
    counted: dict[str | None, int] = {}
    added = set()
    for figure in snapshot.figures:
        labels = _labels(snapshot, figure.query_type)
        query_type = labels.get("query_type")
        if (query_type, figure.measure) in added:
            continue  # two long query types with the same label
        added.add((query_type, figure.measure))
        counted[query_type] = max(counted.get(query_type, 0), figure.n)
        name, further, text = _family(figure.measure)
        ends = {"": figure.mean, "_low": figure.low, "_high": figure.high}
        for ending, number in ends.items():
            text_of_end = text + _INTERVAL_ENDS[ending]
            yield _of_stratum(name + ending, text_of_end, labels | further, number)
    for query_type, count in counted.items():
        labels = _labels(snapshot, query_type)
        yield _of_stratum("queries", "Queries averaged over.", labels, count)


def _of_stratum(
    name: str, text: str, labels: dict[str, str], number: float | None
) -> tuple[str, str, dict[str, str], float | None]:
    if "query_type" in labels:
        return _STRATUM + name, f"{text} Of one type of queries.", labels, number
    return name, text, labels, number


_INTERVAL_ENDS = {
    "": "",
    "_low": " Lower end of the mean's interval.",
    "_high": " Upper end of the mean's interval.",
}


def _labels(snapshot: Snapshot, query_type: str | None) -> dict[str, str]:
    labels = {"dataset": as_label(snapshot.dataset), "mode": as_label(snapshot.mode)}
    return labels if query_type is None else {**labels, "query_type": as_label(query_type)}


def _family(measure: str) -> tuple[str, dict[str, str], str]:
    """Return the name of the family, its further label with the value, and the help text."""
    parts = split_measure(measure)
    if parts is None:
        further = {"measure": as_label(measure)}
        return "measure", further, "Mean of a measure, by its canonical name."
    base, cutoff = parts
    if cutoff is None:
        return base, {}, f"Mean {base} over the queries, without a cutoff."
    return f"{base}_at_k", {"k": cutoff}, f"Mean {base} over the queries, in the first k results."


def _client() -> Any:
    try:
        import prometheus_client
    except ImportError as error:
        raise MissingExtraError("metrics for Prometheus", "service") from error
    return prometheus_client


class ServiceMetrics:
    """The metrics of ``/metrics``: retrieval figures, and figures of the service itself.

    Args:
        prefix: The prefix of names.
        store: The retrieval figures.
        unfinished: A function that returns the number of unfinished requests.
        ready: A function that returns true if the service can answer requests.
    """

    def __init__(self, prefix: str, store: SnapshotStore, unfinished: Any, ready: Any) -> None:
        client = _client()
        self._client = client
        self.registry = make_registry(store.current, prefix)
        self._seconds = client.Histogram(
            f"{prefix}_http_request_duration_seconds",
            "Time to answer a request.",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self._gauge(f"{prefix}_service_unfinished_work", "Unfinished requests.", unfinished)
        self._gauge(f"{prefix}_service_ready", "1 when all is ready.", lambda: float(ready()))
        self._reports = client.Gauge(
            f"{prefix}_service_report_readable",
            "1 while a report could be read when it was last looked at.",
            ["report"],
            registry=self.registry,
        )
        self._store = store
        client.ProcessCollector(registry=self.registry)

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a response."""
        self._seconds.labels(method, route, str(status)).observe(seconds)

    def render(self) -> bytes:
        """Return the metrics in the text format."""
        self._store.current()  # reads changed reports, which readable() then describes
        for name, readable in self._store.readable().items():
            self._reports.labels(as_label(name)).set(readable)
        content: bytes = self._client.generate_latest(self.registry)
        return content

    def _gauge(self, name: str, text: str, function: Any) -> None:
        self._client.Gauge(name, text, registry=self.registry).set_function(function)
