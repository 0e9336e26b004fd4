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
        best: The best mode of the verdict on the primary measure with its mean, marked ``*`` if it
            differs significantly from the second, else ``n.s.``; of a single mode, its mean;
            ``none`` on a tie, and if the modes are not ranked.
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

    verdict, best = report.verdict, f"none, {measure}"
    if len(report.modes) == 1:
        best = show(next(iter(report.modes)))
    elif verdict is not None and verdict.best is not None:
        best = f"{show(verdict.best)} {'*' if verdict.significant else 'n.s.'}"
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
