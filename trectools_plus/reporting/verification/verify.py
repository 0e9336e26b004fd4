"""Verification of a report: all its files are made again and compared with the files beside it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import polars as pl
from polars import selectors

from trectools_plus.benchmark.rebuild import find_other_version, rebuild_result
from trectools_plus.benchmark.report.folder import ReportFolder
from trectools_plus.benchmark.run.dataset import TERM_FILES
from trectools_plus.benchmark.run.output_folder import (
    CHECKSUMS_FILE,
    MODE_REPORTS_FOLDER,
    PER_QUERY_FILE,
    PLOT_ENDINGS,
    PLOTS_FOLDER,
    REPORT_FILE,
    read_checksums,
)
from trectools_plus.display import Displayed, TextTable
from trectools_plus.errors import MissingExtraError
from trectools_plus.extraction.rebuild import rebuild_extraction
from trectools_plus.extraction.report import REPORT_FILE as EXTRACTION_FILE
from trectools_plus.extraction.report import load_extraction_report
from trectools_plus.formats.files.closed import ClosedFolder, hash_original, read_json
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.judging.estimates.estimate import write_judgments
from trectools_plus.judging.estimates.report import REPORT_FILE as JUDGMENT_REPORT_FILE
from trectools_plus.judging.estimates.verification import verify_plan
from trectools_plus.judging.plan import PlanFolder, find_plan
from trectools_plus.models import ReportModel
from trectools_plus.progress import Progress, no_progress
from trectools_plus.provenance import describe_machine, package_versions
from trectools_plus.reporting.files import render_files
from trectools_plus.reporting.plots.style import can_draw
from trectools_plus.reporting.results.extraction import extraction_claims, write_extraction
from trectools_plus.reporting.results.judgments import HTML_FILE as JUDGMENT_PAGE
from trectools_plus.reporting.results.judgments import MARKDOWN_FILE as JUDGMENT_MARKDOWN
from trectools_plus.reporting.results.judgments import write_judgment_report
from trectools_plus.reporting.verification.documents import (
    NEAR,
    count_values,
    find_changes,
    find_text_changes,
)
from trectools_plus.reporting.wording import CLAIMS_TITLE, list_claims
from trectools_plus.text import plural

JUDGMENT_FILES = (
    *(JUDGMENT_REPORT_FILE, JUDGMENT_MARKDOWN, JUDGMENT_PAGE),
    *("people.qrels", "model.qrels"),
)
"""The files that ``judge estimate`` writes."""
_MOST_FINDINGS = 20
"""Maximum number of findings on one file, apart from the values of a JSON document."""
_KEYS = ("run", "query_id", "measure", "doc_id")
"""Columns of tables that name a row."""
_OF_THE_REPORT = (MODE_REPORTS_FOLDER, PLOTS_FOLDER)
"""Folders in which only a benchmark writes."""
_NOT_WRITTEN = "a benchmark of these files does not write this file"
_Report = TypeVar("_Report", bound=ReportModel)


@dataclass(frozen=True, slots=True, repr=False)
class Verification(Displayed):
    """The result of a verification.

    Attributes:
        figures: Number of values that were made again and compared.
        files: Number of files that were hashed.
        problems: A line for each value that differs and each file that changed or cannot be
            verified, with its location.
        unproven: Parts of the report that cannot be made again, in words.
        warnings: What readers of a plan of judgments must know.
    """

    figures: int
    files: int
    problems: list[str]
    unproven: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def _content(self) -> TextTable:
        caption = (
            f"{plural(self.figures, 'figure')} and {plural(self.files, 'file')} verified: "
            f"{plural(len(self.problems), 'problem')}"
        )
        return TextTable.of(["Problem"], [[problem] for problem in self.problems], caption=caption)

    def as_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {key: value for key, value in asdict(self).items() if value or key != "warnings"}


def verify_report(path: str | Path, progress: Progress | None = None) -> Verification:
    """Make a report again from its runs, judgments, topics and configuration, and compare it.

    The benchmark is run again on the files of the folder, and every file that it writes is compared
    with the one in the folder: documents and tables value by value (figures may differ by 1e-9),
    Markdown, page, runs and plots byte by byte. If another version of Matplotlib or another
    platform drew the plots, or Matplotlib is not installed, they are unproven.

    A report of another version of this package is not verified, which is a problem.

    The writer of the folder may be a stranger: code and addresses that it names are not used, and
    only plain files inside it are read. Original files are read again if they are available and
    unchanged. Without them, the findings on them are unproven, as are measured times, the date, the
    machine and the command. A measure that is a class of the writer is not computed.

    A plan of judgments is verified too: its files, the order in which people judged, and the
    estimate that was made from them.

    Args:
        path: The report's JSON, its folder, the report of a mode, which is verified with the whole
            benchmark, or the folder of a plan of judgments.
        progress: Called as ``progress(description, done, total)``.

    Returns:
        The number of checked figures and files, the problems, and the unproven parts.

    Raises:
        InputError: If the report, a run or the judgments are missing or cannot be read, or a
            measure needs code or a file of the writer that cannot be used.
    """
    if (plan := find_plan(path)) is not None:
        return _verify_judgments(plan)
    if (document := _find_beside(Path(path), EXTRACTION_FILE)) is not None:
        return _verify_extraction(document)
    return _verify_benchmark(path, progress or no_progress)


def _find_beside(path: Path, name: str) -> Path | None:
    """Return a document: the file itself, or the one in a folder without a benchmark."""
    if not path.is_dir():
        return path if path.name == name else None
    exists = (path / name).exists() and not (path / REPORT_FILE).exists()
    return path / name if exists else None


def _refuse_other_version(name: str, packages: Mapping[str, str]) -> Verification | None:
    reason = find_other_version(packages)
    return None if reason is None else Verification(0, 0, [f"{name}: {reason}"])


class _FolderComparison:
    """The comparison of the files in a folder with the same files made again.

    Args:
        folder: The folder.
        is_unknown: Returns whether the value at a path of a document cannot be made again.

    Attributes:
        problems: A line for each difference.
        unproven: Parts that cannot be made again.
        values: Number of compared values.
        hashed: Number of files that were hashed.
    """

    def __init__(self, folder: Path, is_unknown: Callable[[str], bool] = lambda _: False) -> None:
        self._folder, self._files, self._is_unknown = folder, ClosedFolder(folder), is_unknown
        self._listed: dict[str, str] = {}
        self.problems: list[str] = []
        self.unproven: list[str] = []
        self.values = self.hashed = 0

    def result(self) -> Verification:
        problems = list(dict.fromkeys(self.problems))
        return Verification(self.values, self.hashed, problems, self.unproven)

    def check_hashes(
        self, further: Mapping[str, str | None], originals: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Compare the files with the hashes in the list, and in the report.

        Original files are compared if they are available; the figures depend on copies of them.
        """
        self._listed = {name: digest for digest, name in read_checksums(self._folder)}
        if not self._listed:
            is_missing = self._files.find(CHECKSUMS_FILE) is None
            self.problems.append(
                f"{CHECKSUMS_FILE}: {'missing' if is_missing else 'lists no file'}: copy it from "
                "the original folder, or run the command again"
            )
        hashes = {**further, **self._listed}
        files = {name: self._files.find(name) for name in hashes}
        actual = {name: sha256_file(file) for name, file in files.items() if file is not None}
        available = {path: digest for path in originals if (digest := hash_original(path))}
        self.hashed += len(hashes) + len(available)
        self.problems += [f"{name}: the file is missing" for name in hashes if name not in actual]
        self.problems += [
            f"{name}: the file changed (its hash differs)"
            for known, now in ((hashes, actual), (originals, available))
            for name, digest in now.items()
            if digest != known[name]
        ]

    def choose_report(self, path: Path, again: _Report) -> _Report:
        """Return the report in a document if it is right, otherwise the one made again.

        Figures that are nearly equal are those of the document, because it shows them in full.
        """
        stored, made = read_json(path), again.model_dump(mode="json")
        changes = [*find_changes(stored, made, self._is_unknown)]
        self.problems += [f"{path.name}: {change}" for change in changes]
        self.values += count_values(made)
        return again if changes else type(again).model_validate(stored)

    def choose_values(self, again: pl.DataFrame) -> pl.DataFrame:
        """Return the values per query in the folder if they are right, else those made again."""
        self._files.file(PER_QUERY_FILE)
        stored = self._files.read_table(PER_QUERY_FILE)
        assert stored is not None
        self.values += again.height * again.width
        if stored.schema != again.schema or not stored.drop("value").equals(again.drop("value")):
            return again
        ours, theirs = (one["value"].fill_null(np.nan).to_numpy() for one in (stored, again))
        is_right = np.allclose(ours, theirs, rtol=NEAR, atol=NEAR, equal_nan=True)
        return stored if is_right else again

    def can_draw_again(self, packages: Mapping[str, str], platform: str, scratch: Path) -> bool:
        """Return whether plots are drawn again; otherwise they are copied, and unproven."""
        plots = (self._folder / PLOTS_FOLDER).glob("*.*")
        drawn = [f"{PLOTS_FOLDER}/{one.name}" for one in plots if one.suffix in PLOT_ENDINGS]
        here = package_versions(["matplotlib"]).get("matplotlib"), describe_machine()["platform"]
        if not drawn or (can_draw() and (packages.get("matplotlib"), platform) == here):
            return bool(drawn)
        reason = "another version of Matplotlib or another platform drew them"
        if not can_draw():
            reason = str(MissingExtraError("drawing them again", "plots"))
        self.unproven.append(f"plots ({reason})")
        (scratch / PLOTS_FOLDER).mkdir(exist_ok=True)
        for name in drawn:
            shutil.copyfile(self._files.file(name), scratch / name)
        return False

    def compare_all(
        self, scratch: Path, known: Iterable[str] = (), progress: Progress = no_progress
    ) -> None:
        """Compare all files that were made again, and find files without a counterpart."""
        made = _list_files(scratch)
        names = sorted({*made, *self._listed} - {CHECKSUMS_FILE})
        for done, name in enumerate(names):
            progress("comparing files", done, len(names))
            self.compare_file(name, scratch)
        progress("comparing files", len(names), len(names))
        self.problems += [
            f"{name}: not listed in {CHECKSUMS_FILE}"
            for name in names
            if self._listed and name not in self._listed and self._files.find(name) is not None
        ]
        self._find_foreign({*names, *known, CHECKSUMS_FILE})

    def compare_file(self, name: str, scratch: Path) -> None:
        """Compare a file with the one made again."""
        path, again = self._files.find(name), scratch / name
        changes: Iterable[str] = ()
        if path is None or not again.is_file():
            is_expected = [_NOT_WRITTEN] if path is not None else ["the file is missing"]
            changes = is_expected if path is not None or again.is_file() else []
        elif path.read_bytes() != again.read_bytes():
            changes = islice(self._find_changes(name, path, again), _MOST_FINDINGS)
        self.problems += [f"{name}: {change}" for change in changes]

    def _find_changes(self, name: str, path: Path, again: Path) -> Iterator[str]:
        changes: Iterable[str] = ()
        if name.endswith(".json"):
            changes = [*find_changes(read_json(path), read_json(again), self._is_unknown)]
        elif name.startswith(f"{PLOTS_FOLDER}/"):
            changes = ["the plot differs from the plot of these figures"]
        elif name.endswith(".parquet"):
            stored, table = self._files.read_table(name), pl.read_parquet(again)
            assert stored is not None
            schemas = [str(dict(one.schema)) for one in (stored, table)]
            changes = find_changes(_rows_by_key(stored), _rows_by_key(table))
            if schemas[0] != schemas[1]:
                changes = [f"the columns are {schemas[0]} instead of {schemas[1]}"]
        if not changes:
            texts = [file.read_bytes().decode("utf-8", errors="replace") for file in (path, again)]
            changes = find_text_changes(*texts) if texts[0] != texts[1] else ["it is not UTF-8"]
        yield from changes

    def _find_foreign(self, known: Collection[str]) -> None:
        """List files that are not part of the report; in folders of a benchmark, as problems."""
        names = sorted(_list_files(self._folder))
        foreign = [name for name in names if name not in known and not name.startswith(".")]
        inside = [name for name in foreign if name.partition("/")[0] in _OF_THE_REPORT]
        if self._listed:
            self.problems += [f"{name}: {_NOT_WRITTEN}" for name in inside]
            foreign = [name for name in foreign if name not in inside]
        if foreign:
            self.unproven.append(f"files that are not part of the report: {', '.join(foreign)}")


def _list_files(folder: Path) -> list[str]:
    return [file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()]


def _rows_by_key(table: pl.DataFrame) -> dict[str, Any]:
    """Return the value or values of each row by the names in it."""
    table = table.with_columns(selectors.float().fill_nan(None))
    named = [name for name in table.columns if name in _KEYS]
    rows: dict[str, Any] = {}
    for row in table.iter_rows(named=True):
        key = " ".join(str(row.pop(name)) for name in named)
        while key in rows:
            key = f"{key} (repeated)"
        rows[key] = next(iter(row.values())) if len(row) == 1 else row
    return rows


def _count_claims(claims: Collection[str]) -> str:
    return f"{plural(len(claims), 'statement')} in the section '{CLAIMS_TITLE}'"


def _verify_benchmark(path: str | Path, progress: Progress) -> Verification:
    """Verify a benchmark: run it again on the files of its folder, and compare all files."""
    source = ReportFolder(path)
    if source.path.parent != source.folder:  # the report of a mode
        source = ReportFolder(source.folder)
    report, name = source.report, source.path.name
    if (refused := _refuse_other_version(name, report.manifest.packages)) is not None:
        return refused
    comparison = _FolderComparison(source.folder)
    progress("hashing files", 0, 1)
    runs = {run.path: run.sha256 for run in report.runs if run.path is not None}
    comparison.check_hashes(runs, source.originals)
    terms = [report.manifest.config.get(name) for name in TERM_FILES]
    if any(one.startswith(f"{path}: ") for path in terms if path for one in comparison.problems):
        return comparison.result()  # without them, nothing is computed again
    progress("hashing files", 1, 1)
    with tempfile.TemporaryDirectory() as temporary:
        rebuilt = rebuild_result(source, Path(temporary, "again"), progress)
        result, scratch = rebuilt.result, rebuilt.result.folder.partial
        try:
            comparison.problems += rebuilt.problems
            comparison.unproven += [_count_claims(list_claims(report)), *rebuilt.unproven]
            result = replace(
                result,
                report=comparison.choose_report(source.path, result.report),
                per_query=comparison.choose_values(result.per_query),
            )
            progress("rendering", 0, 1)
            manifest = report.manifest
            draws = comparison.can_draw_again(manifest.packages, manifest.platform, scratch)
            render_files(result, plots=draws)
            progress("rendering", 1, 1)
            comparison.compare_all(scratch, [name], progress)
        finally:
            result.folder.discard()
    if name != REPORT_FILE:
        comparison.problems.append(
            f"{name}: not listed in {CHECKSUMS_FILE}: a copy is not verified"
        )
    return comparison.result()


def _verify_judgments(folder: PlanFolder) -> Verification:
    """Verify a plan, and compare the pages and judgments beside it with those made again."""
    stored = folder.files.find(JUDGMENT_REPORT_FILE)
    document = {"version": folder.plan.version} if stored is None else read_json(stored)
    written = str(document.get("version")) if isinstance(document, dict) else ""
    refused = _refuse_other_version(JUDGMENT_REPORT_FILE, {"trectools-plus": written})
    if refused is not None:
        return refused
    comparison = _FolderComparison(folder.files.path)
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(temporary)
        check = verify_plan(folder, scratch)
        if check.report is not None:
            write_judgment_report(check.report, scratch)
            write_judgments(folder, check.report.model.model, scratch, check.people)
        for name in JUDGMENT_FILES:
            comparison.compare_file(name, scratch)
    files = len(folder.plan.files) + len(folder.plan.runs)
    problems = [*check.problems, *comparison.problems]
    return Verification(check.figures, files, problems, warnings=check.warnings)


def _verify_extraction(path: Path) -> Verification:
    """Verify an extraction by its gold terms and its predictions."""
    report = load_extraction_report(path)
    if (refused := _refuse_other_version(path.name, report.manifest.packages)) is not None:
        return refused
    made = rebuild_extraction(path, report)
    comparison = _FolderComparison(path.parent)
    comparison.unproven.append(_count_claims(extraction_claims(report)))
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(temporary)
        result = replace(made, report=comparison.choose_report(path, made.report))
        comparison.hashed = len(write_extraction(result, scratch))
        comparison.compare_all(scratch)
    return comparison.result()
