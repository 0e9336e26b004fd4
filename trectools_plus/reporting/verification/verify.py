"""Verification of a report: all its files are made again and compared with the files beside it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
from polars import selectors

from trectools_plus.benchmark.rebuild import Rebuilt, find_other_version, rebuild_result
from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.report.folder import ReportFolder
from trectools_plus.benchmark.run.output_folder import (
    CHECKSUMS_FILE,
    COMPONENTS_FOLDER,
    MODE_REPORTS_FOLDER,
    PER_QUERY_FILE,
    PLOT_ENDINGS,
    PLOTS_FOLDER,
    REPORT_FILE,
    SWEEP_FILE,
    OutputFolder,
    read_checksums,
)
from trectools_plus.benchmark.sweep.rebuild import load_sweep_report, rebuild_sweep
from trectools_plus.benchmark.sweep.report import SweepReport
from trectools_plus.display import Displayed, TextTable
from trectools_plus.errors import MissingExtraError
from trectools_plus.extraction.rebuild import rebuild_extraction
from trectools_plus.extraction.report import REPORT_FILE as EXTRACTION_FILE
from trectools_plus.extraction.report import ExtractionReport, load_extraction_report
from trectools_plus.formats.files.closed import ClosedFolder, hash_original, read_json
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.judging.estimates.estimate import write_judgments
from trectools_plus.judging.estimates.report import REPORT_FILE as JUDGMENT_REPORT_FILE
from trectools_plus.judging.estimates.verification import verify_plan
from trectools_plus.judging.plan import PlanFolder, find_plan
from trectools_plus.progress import Progress, no_progress
from trectools_plus.provenance import describe_machine, package_versions
from trectools_plus.reporting.files import render_files
from trectools_plus.reporting.plots.figures import FORMATS
from trectools_plus.reporting.plots.style import can_draw
from trectools_plus.reporting.results.extraction import extraction_claims, write_extraction
from trectools_plus.reporting.results.judgments import HTML_FILE as JUDGMENT_PAGE
from trectools_plus.reporting.results.judgments import MARKDOWN_FILE as JUDGMENT_MARKDOWN
from trectools_plus.reporting.results.judgments import write_judgment_report
from trectools_plus.reporting.results.sweep import (
    PLOT_FILE,
    draw_sweep,
    sweep_claims,
    write_sweep_files,
)
from trectools_plus.reporting.verification.documents import (
    DocumentComparison,
    find_text_changes,
)
from trectools_plus.reporting.wording import CLAIMS_TITLE, list_claims
from trectools_plus.text import plural

JUDGMENT_FILES = (
    *(JUDGMENT_REPORT_FILE, JUDGMENT_MARKDOWN, JUDGMENT_PAGE),
    *("people.qrels", "model.qrels"),
)
"""What ``judge estimate`` writes."""
_MOST_FINDINGS = 20
"""Maximum number of findings on one file, apart from the values of a JSON document."""
_NOT_WRITTEN = "a benchmark of these files does not write this file"
_OTHER_PLOTS = "plots (another version of Matplotlib or another platform drew them)"
_KEYS = ("run", "query_id", "measure", "doc_id")
"""Columns of tables that name a row."""
_OF_THE_REPORT = (MODE_REPORTS_FOLDER, PLOTS_FOLDER, COMPONENTS_FOLDER)
"""Folders in which only a benchmark writes."""


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
        shown = asdict(self)
        if not self.warnings:
            del shown["warnings"]
        return shown


def verify_report(path: str | Path, progress: Progress | None = None) -> Verification:
    """Make a report again from its runs, judgments, topics and configuration, and compare it.

    The benchmark is run again on the files of the folder, and every file that it writes is compared
    with the one in the folder: documents and tables value by value (figures may differ by 1e-9),
    Markdown, page, runs and plots byte by byte. If another version of Matplotlib or another
    platform drew the plots, or Matplotlib is not installed, they are unproven.

    A report of another version of this package is not verified, which is a problem.

    The writer of the folder may be a stranger: code and addresses that it names are not used, and
    only plain files inside it are read. Original files are read again if they are available and
    unchanged. Without them, the findings on them are unproven, as are the values of measures that
    are classes of users, measured times, the date, the machine and the command.

    A plan of judgments is verified too: its files, the order in which people judged, and the
    estimate that was made from them.

    Args:
        path: The report's JSON, its folder, the report of a mode, which is verified with the whole
            benchmark, or the folder of a plan of judgments.
        progress: Called as ``progress(description, done, total)``.

    Returns:
        The number of checked figures and files, the problems, and the unproven parts.

    Raises:
        InputError: If the report, a run or the judgments are missing or cannot be read.
    """
    if (plan := find_plan(path)) is not None:
        return _verify_judgments(plan)
    if (sweep := _find_beside(path, SWEEP_FILE)) is not None:
        return _verify_sweep(sweep)
    if (extraction := _find_beside(path, EXTRACTION_FILE)) is not None:
        return _verify_extraction(extraction)
    source = ReportFolder(path)
    if source.path.parent != source.folder:  # the report of a mode
        source = ReportFolder(source.folder)
    progress = progress or no_progress
    other_version = find_other_version(source.report.manifest.packages)
    if other_version is not None:
        return Verification(0, 0, [f"{source.path.name}: {other_version}"])
    progress("hashing files", 0, 1)
    problems, files = _check_hashes(source)
    progress("hashing files", 1, 1)
    with tempfile.TemporaryDirectory() as temporary:
        rebuilt = rebuild_result(source, Path(temporary, "again"), progress)
        try:
            remade = _compare_benchmark(source, rebuilt, progress)
        finally:
            rebuilt.result.folder.discard()
    return remade.verification(files, problems)


class _Remade:
    """Files of a report, compared with the same files made again.

    Args:
        files: The folder of the report.
        scratch: The folder of the files made again.
        unproven: Parts that cannot be made again.

    Attributes:
        problems: A line for each difference.
        values: Number of compared values.
    """

    def __init__(self, files: ClosedFolder, scratch: Path, unproven: Iterable[str]) -> None:
        self.files, self.scratch, self.unproven = files, scratch, [*unproven]
        self.problems: list[str] = []
        self.values = 0

    def compare_document(
        self,
        where: str,
        path: Path,
        again: Any,
        is_unknown: Callable[[str], bool] = lambda _: False,
    ) -> dict[str, Any]:
        """Compare a document; return the one made again, with figures that are nearly equal."""
        comparison = DocumentComparison(where, is_unknown)
        merged = comparison.compare(read_json(path), again)
        self.values += comparison.values
        self.problems += comparison.findings
        return {**again, **merged} if isinstance(merged, dict) else again

    def compare_table(self, where: str, again: pl.DataFrame) -> bool:
        """Compare a table; return whether all values are right."""
        stored = self.files.read_table(where)
        assert stored is not None
        problems = _compare_tables(stored, again, where)[:_MOST_FINDINGS]
        self.problems += problems
        self.values += again.height * again.width
        return not problems

    def compare(self, name: str, path: Path, is_unknown: Callable[[str], bool]) -> None:
        """Compare a file by its kind: the values of tables and documents, then the text."""
        again = self.scratch / name
        if path.read_bytes() == again.read_bytes():
            return
        before = len(self.problems)
        if name.endswith(".parquet"):
            self.compare_table(name, pl.read_parquet(again))
            return
        if name.endswith(".json") and name != REPORT_FILE:  # which is compared before
            self.compare_document(name, path, read_json(again), is_unknown)
        if len(self.problems) == before:
            self.compare_text(name, path)

    def names(self) -> set[str]:
        """Return the names of the files made again."""
        files = (file for file in self.scratch.rglob("*") if file.is_file())
        return {file.relative_to(self.scratch).as_posix() for file in files}

    def compare_text(self, name: str, path: Path | None = None) -> None:
        """Compare a file byte by byte; by default the one with this name in the folder.

        Tables are compared by their values, so only their presence is checked.
        """
        path, again = path or self.files.find(name), self.scratch / name
        if path is None or not again.is_file():
            if path is not None:
                self.problems.append(f"{name}: the inputs in the folder do not give this file")
            elif again.is_file():
                self.problems.append(f"{name}: the file is missing")
            return
        contents = [file.read_bytes() for file in (path, again)]
        if contents[0] == contents[1] or name.endswith(".parquet"):
            return
        if name.startswith(f"{PLOTS_FOLDER}/"):
            self.problems.append(f"{name}: the plot differs from the plot of these figures")
            return
        texts = [content.decode("utf-8", errors="replace") for content in contents]
        changes = islice(find_text_changes(*texts), _MOST_FINDINGS)
        found = [*changes] or ["some bytes are not UTF-8"]
        self.problems += [f"{name}: {change}" for change in found]

    def find_foreign(self, known: Collection[str], owned: Collection[str] = ()) -> None:
        """Report files that are not part of a report; those in owned folders are problems."""
        foreign = []
        for file in sorted(self.files.path.rglob("*")):
            name = file.relative_to(self.files.path).as_posix()
            if not file.is_file() or name in known or name.startswith("."):
                continue
            if name.partition("/")[0] in owned:
                self.problems.append(f"{name}: {_NOT_WRITTEN}")
            else:
                foreign.append(name)
        if foreign:
            self.unproven.append(f"files that are not part of the report: {', '.join(foreign)}")

    def verification(self, files: int, problems: Iterable[str] = ()) -> Verification:
        """Return the result, with further problems first."""
        every = list(dict.fromkeys([*problems, *self.problems]))
        return Verification(self.values, files, every, self.unproven)


def _compare_benchmark(source: ReportFolder, rebuilt: Rebuilt, progress: Progress) -> _Remade:
    """Write all files of a benchmark again, and compare them with those in the folder."""
    result, manifest = rebuilt.result, source.report.manifest
    claims = _name_claims(list_claims(source.report))
    remade = _Remade(source.files, result.folder.partial, [claims, *rebuilt.unproven])

    def is_unknown(path: str) -> bool:  # the text of a query, not that of the verdict
        return not rebuilt.texts_known and path.endswith("].text")

    again = result.report.model_dump(mode="json")
    merged = remade.compare_document(source.path.name, source.path, again, is_unknown)
    result = replace(result, report=BenchmarkReport.model_validate(merged))
    skipped = {PER_QUERY_FILE, *([REPORT_FILE] if remade.problems else [])}
    progress("rendering", 0, 1)
    source.files.file(PER_QUERY_FILE)
    values = source.files.read_table(PER_QUERY_FILE)
    if remade.compare_table(PER_QUERY_FILE, result.per_query) and values is not None:
        result = replace(result, per_query=values)  # which are shown with their last bits
    stored = (source.folder / PLOTS_FOLDER).glob("*.*")
    plots = {f"{PLOTS_FOLDER}/{one.name}" for one in stored if one.suffix[1:] in FORMATS}
    render_files(result, plots=bool(plots) and can_draw())
    progress("rendering", 1, 1)
    if not _draws_alike(manifest.packages, manifest.platform):
        skipped |= plots
        remade.unproven += [_OTHER_PLOTS] if plots and can_draw() else []
    expected = remade.names()
    for done, name in enumerate(sorted(expected)):
        progress("comparing files", done, len(expected))
        path = source.path if name == REPORT_FILE else source.files.find(name)
        if path is None:
            remade.problems.append(f"{name}: the file is missing")
        elif name not in skipped:
            remade.compare(name, path, is_unknown)
    progress("comparing files", len(expected), len(expected))
    if plots and not can_draw():
        expected |= plots
        remade.unproven.append(f"plots ({MissingExtraError('drawing them again', 'plots')})")
    _check_names(source, remade, expected)
    return remade


def _check_names(source: ReportFolder, remade: _Remade, expected: set[str]) -> None:
    """Report files that are not listed, and those that a benchmark does not write."""
    listed = {name for _, name in read_checksums(source.folder)}
    known = {*expected, CHECKSUMS_FILE, source.path.name}
    if listed:
        unlisted = (name for name in sorted(remade.names() - listed) if source.files.find(name))
        remade.problems += [f"{name}: not listed in {CHECKSUMS_FILE}" for name in unlisted]
    if source.path.name != REPORT_FILE:
        name = source.path.name
        remade.problems.append(f"{name}: not listed in {CHECKSUMS_FILE}: a copy is not verified")
    remade.problems += [f"{name}: {_NOT_WRITTEN}" for name in sorted(listed - known)]
    remade.find_foreign(known | listed, _OF_THE_REPORT)


def _verify_judgments(folder: PlanFolder) -> Verification:
    """Verify a plan, and compare the pages and judgments beside it with those made again."""
    stored = folder.files.find(JUDGMENT_REPORT_FILE)
    written = folder.plan.version if stored is None else _version_of(read_json(stored))
    other_version = find_other_version({"trectools-plus": written})
    if other_version is not None:
        return Verification(0, 0, [f"{JUDGMENT_REPORT_FILE}: {other_version}"])
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(temporary)
        found = verify_plan(folder, scratch)
        if found.report is not None:
            write_judgment_report(found.report, scratch)
            write_judgments(folder, found.report.model.model, scratch, found.people)
        remade = _Remade(folder.files, scratch, [])
        for name in JUDGMENT_FILES:
            remade.compare_text(name)
    files = len(folder.plan.files) + len(folder.plan.runs)
    problems = [*found.problems, *remade.problems]
    return Verification(found.figures, files, problems, warnings=found.warnings)


def _find_beside(path: str | Path, name: str) -> Path | None:
    """Return a document: the file itself, or the one in a folder without a benchmark."""
    given = Path(path)
    if not given.is_dir():
        return given if given.name == name else None
    found = (given / name).exists() and not (given / REPORT_FILE).exists()
    return given / name if found else None


def _verify_sweep(path: Path) -> Verification:
    """Verify a sweep by its values per query, the run of the winner and the judgments."""
    report, files = load_sweep_report(path), ClosedFolder(path.parent)
    other_version = find_other_version(report.packages)
    if other_version is not None:
        return Verification(0, 0, [f"{path.name}: {other_version}"])
    listed = {name: digest for digest, name in read_checksums(path.parent)}
    problems = _check_listed(files, listed, is_empty=not listed)
    with tempfile.TemporaryDirectory() as temporary:
        output = OutputFolder(Path(temporary, "again"))
        try:
            rebuilt = rebuild_sweep(path, report, output)
            claims = _name_claims(sweep_claims(report))
            remade = _Remade(files, output.partial, [claims, *rebuilt.unproven])
            again = rebuilt.result.report.model_dump(mode="json")
            report = SweepReport.model_validate(remade.compare_document(path.name, path, again))
            remade.unproven += _draw_again(files, report, output.partial)
            write_sweep_files(replace(rebuilt.result, report=report), output.partial)
            names = remade.names()
            remade.problems += rebuilt.problems
            for name in sorted({*names, *listed}):
                remade.compare_text(name)
        finally:
            output.discard()
    remade.problems += [
        f"{name}: not listed in {CHECKSUMS_FILE}" for name in sorted(names - {*listed})
    ]
    remade.find_foreign({*names, *listed, CHECKSUMS_FILE})
    remade.values += rebuilt.result.per_query.height
    return remade.verification(len(listed), problems)


def _verify_extraction(path: Path) -> Verification:
    """Verify an extraction by its gold terms and its predictions."""
    report, files = load_extraction_report(path), ClosedFolder(path.parent)
    other_version = find_other_version(report.manifest.packages)
    if other_version is not None:
        return Verification(0, 0, [f"{path.name}: {other_version}"])
    made, is_soft_known = rebuild_extraction(path, report)
    unproven = [_name_claims(extraction_claims(report))]
    if not is_soft_known:
        unproven.append("ontology-aware figures: the formula needs the whole ontology")
    with tempfile.TemporaryDirectory() as temporary:
        remade = _Remade(files, Path(temporary), unproven)
        again = made.report.model_dump(mode="json")
        merged = remade.compare_document(
            path.name, path, again, lambda place: not is_soft_known and ".soft." in place
        )
        result = replace(made, report=ExtractionReport.model_validate(merged))
        names = [file.name for file in write_extraction(result, remade.scratch).values()]
        for name in names:
            remade.compare_text(name)
    remade.find_foreign(names)
    return remade.verification(len(names))


def _draw_again(files: ClosedFolder, report: SweepReport, scratch: Path) -> list[str]:
    """Draw the plot again, or copy it if another program drew it; return what is unproven."""
    drawn = [f"{PLOTS_FOLDER}/{Path(PLOT_FILE).stem}{ending}" for ending in PLOT_ENDINGS]
    stored = {name: files.find(name) for name in drawn}
    if not any(stored.values()):
        return []
    if can_draw() and _draws_alike(report.packages, report.platform):
        draw_sweep(report, scratch)
        return []
    for name, path in stored.items():
        if path is not None:
            (scratch / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(path, scratch / name)
    return [_OTHER_PLOTS]


def _draws_alike(packages: Mapping[str, str], platform: str) -> bool:
    """Return whether the same Matplotlib on the same platform drew the plots."""
    version = package_versions(["matplotlib"]).get("matplotlib")
    return packages.get("matplotlib") == version and platform == describe_machine()["platform"]


def _name_claims(claims: Collection[str]) -> str:
    return f"{plural(len(claims), 'statement')} in the section '{CLAIMS_TITLE}'"


def _version_of(document: Any) -> str:
    return str(document.get("version")) if isinstance(document, dict) else ""


def _check_hashes(source: ReportFolder) -> tuple[list[str], int]:
    """Return a line for each file with another hash, and the number of files."""
    problems: list[str] = []
    checked = {}
    for run in source.report.runs:
        if run.path is not None:
            checked[run.path] = run.sha256
    listed = read_checksums(source.folder)
    checked |= {name: digest for digest, name in listed}
    problems += _check_listed(source.files, checked, is_empty=not listed)
    # Input files may have been moved: the figures depend only on the copies beside the report.
    originals = {path: hash_original(path) for path in source.originals}
    found = {path: digest for path, digest in originals.items() if digest is not None}
    problems += [
        f"{path}: the file changed (its hash differs)"
        for path, digest in found.items()
        if digest != source.originals[path]
    ]
    return problems, len(checked) + len(found)


def _check_listed(
    files: ClosedFolder, listed: Mapping[str, str | None], *, is_empty: bool
) -> list[str]:
    """Return a line for each file with another hash, and for a list without files."""
    problems = []
    if is_empty:
        state = "missing" if files.find(CHECKSUMS_FILE) is None else "lists no file"
        problems.append(
            f"{CHECKSUMS_FILE}: {state}: copy it from the original folder, or run the command again"
        )
    for name, digest in listed.items():
        file = files.find(name)
        if file is None:
            problems.append(f"{name}: the file is missing")
        elif sha256_file(file) != digest:
            problems.append(f"{name}: the file changed (its hash differs)")
    return problems


def _compare_tables(reported: pl.DataFrame, again: pl.DataFrame, where: str) -> list[str]:
    """Compare the table of a file with the one made again; return a line for each difference."""
    if reported.schema != again.schema:
        shown = [", ".join(f"{name} {kind}" for name, kind in one.schema.items())
                 for one in (reported, again)]  # fmt: skip
        return [f"{where}: the columns are {shown[0]} instead of {shown[1]}"]
    comparison = DocumentComparison(where)
    if not reported.equals(again):
        comparison.compare(_rows_by_key(reported), _rows_by_key(again))
    return comparison.findings


def _rows_by_key(table: pl.DataFrame) -> dict[str, Any]:
    """Return the value or values of each row by the names in it."""
    table = table.with_columns(selectors.float().fill_nan(None))
    named = [name for name in table.columns if name in _KEYS]
    found: dict[str, Any] = {}
    for row in table.iter_rows(named=True):
        key = " ".join(str(row.pop(name)) for name in named)
        while key in found:
            key = f"{key} (repeated)"
        found[key] = next(iter(row.values())) if len(row) == 1 else row
    return found
