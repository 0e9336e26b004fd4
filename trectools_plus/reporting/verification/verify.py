"""Verification of a report: all its files are made again and compared with the files beside it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
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
            comparison = _Files(source, rebuilt)
            comparison.compare(progress)
        finally:
            rebuilt.result.folder.discard()
    problems += comparison.problems
    return Verification(
        comparison.values, files, list(dict.fromkeys(problems)), comparison.unproven
    )


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
        problems = list(found.problems)
        if found.report is not None:
            write_judgment_report(found.report, scratch)
            write_judgments(folder, found.report.model.model, scratch, found.people)
        problems += _compare_made(folder.files, scratch, JUDGMENT_FILES)
    files = len(folder.plan.files) + len(folder.plan.runs)
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
            comparison = DocumentComparison(path.name)
            again = rebuilt.result.report.model_dump(mode="json")
            merged = {**again, **comparison.compare(read_json(path), again)}
            again_report = SweepReport.model_validate(merged)
            unproven = [_name_claims(sweep_claims(report)), *rebuilt.unproven]
            unproven += _draw_again(files, again_report, output.partial)
            write_sweep_files(replace(rebuilt.result, report=again_report), output.partial)
            made = [file for file in output.partial.rglob("*") if file.is_file()]
            names = {file.relative_to(output.partial).as_posix() for file in made}
            problems += [*comparison.findings, *rebuilt.problems]
            problems += _compare_made(files, output.partial, sorted({*names, *listed}))
        finally:
            output.discard()
    problems += [f"{name}: not listed in {CHECKSUMS_FILE}" for name in sorted(names - {*listed})]
    unproven += _list_foreign(path.parent, {*names, *listed, CHECKSUMS_FILE})
    figures = comparison.values + rebuilt.result.per_query.height
    return Verification(figures, len(listed), list(dict.fromkeys(problems)), unproven)


def _verify_extraction(path: Path) -> Verification:
    """Verify an extraction by its gold terms and its predictions."""
    report, files = load_extraction_report(path), ClosedFolder(path.parent)
    other_version = find_other_version(report.manifest.packages)
    if other_version is not None:
        return Verification(0, 0, [f"{path.name}: {other_version}"])
    made, is_soft_known = rebuild_extraction(path, report)
    comparison = DocumentComparison(
        path.name, lambda place: not is_soft_known and ".soft." in place
    )
    again = made.report.model_dump(mode="json")
    merged = {**again, **comparison.compare(read_json(path), again)}
    unproven = [_name_claims(extraction_claims(report))]
    if not is_soft_known:
        unproven.append("ontology-aware figures: the formula needs the whole ontology")
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(temporary)
        result = replace(made, report=ExtractionReport.model_validate(merged))
        names = [file.name for file in write_extraction(result, scratch).values()]
        problems = [*comparison.findings, *_compare_made(files, scratch, names)]
    unproven += _list_foreign(path.parent, {*names})
    return Verification(comparison.values, len(names), list(dict.fromkeys(problems)), unproven)


def _draw_again(files: ClosedFolder, report: SweepReport, scratch: Path) -> list[str]:
    """Draw the plot again, or copy it if another program drew it; return what is unproven."""
    drawn = [f"{PLOTS_FOLDER}/{Path(PLOT_FILE).stem}{ending}" for ending in PLOT_ENDINGS]
    stored = {name: files.find(name) for name in drawn}
    if not any(stored.values()):
        return []
    version = package_versions(["matplotlib"]).get("matplotlib")
    is_same = report.packages.get("matplotlib") == version
    if is_same and can_draw() and report.platform == describe_machine()["platform"]:
        draw_sweep(report, scratch)
        return []
    for name, path in stored.items():
        if path is not None:
            (scratch / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(path, scratch / name)
    return ["plots (another version of Matplotlib or another platform drew them)"]


def _compare_made(files: ClosedFolder, scratch: Path, names: Iterable[str]) -> Iterator[str]:
    """Compare files with those made again; tables are compared before."""
    for name in names:
        path, again = files.find(name), scratch / name
        if path is None and again.is_file():
            yield f"{name}: the file is missing"
        elif path is not None and not again.is_file():
            yield f"{name}: the inputs in the folder do not give this file"
        elif path is None or path.suffix == ".parquet":
            continue
        elif path.read_bytes() != again.read_bytes():
            for change in islice(_compare_texts(path, again), _MOST_FINDINGS):
                yield f"{name}: {change}"


def _list_foreign(folder: Path, known: Collection[str]) -> list[str]:
    """List files that are not part of a report, in one line."""
    names = (file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
    foreign = sorted(name for name in names if name not in known and not name.startswith("."))
    return [f"files that are not part of the report: {', '.join(foreign)}"] if foreign else []


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


class _Files:
    """The comparison of the files in the folder with the same files made again.

    Args:
        source: The report in the folder.
        rebuilt: The result made again.

    Attributes:
        problems: A line for each difference.
        unproven: Parts that cannot be made again.
        values: Number of compared values.
    """

    def __init__(self, source: ReportFolder, rebuilt: Rebuilt) -> None:
        self.problems: list[str] = []
        self.unproven = [_name_claims(list_claims(source.report)), *rebuilt.unproven]
        self.values = 0
        self._report_is_right = False
        self._source = source
        self._rebuilt = rebuilt
        self._again = rebuilt.result.folder.partial
        packages, versions = source.report.manifest.packages, package_versions()
        machine = source.report.manifest.platform == describe_machine()["platform"]
        self._same_plots = machine and packages.get("matplotlib") == versions.get("matplotlib")
        drawn = (source.folder / PLOTS_FOLDER).glob("*.*")
        self._drawn = {f"{PLOTS_FOLDER}/{one.name}" for one in drawn if one.suffix[1:] in FORMATS}

    def compare(self, progress: Progress) -> None:
        """Compare all files, and find files without a counterpart."""
        source = self._source
        report = self._compare_report()
        progress("rendering", 0, 1)
        self._render(report)
        progress("rendering", 1, 1)
        made = (file for file in self._again.rglob("*") if file.is_file())
        expected = sorted(file.relative_to(self._again).as_posix() for file in made)
        listed = {name for _, name in read_checksums(source.folder)}
        for done, name in enumerate(expected):
            progress("comparing files", done, len(expected))
            self._compare_file(name, listed)
        progress("comparing files", len(expected), len(expected))
        if source.path.name != REPORT_FILE:
            name = source.path.name
            self.problems.append(f"{name}: not listed in {CHECKSUMS_FILE}: a copy is not verified")
        if self._drawn and not can_draw():
            expected += self._drawn
            missing = MissingExtraError("drawing them again", "plots")
            self.unproven.append(f"plots ({missing})")
        elif self._drawn and not self._same_plots:
            self.unproven.append(
                "plots (another version of Matplotlib or another platform drew them)"
            )
        known = {*expected, CHECKSUMS_FILE, source.path.name}
        for name in sorted(listed - known):
            self.problems.append(f"{name}: a benchmark of these files does not write this file")
        self._find_foreign(known | listed)

    def _compare_report(self) -> BenchmarkReport:
        """Compare the report; return the one made again.

        Figures that are nearly equal are those of the folder, because they are shown in full.
        """
        path = self._source.path
        comparison = self._new_comparison(path.name)
        again = self._rebuilt.result.report.model_dump(mode="json")
        found = comparison.compare(read_json(path), again)
        self._add(comparison)
        self._report_is_right = not comparison.findings
        return BenchmarkReport.model_validate({**again, **found})

    def _render(self, report: BenchmarkReport) -> None:
        """Write all files again, with the values per query of the folder if they are right."""
        source, result = self._source, self._rebuilt.result
        source.files.file(PER_QUERY_FILE)
        values = source.files.read_table(PER_QUERY_FILE)
        assert values is not None
        problems = _compare_tables(values, result.per_query, PER_QUERY_FILE)
        self.problems += problems
        self.values += result.per_query.height * result.per_query.width
        result = replace(result, report=report)
        if not problems:
            result = replace(result, per_query=values)
        render_files(result, plots=bool(self._drawn) and can_draw())

    def _new_comparison(self, name: str) -> DocumentComparison:
        texts_known = self._rebuilt.texts_known

        def is_unknown(path: str) -> bool:  # the text of a query, not that of the verdict
            return not texts_known and path.endswith("].text")

        return DocumentComparison(name, is_unknown)

    def _add(self, comparison: DocumentComparison) -> None:
        self.values += comparison.values
        self.problems += comparison.findings

    def _find_foreign(self, known: set[str]) -> None:
        foreign = []
        for file in sorted(self._source.folder.rglob("*")):
            name = file.relative_to(self._source.folder).as_posix()
            if not file.is_file() or name in known or name.startswith("."):
                continue
            if name.partition("/")[0] in _OF_THE_REPORT:
                self.problems.append(f"{name}: a benchmark of these files does not write this file")
            else:
                foreign.append(name)
        if foreign:
            self.unproven.append(f"files that are not part of the report: {', '.join(foreign)}")

    def _compare_file(self, name: str, listed: set[str]) -> None:
        is_report = name == REPORT_FILE
        path = self._source.path if is_report else self._source.files.find(name)
        again = self._again / name
        if path is None:
            self.problems.append(f"{name}: the file is missing")
            return
        if listed and name not in listed:
            self.problems.append(f"{name}: not listed in {CHECKSUMS_FILE}")
        if path.stat().st_size == again.stat().st_size and path.read_bytes() == again.read_bytes():
            return
        found = list(islice(self._differences(name, path, again), 10 * _MOST_FINDINGS))
        shown = found if name.endswith(".json") else found[:_MOST_FINDINGS]
        self.problems += [f"{name}: {one}" for one in shown]
        if len(found) > len(shown):
            self.problems.append(f"{name}: at least {len(found) - len(shown)} more differences")

    def _differences(self, name: str, path: Path, again: Path) -> Iterator[str]:
        if name.endswith(".parquet"):
            if name == PER_QUERY_FILE:  # compared before
                return
            table, stored = pl.read_parquet(again), self._source.files.read_table(name)
            assert stored is not None
            self.values += table.height * table.width
            self.problems += _compare_tables(stored, table, name)[:_MOST_FINDINGS]
        elif name.startswith(f"{PLOTS_FOLDER}/"):
            if self._same_plots:
                yield "the plot differs from the plot of these figures"
        elif not name.endswith(".json"):
            yield from _compare_texts(path, again)
        else:
            yield from self._compare_json(name, path, again)

    def _compare_json(self, name: str, path: Path, again: Path) -> Iterator[str]:
        """Compare the report of a mode; of right documents, compare the form of the text."""
        is_right = self._report_is_right
        if name != REPORT_FILE:  # compared before
            comparison = self._new_comparison(name)
            comparison.compare(read_json(path), read_json(again))
            self._add(comparison)
            is_right = not comparison.findings
        if is_right:
            yield from _compare_texts(path, again)


def _compare_texts(path: Path, again: Path) -> Iterator[str]:
    """Yield each difference of two files that are not equal."""
    texts = [file.read_bytes().decode("utf-8", errors="replace") for file in (path, again)]
    if texts[0] == texts[1]:
        yield "some bytes are not UTF-8"
    yield from find_text_changes(*texts)
