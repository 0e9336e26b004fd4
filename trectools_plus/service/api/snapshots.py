"""The latest figures of each dataset and mode, for the metrics, and the names in them."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from trectools_plus.benchmark.report.folder import ReportFolder
from trectools_plus.benchmark.report.model import MeasureResult, StratumResult
from trectools_plus.benchmark.run.output_folder import REPORT_FILE
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats.collection import is_catalogue_name
from trectools_plus.measures.parser import PLAIN_NAMES

_LOG = logging.getLogger("trectools_plus.service")

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
