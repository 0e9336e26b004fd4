"""The latest figures of each dataset and mode, for the metrics, and the names in them."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path

from trectools_plus.benchmark.report.folder import ReportFolder
from trectools_plus.benchmark.run.output_folder import REPORT_FILE
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats.ir_datasets import is_catalogue_name
from trectools_plus.measures.parser import PLAIN_NAMES
from trectools_plus.statistics.comparison import ends_of

MAX_LABEL_LENGTH = 100
"""Maximum number of characters of a label's value."""


GROUP_FIELDS = ("query_type", "category")
"""The fields to group queries by; the first available one is used."""


def group_field(fields: Iterable[str]) -> str | None:
    """Return the field whose values are the query types of figures.

    Args:
        fields: The fields of queries, or the strata of a report.

    Returns:
        ``query_type``, otherwise ``category``, otherwise ``None``.
    """
    available = set(fields)
    return next((name for name in GROUP_FIELDS if name in available), None)


def as_label(text: str) -> str:
    """Return a text as the value of a label: shortened and valid UTF-8.

    Clients choose the names of datasets and query types, so labels can contain anything.
    """
    return text.encode("utf-8", "replace").decode("utf-8")[:MAX_LABEL_LENGTH]


@dataclass(frozen=True, slots=True)
class MeasuredMean:
    """One mean.

    Attributes:
        query_type: The type of the queries; ``None`` for all queries.
        measure: The canonical name of the measure.
        mean: The mean; ``None`` if undefined.
        low: Lower end of its interval; ``None`` if there is no interval.
        high: Upper end of its interval.
        n: Number of queries in the mean.
    """

    query_type: str | None
    measure: str
    mean: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The figures of one mode on one dataset.

    Attributes:
        dataset: The name of the dataset, without folders.
        mode: The mode.
        created: The time of the evaluation, in seconds since 1970.
        figures: The means.
        latency_ms: Milliseconds for each query; empty if unknown.
    """

    dataset: str
    mode: str
    created: float
    figures: tuple[MeasuredMean, ...]
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
    report = folder.report
    canonical = report.canonical_names
    figures = [
        MeasuredMean(None, canonical[name], one.mean, *ends_of(one.ci), one.n)
        for name, one in report.modes[mode].measures.items()
    ]
    strata = report.strata.get(group_field(report.strata) or "", {})
    figures += [
        MeasuredMean(value, canonical[name], one.mean, *ends_of(one.ci), one.n)
        for value, modes in strata.items()
        for name, one in modes.get(mode, {}).items()
    ]
    latency = folder.latency
    times = () if latency is None else latency.filter(run=mode)["latency_ms"].to_list()
    created = datetime.fromisoformat(report.manifest.created_at).timestamp()
    name = dataset_name(report.manifest.dataset.id)
    return Snapshot(name, mode, created, tuple(figures), tuple(times))


class SnapshotStore:
    """The retrieval figures of ``/metrics``: from reports, and from evaluations by this service.

    For each dataset and mode, the latest figures of reports and of the service's own test set are
    used. Figures of uploaded test sets never replace them.

    Args:
        reports: Reports, which are read again when their files change.
        most: Maximum number of evaluations of uploads to store, because clients choose the names
            of datasets.
    """

    def __init__(self, reports: Iterable[str] = (), most: int = 50) -> None:
        self._most = most
        self._uploaded: dict[tuple[str, str], Snapshot] = {}
        self._own: dict[str, Snapshot] = {}
        paths = list(dict.fromkeys(reports))
        files = map(_ReportFile, paths)
        self._reports = dict(zip(report_names(paths), files, strict=True))
        self._lock = threading.Lock()

    def add(self, snapshot: Snapshot) -> None:
        """Store the figures of an uploaded set, in place of those of the same name and mode."""
        key = as_label(snapshot.dataset), snapshot.mode
        with self._lock:
            self._uploaded.pop(key, None)
            self._uploaded[key] = snapshot
            while len(self._uploaded) > self._most:
                del self._uploaded[next(iter(self._uploaded))]

    def set_own(self, snapshot: Snapshot) -> None:
        """Store the figures of the service's own test set, in place of those of the same mode."""
        with self._lock:
            self._own[snapshot.mode] = snapshot

    def current(self) -> list[Snapshot]:
        """Return one snapshot for each dataset and mode."""
        with self._lock:
            found = dict(self._uploaded)
            trusted = [one for file in self._reports.values() for one in file.read()]
            trusted += self._own.values()
        for snapshot in sorted(trusted, key=lambda one: one.created):
            found[as_label(snapshot.dataset), snapshot.mode] = snapshot
        return list(found.values())

    def readable(self) -> dict[str, bool]:
        """Return, for each report by name, true if the last attempt to read it succeeded."""
        return {name: file.readable for name, file in self._reports.items()}


class _ReportFile:
    """A report that can change; while it cannot be read, its last figures are used."""

    def __init__(self, path: str) -> None:
        self.readable = False
        self._path = path
        self._version: tuple[int, ...] = ()
        self._snapshots: list[Snapshot] = []

    def read(self) -> list[Snapshot]:
        path = Path(self._path)
        try:
            status = (path / REPORT_FILE if path.is_dir() else path).stat()
            version = status.st_mtime_ns, status.st_size, status.st_ino
            if version != self._version or not self.readable:
                self._snapshots, self._version = read_snapshots(path), version
            self.readable = True
        except (OSError, TrectoolsPlusError):
            self.readable = False
        return self._snapshots


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
    if parts is None:
        return name
    base, cutoff = parts
    return base if cutoff is None else f"{base}_at_{cutoff}"


def dataset_name(given: str) -> str:
    """Return the public name of a dataset, which contains no folders.

    Args:
        given: ``hpo``, ``irds:…``, or a file or folder as given by the user.

    Returns:
        ``irds:…`` unchanged; otherwise the last part of the path, or ``dataset`` if that is empty
        or ``..``.
    """
    if is_catalogue_name(given):
        return given
    name = Path(given).name
    return "dataset" if name in ("", "..") else name


def report_names(paths: Sequence[str]) -> list[str]:
    """Return a unique name for each report: the name of its folder.

    If several folders have the same name, ``#2`` is appended to the second, and so on.

    Args:
        paths: Report files (``BenchmarkReport.json``) or their folders.
    """
    names: list[str] = []
    for path in paths:
        resolved = Path(path).resolve()
        name = (resolved.parent if resolved.suffix == ".json" else resolved).name or "report"
        candidates = (name if n == 1 else f"{name}#{n}" for n in count(1))
        names.append(next(candidate for candidate in candidates if candidate not in names))
    return names
