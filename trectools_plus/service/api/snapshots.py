"""The latest figures of each dataset and mode: what metrics are made of."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from trectools_plus.benchmark.report.parts import ends_of
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.service.names import dataset_name, report_names

if TYPE_CHECKING:
    from trectools_plus.benchmark.report import BenchmarkReport
    from trectools_plus.benchmark.report.folder import ReportFolder

ALL_QUERIES = "all"
"""The query type of figures over all queries."""

LONGEST_LABEL = 100
"""Characters of a label's value."""


GROUP_FIELDS = ("query_type", "category")
"""What queries are grouped by: the first of these that there is."""


def group_field(fields: Iterable[str]) -> str | None:
    """The field whose values are the query types of figures.

    Args:
        fields: Those that queries, or the strata of a report, have.

    Returns:
        ``query_type``; where there is none, ``category``; ``None`` where there is neither.
    """
    there = set(fields)
    return next((name for name in GROUP_FIELDS if name in there), None)


def as_label(text: str) -> str:
    """A label's value: names come from clients, may be long, and hold what UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")[:LONGEST_LABEL]


@dataclass(frozen=True, slots=True)
class Figure:
    """One mean.

    Attributes:
        query_type: The queries that it is over.
        measure: The measure's canonical name.
        mean: Its mean; ``None`` where undefined.
        low: Lower end of its interval.
        high: Upper end.
        n: Queries averaged over.
    """

    query_type: str
    measure: str
    mean: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The figures of one mode on one dataset.

    Attributes:
        dataset: What was searched or judged, by a name without folders.
        mode: How.
        created: When, in seconds since 1970.
        figures: The means.
        latency_ms: Milliseconds for each query; empty where nothing was timed.
    """

    dataset: str
    mode: str
    created: float
    figures: tuple[Figure, ...]
    latency_ms: tuple[float, ...] = ()


def read_snapshots(path: str | Path) -> list[Snapshot]:
    """The figures of a report, a snapshot for each mode.

    Args:
        path: ``BenchmarkReport.json``, or its folder.

    Raises:
        InputError: If it cannot be read.
    """
    from trectools_plus.benchmark.report.folder import ReportFolder

    folder = ReportFolder(path)
    return [_of_mode(folder, mode) for mode in folder.report.modes]


def _of_mode(folder: ReportFolder, mode: str) -> Snapshot:
    report = folder.report
    figures = [
        Figure(ALL_QUERIES, name, one.mean, *ends_of(one.ci), one.n)
        for name, one in report.modes[mode].measures.items()
    ]
    figures += _of_types(report, mode)
    latency = folder.latency
    times = () if latency is None else latency.filter(run=mode)["latency_ms"].to_list()
    created = datetime.fromisoformat(report.manifest.created_at).timestamp()
    name = dataset_name(report.manifest.dataset.id)
    return Snapshot(name, mode, created, tuple(figures), tuple(times))


def _of_types(report: BenchmarkReport, mode: str) -> list[Figure]:
    return [
        Figure(value, name, one.mean, *ends_of(one.ci), one.n)
        for value, modes in report.strata.get(group_field(report.strata) or "", {}).items()
        if value != ALL_QUERIES  # a name that is taken
        for name, one in modes.get(mode, {}).items()
    ]


class SnapshotStore:
    """What ``/metrics`` shows: figures of reports, and of what was evaluated here.

    Where both speak of one dataset and mode, the report does.

    Args:
        reports: Reports, read again when their file changes.
        most: Evaluations that are kept, the latest ones: names of datasets come from clients.
    """

    def __init__(self, reports: Iterable[str] = (), most: int = 50) -> None:
        self._most = most
        self._evaluated: dict[tuple[str, str], Snapshot] = {}
        paths = list(dict.fromkeys(reports))
        files = map(_ReportFile, paths)
        self._reports = dict(zip(report_names(paths), files, strict=True))
        self._lock = threading.Lock()

    def add(self, snapshot: Snapshot) -> None:
        """Keep the figures of an evaluation, instead of earlier ones of this dataset and mode."""
        key = as_label(snapshot.dataset), snapshot.mode
        with self._lock:
            self._evaluated.pop(key, None)
            self._evaluated[key] = snapshot
            while len(self._evaluated) > self._most:
                del self._evaluated[next(iter(self._evaluated))]

    def current(self) -> list[Snapshot]:
        """One snapshot for each dataset and mode."""
        with self._lock:
            found = dict(self._evaluated)
            of_reports = [one for file in self._reports.values() for one in file.read()]
        for snapshot in sorted(of_reports, key=lambda one: one.created):
            found[as_label(snapshot.dataset), snapshot.mode] = snapshot
        return list(found.values())

    def readable(self) -> dict[str, bool]:
        """Whether each report, by its name, could be read when it was last looked at."""
        return {name: file.readable for name, file in self._reports.items()}


class _ReportFile:
    """A report that may change under way; while it cannot be read, the last figures stand."""

    def __init__(self, path: str) -> None:
        self.readable = False
        self._path = path
        self._seen: tuple[int, ...] | None = None
        self._snapshots: list[Snapshot] = []

    def read(self) -> list[Snapshot]:
        try:
            seen = self._look()
            if seen != self._seen or not self.readable:
                self._snapshots = read_snapshots(self._path)
                self._seen = seen
            self.readable = True
        except (OSError, TrectoolsPlusError):
            self.readable = False
        return self._snapshots

    def _look(self) -> tuple[int, ...]:
        """What changes when the file does."""
        from trectools_plus.benchmark.run.output_folder import REPORT_FILE

        given = Path(self._path)
        status = (given / REPORT_FILE if given.is_dir() else given).stat()
        return status.st_mtime_ns, status.st_size, status.st_ino
