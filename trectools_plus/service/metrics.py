"""Metrics for Prometheus, as text or a file, and the latest figures of datasets and modes."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from trectools_plus.benchmark.report import MeasureResult, StratumResult
from trectools_plus.benchmark.report_folder import ReportFolder
from trectools_plus.benchmark.run.output_folder import REPORT_FILE
from trectools_plus.errors import MissingExtraError, TrectoolsPlusError, UsageError
from trectools_plus.formats.files.atomic import atomic_write
from trectools_plus.formats.files.opening import is_catalogue_name
from trectools_plus.measures.parser import PLAIN_NAMES
from trectools_plus.service.models import DEFAULT_PREFIX, check_prefix
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

_LOG = logging.getLogger("trectools_plus.service")
_ACCESS_LOG = logging.getLogger("trectools_plus.service.access")
disable_created_metrics()  # type: ignore[no-untyped-call]
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper ends of the buckets of latency histograms, in seconds."""
_LABELS = ("dataset", "mode")
_MEANS = "Mean over queries, or an end of its interval (_low, _high)."

Groups = Mapping[str | None, Mapping[str, MeasureResult | StratumResult]]
"""Figures by query type (``None`` for all queries) and canonical name of the measure."""


def group_field(fields: Iterable[str]) -> str | None:
    """Return the field whose values are the query types of figures.

    Args:
        fields: The fields of queries, or the strata of a report.

    Returns:
        ``query_type``, otherwise ``category``, otherwise ``None``.
    """
    available = set(fields)
    return next((name for name in ("query_type", "category") if name in available), None)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The figures of one mode on one dataset.

    Attributes:
        dataset: The name of the dataset, without folders.
        mode: The mode.
        created: The time of the evaluation, in seconds since 1970.
        groups: The figures.
        latency_ms: Milliseconds for each query; empty if unknown.
    """

    dataset: str
    mode: str
    created: float
    groups: Groups
    latency_ms: tuple[float, ...] = ()


def read_snapshots(path: str | Path) -> list[Snapshot]:
    """Return the figures of a report, a snapshot for each mode.

    Args:
        path: ``BenchmarkReport.json``, or its folder.

    Raises:
        InputError: If it cannot be read.
    """
    folder = ReportFolder(path)
    return [_read_mode(folder, mode) for mode in folder.report.modes]


def _read_mode(folder: ReportFolder, mode: str) -> Snapshot:
    report, latency = folder.report, folder.latency
    groups: dict[str | None, Mapping[str, MeasureResult | StratumResult]] = {
        None: report.modes[mode].measures
    }
    strata = report.strata.get(group_field(report.strata) or "", {})
    groups |= {value: modes.get(mode, {}) for value, modes in strata.items()}
    return Snapshot(
        dataset=dataset_name(report.manifest.dataset.id),
        mode=mode,
        created=datetime.fromisoformat(report.manifest.created_at).timestamp(),
        groups={
            value: {report.canonical_names[name]: figures for name, figures in group.items()}
            for value, group in groups.items()
        },
        latency_ms=tuple(latency.filter(run=mode)["latency_ms"]) if latency is not None else (),
    )


class SnapshotStore:
    """The retrieval figures of ``/metrics``: from reports, and of the service's own test set.

    Args:
        reports: Reports, which are read again when their files change. While one cannot be read,
            its last figures are used.
    """

    def __init__(self, reports: Iterable[str] = ()) -> None:
        self._own: dict[str, Snapshot] = {}
        self._reports: dict[Path, tuple[object, list[Snapshot]]] = {
            Path(path): (None, []) for path in reports
        }

    def set_own(self, snapshot: Snapshot) -> None:
        """Store the figures of the service's own test set, in place of those of the same mode."""
        self._own[snapshot.mode] = snapshot

    def current(self) -> list[Snapshot]:
        """Return the latest snapshot for each dataset and mode."""
        snapshots = [*self._own.values()]
        for path in self._reports:
            snapshots += self._read(path)
        snapshots.sort(key=lambda snapshot: snapshot.created)
        return [*{(snapshot.dataset, snapshot.mode): snapshot for snapshot in snapshots}.values()]

    def _read(self, path: Path) -> list[Snapshot]:
        version, snapshots = self._reports[path]
        try:
            status = (path / REPORT_FILE if path.is_dir() else path).stat()
            now = status.st_mtime_ns, status.st_size, status.st_ino
            if now != version:
                snapshots = read_snapshots(path)
                self._reports[path] = now, snapshots
        except (OSError, TrectoolsPlusError) as error:
            _LOG.warning("a report cannot be read, its last figures are used: %s", error)
        return snapshots


_PLAIN = re.compile(r"(?P<label>[A-Za-z]+)(?:@(?P<cutoff>\d+))?")


def split_measure(name: str) -> tuple[str, str | None] | None:
    """Split a measure into plain name and cutoff, for example ``R@10`` into ``("recall", "10")``.

    Args:
        name: A canonical name.

    Returns:
        Plain name and cutoff; the cutoff is ``None`` for a measure without one. ``None`` if the
        measure has other parameters or no plain name.
    """
    match = _PLAIN.fullmatch(name)
    label, cutoff = match.groups() if match else ("", "")
    return (PLAIN_NAMES[label], cutoff) if label in PLAIN_NAMES else None


def answer_key(name: str) -> str:
    """Return the key of a measure in responses, for example ``recall_at_10``.

    The key of a measure without a plain name is its canonical name.
    """
    parts = split_measure(name)
    return name if parts is None else "_at_".join(filter(None, parts))


def dataset_name(dataset: str) -> str:
    """Return the public name of a dataset, which contains no folders.

    Args:
        dataset: ``hpo``, ``irds:…``, or a file or folder as given by the user.

    Returns:
        ``irds:…`` unchanged; otherwise the last part of the path, or ``dataset`` if that is empty
        or ``..``.
    """
    if is_catalogue_name(dataset):
        return dataset
    name = Path(dataset).name
    return "dataset" if name in ("", "..") else name


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
        _ACCESS_LOG.info("%s %s %d %.0f ms", method, route, status, 1000 * seconds)
        self._seconds.labels(method, route, str(status)).observe(seconds)

    def render(self) -> bytes:
        """Return the metrics in the text format."""
        return generate_latest(self._registry) + render_metrics(self._store.current(), self._prefix)
