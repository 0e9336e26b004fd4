"""A list of the reports in a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.report.folder import ReportFolder
from trectools_plus.benchmark.run.output_folder import REPORT_FILE
from trectools_plus.display import Displayed
from trectools_plus.errors import InputError
from trectools_plus.text import plural


@dataclass(frozen=True, slots=True)
class ListedReport:
    """One report.

    Attributes:
        folder: Its folder.
        experiment_id: Its experiment.
        created_at: UTC, ISO 8601.
        dataset: Name of the dataset.
        queries: Number of queries in the means.
        modes: The compared modes.
        best: The best mode on the primary measure with its mean, marked ``*`` if it is
            significantly best, else ``n.s.``; with a baseline, the numbers of modes that are
            significantly better and worse than it; only the mean of a single mode; ``not ranked``
            if the means are over different queries.
        cached_from: The experiment whose results are reused; ``None`` if all were computed.
    """

    folder: str
    experiment_id: str
    created_at: str
    dataset: str
    queries: int
    modes: list[str]
    best: str
    cached_from: str | None


@dataclass(frozen=True, slots=True, repr=False)
class Listing(Displayed):
    """The reports of a folder.

    Attributes:
        reports: The newest first.
        problems: A line for each report that cannot be read.
    """

    _entries: ClassVar = "reports"
    _columns: ClassVar = ("experiment_id", "dataset", "queries", "modes", "best")

    reports: list[ListedReport]
    problems: list[str]


def list_reports(folder: str | Path) -> Listing:
    """List the reports in a folder and one level below it.

    Args:
        folder: The folder.

    Returns:
        The reports, newest first, and the files that cannot be read.

    Raises:
        InputError: If there is no such folder.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InputError("no such folder", where=str(folder), remedy="use a folder with reports")
    reports, problems = [], []
    for path in sorted([*root.glob(REPORT_FILE), *root.glob(f"*/{REPORT_FILE}")]):
        try:
            reports.append(_describe(ReportFolder(path).report, path.parent))
        except InputError as error:
            problems.append(str(error))
    return Listing(
        sorted(reports, key=lambda one: (one.created_at, one.folder), reverse=True), problems
    )


def _describe(report: BenchmarkReport, folder: Path) -> ListedReport:
    manifest, measure = report.manifest, report.primary_measure

    def show(mode: str) -> str:
        result = report.modes[mode]
        mean = result.measures[measure].mean
        return f"{result.label}, {measure} {'undefined' if mean is None else f'{mean:.4f}'}"

    mode, verdict = report.best_mode[measure], report.verdict
    if mode is not None:
        mark = "*" if report.best_mode_significant[measure] else "n.s."
        best = f"{show(mode)} {mark}"
    elif verdict is not None and verdict.best is not None and verdict.second is not None:
        counts = f"{verdict.better or 0} better, {verdict.worse or 0} worse"
        others = f"of {plural(verdict.compared or 0, report.noun)}"
        best = f"{counts} {others} than {show(verdict.second)}"
    elif len(report.modes) == 1:
        best = show(next(iter(report.modes)))
    elif measure in report.unranked:
        best = f"not ranked, {measure}"
    else:
        best = f"tie, {measure}"
    return ListedReport(
        folder=str(folder),
        experiment_id=manifest.experiment_id,
        created_at=manifest.created_at,
        dataset=manifest.dataset.id,
        queries=manifest.dataset.queries,
        modes=list(report.modes),
        best=best,
        cached_from=manifest.cached_from,
    )
