"""Verification of a report: all its files are made again and compared with the files beside it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from trectools_plus.benchmark.rebuild import Rebuilt, is_by_this_version, rebuild_result
from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.report.folder import ReportFolder
from trectools_plus.benchmark.run.output_folder import (
    ANNOTATED_FOLDER,
    CHECKSUMS_FILE,
    COMPONENTS_FOLDER,
    DOCUMENTS_FILE,
    HTML_FILE,
    MARKDOWN_FILE,
    MODE_REPORTS_FOLDER,
    PER_QUERY_FILE,
    PLOTS_FOLDER,
    REPORT_FILE,
    SIGNATURE_FILE,
    TOPICS_FILE,
    OutputFolder,
    read_checksums,
)
from trectools_plus.display import Content, Displayed
from trectools_plus.errors import InputError, MissingExtraError
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.progress import Progress, no_progress
from trectools_plus.provenance import describe_machine, package_versions
from trectools_plus.reporting.files import render_files
from trectools_plus.reporting.plots.figures import FORMATS
from trectools_plus.reporting.plots.style import can_draw
from trectools_plus.reporting.verification.claims import find_false_claims
from trectools_plus.reporting.verification.documents import (
    NEAR,
    DocumentComparison,
    find_text_changes,
)
from trectools_plus.reporting.verification.signature import Signature, Signer, check_signature
from trectools_plus.text import plural

_MOST_FINDINGS = 20
"""Maximum number of findings on one file, apart from the values of a JSON document."""
_NEW_IN_1_1 = frozenset(
    {
        "primary_measure",
        "headline_measures",
        "verdict",
        "best_overall",
        "equal_measures",
        "unranked",
    }
)
"""The keys that reports of schema version 1.0 do not have."""
_GIVEN_UP = ("size", "diagnosis[few-queries", "verdict.next_steps")
"""Parts of earlier reports that this version does not make, or words in another way."""
_OF_THE_REPORT = (MODE_REPORTS_FOLDER, PLOTS_FOLDER, ANNOTATED_FOLDER, COMPONENTS_FOLDER)
"""Folders in which only a benchmark writes."""


@dataclass(frozen=True, slots=True, repr=False)
class Verification(Displayed):
    """The result of a verification.

    Attributes:
        figures: Number of values that were made again and compared.
        files: Number of files that were hashed.
        problems: A line for each value that differs and each file that changed, with its location.
        unproven: Parts of the report that cannot be made again, in words; empty if a trusted
            person signed the folder.
        signature: The signature of the folder; ``None`` without one.
    """

    figures: int
    files: int
    problems: list[str]
    unproven: list[str] = field(default_factory=list)
    signature: Signature | None = None

    def _content(self) -> Content:
        caption = (
            f"{plural(self.figures, 'figure')} and {plural(self.files, 'file')} verified: "
            f"{plural(len(self.problems), 'problem')}"
        )
        return Content(caption, ["Problem"], [[problem] for problem in self.problems])

    def as_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        signature = None if self.signature is None else self.signature.as_dict()
        return {**asdict(self), "signature": signature}


def verify_report(
    path: str | Path,
    progress: Progress | None = None,
    *,
    signers: str | Path | None = None,
    signer: Signer | None = None,
) -> Verification:
    """Make a report again from its runs, judgments, topics and configuration, and compare it.

    All files of the report are made again by the functions that made them, and compared with the
    files in the folder: documents and tables value by value (figures may differ by 1e-9), Markdown,
    page, runs and plots byte by byte. If another version wrote the report, Markdown and page are
    checked by the figures that they show, and sentences by the figures in them. If another version
    of Matplotlib or another platform drew the plots, or Matplotlib is not installed, they are
    unproven.

    Original files and datasets are read again if they are available and unchanged. Without them,
    the parts that depend on them are unproven, as are measured times, the date, the machine and the
    command.

    Args:
        path: The report's JSON, its folder, or the report of a mode, which is verified with the
            whole benchmark.
        progress: Called as ``progress(description, done, total)``.
        signers: Trusted signers: a public key, or a file in the format of ``allowed_signers``. If
            given, a folder that none of them signed is a problem.
        signer: Sign the folder with this key if there is no problem.

    Returns:
        The number of checked figures and files, the problems, and the unproven parts.

    Raises:
        InputError: If the report, a run or the judgments are missing or cannot be read.
    """
    source = ReportFolder(path)
    if source.path.parent != source.folder:  # the report of a mode
        source = ReportFolder(source.folder)
    progress = progress or no_progress
    progress("hashing files", 0, 1)
    problems, files = _check_hashes(source)
    progress("hashing files", 1, 1)
    with tempfile.TemporaryDirectory() as temporary:
        folder = OutputFolder(Path(temporary, "again"))
        try:
            rebuilt = rebuild_result(source, folder, progress)
            figures, found, unproven, foreign = _compare(source, rebuilt, progress)
        finally:
            folder.discard()
    problems += found
    if signer is not None and not problems:
        signer.sign(source.folder)
    try:
        signature = check_signature(source.folder, signers)
    except MissingExtraError as error:
        if signers is not None:
            raise
        signature = None
        unproven.append(f"the signature ({error})")
    if signature is not None and signature.problem:
        problems.append(f"{SIGNATURE_FILE}: {signature.problem}")
    if signature is not None and signature.signer is not None and not problems:
        unproven = []
    if foreign:
        unproven.append(f"files that are not part of the report: {', '.join(foreign)}")
    return Verification(figures, files, list(dict.fromkeys(problems)), unproven, signature)


def _check_hashes(source: ReportFolder) -> tuple[list[str], int]:
    """Return a line for each file with another hash, and the number of files."""
    problems: list[str] = []
    checked = {}
    for run in source.report.runs:
        if run.path is not None:
            checked[run.path] = run.sha256
    listed = read_checksums(source.folder)
    if not listed:
        state = "lists no file" if (source.folder / CHECKSUMS_FILE).is_file() else "missing"
        problems.append(
            f"{CHECKSUMS_FILE}: {state}: copy it from the benchmark's original folder, or run the "
            "benchmark again"
        )
    checked |= {name: digest for digest, name in listed}
    for name, digest in checked.items():
        problems += _check_hash(source.folder / name, name, digest)
    given = list(source.report.manifest.dataset.files.values())
    runs = (result.run.source for result in source.report.modes.values())
    # Input files may have been moved: the figures depend only on the copies beside the report.
    found = [one for one in (*given, *runs) if one is not None and Path(one.path).is_file()]
    for file in found:
        problems += _check_hash(Path(file.path), file.path, file.sha256)
    return problems, len(checked) + len(found)


def _check_hash(path: Path, name: str, digest: str | None) -> Iterator[str]:
    if not path.is_file():
        yield f"{name}: the file is missing"
    elif sha256_file(path) != digest:
        yield f"{name}: the file changed (its hash differs)"


def _compare(
    source: ReportFolder, rebuilt: Rebuilt, progress: Progress
) -> tuple[int, list[str], list[str], list[str]]:
    """Compare all files; return the number of figures, problems, unproven parts, other files."""
    packages = source.report.manifest.packages
    versions = package_versions()
    same_version = is_by_this_version(source)
    report = _compare_report(source, rebuilt, same_version)
    unproven = list(rebuilt.unproven)
    progress("rendering", 0, 1)
    values, table = _choose_values(source, rebuilt)
    merged = BenchmarkReport.model_validate(report.found)
    result = replace(rebuilt.result, report=merged, per_query=table)
    images = (source.folder / PLOTS_FOLDER).glob("*.*")
    drawn = {f"{PLOTS_FOLDER}/{one.name}" for one in images if one.suffix[1:] in FORMATS}
    annotated = any((source.folder / ANNOTATED_FOLDER).glob("*.run"))
    render_files(result, ir_metadata=annotated, plots=bool(drawn) and can_draw())
    progress("rendering", 1, 1)
    machine = source.report.manifest.platform == describe_machine()["platform"]
    same_plots = machine and packages.get("matplotlib") == versions.get("matplotlib")
    files = _Files(source, result.folder.partial, merged, same_version, same_plots)
    files.is_unknown = report.is_unknown
    files.report_is_right = not report.findings
    files.not_drawn = set() if can_draw() else drawn
    files.compare(progress)
    if files.not_drawn:
        unproven.append(f"plots ({MissingExtraError('drawing them again', 'plots')})")
    elif drawn and not same_plots:
        unproven.append("plots (another version of Matplotlib or another platform drew them)")
    if not same_version:
        writer, schema = packages.get("trectools-plus"), source.report.schema_version
        unproven.append(
            f"wording and layout (trectools-plus {writer}, schema {schema}, wrote the report: "
            "figures and labels were compared)"
        )
    problems = [*values.problems, *report.findings, *files.problems]
    return report.values + values.count + files.values, problems, unproven, files.foreign


@dataclass(frozen=True, slots=True)
class _Report:
    """The comparison of the report itself."""

    found: Any
    findings: list[str]
    values: int
    is_unknown: Callable[[str], bool]


def _compare_report(source: ReportFolder, rebuilt: Rebuilt, same_version: bool) -> _Report:
    raw = _read_json(source.path)
    again = rebuilt.result.report.model_dump(mode="json")
    reported = raw if same_version else _as_loaded(raw, source.report.model_dump(mode="json"))

    def is_unknown(path: str) -> bool:
        if not same_version and path.startswith(_GIVEN_UP):
            return True
        return not rebuilt.texts_known and path.endswith(".text")

    comparison = DocumentComparison(source.path.name, same_version, is_unknown)
    known = again
    if source.report.schema_version == "1.0":
        known = {key: value for key, value in again.items() if key not in _NEW_IN_1_1}
    found = comparison.compare(reported, known)
    return _Report(again | found, comparison.findings, comparison.values, is_unknown)


def _as_loaded(raw: Any, loaded: Any) -> Any:
    """Return the keys of a document of an earlier version with the values that readers see."""
    if isinstance(raw, dict) and isinstance(loaded, dict):
        return {key: _as_loaded(value, loaded.get(key, value)) for key, value in raw.items()}
    if isinstance(raw, list) and isinstance(loaded, list) and len(raw) == len(loaded):
        return [_as_loaded(one, other) for one, other in zip(raw, loaded, strict=True)]
    return loaded


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError("cannot be read as JSON", where=str(path)) from error


@dataclass(frozen=True, slots=True)
class _Values:
    problems: list[str]
    count: int


def _choose_values(source: ReportFolder, rebuilt: Rebuilt) -> tuple[_Values, pl.DataFrame]:
    """Compare the values per query; return those of the report if they are right."""
    path = source.folder / PER_QUERY_FILE
    if not path.is_file():
        raise InputError("a file of the report is missing", where=str(path))
    again = rebuilt.result.per_query
    problems, count = compare_tables(read_table(path), again, PER_QUERY_FILE)
    return _Values(problems, count), again if problems else read_table(path)


def read_table(path: Path) -> pl.DataFrame:
    """Read a Parquet file.

    Raises:
        InputError: If it cannot be read.
    """
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError("cannot be read as Parquet", where=str(path)) from error


def compare_tables(
    reported: pl.DataFrame, again: pl.DataFrame, where: str
) -> tuple[list[str], int]:
    """Compare tables row by row; return a line per difference, and the number of values.

    Args:
        reported: The table in the folder.
        again: The table made again.
        where: The file.
    """
    count = again.height * again.width
    if reported.schema != again.schema:
        shown = [", ".join(f"{name} {kind}" for name, kind in one.schema.items())
                 for one in (reported, again)]  # fmt: skip
        return [f"{where}: the columns are {shown[0]} instead of {shown[1]}"], count
    if reported.equals(again):
        return [], count
    keys = [name for name, kind in again.schema.items() if not kind.is_float()]
    rest = [name for name in again.columns if name not in keys]
    if not keys or again.select(keys).is_duplicated().any():
        return [f"{where}: the rows differ"], count
    if reported.select(keys).is_duplicated().any():
        return [f"{where}: a row is repeated"], count
    both = reported.with_columns(_reported=pl.lit(True)).join(
        again.with_columns(_again=pl.lit(True)), on=keys, how="full", suffix="_again",
        coalesce=True, nulls_equal=True,
    )  # fmt: skip
    same = pl.col("_reported").is_not_null() & pl.col("_again").is_not_null()
    for name in rest:
        one, other = pl.col(name).fill_nan(None), pl.col(f"{name}_again").fill_nan(None)
        near = ((one - other).abs() <= NEAR * pl.max_horizontal(1.0, other.abs())) | (
            one.is_null() & other.is_null()
        )
        same &= near.fill_null(False)
    wrong = both.filter(~same).sort(keys)
    problems = []
    for row in wrong.iter_rows(named=True):
        named = " ".join(str(row[key]) for key in keys)
        named = named if len(named) < 100 else f"{named[:99]}…"
        if row["_again"] is None:
            problems.append(f"{where}: {named}: reported, but not recomputed")
        elif row["_reported"] is None:
            problems.append(f"{where}: {named}: reported None, recomputed a row")
        else:
            values = "; ".join(
                f"reported {row[name]}, recomputed {row[f'{name}_again']}"
                for name in rest
                if row[name] != row[f"{name}_again"]
            )
            problems.append(f"{where}: {named}: {values}")
    if not problems and rest and not reported.select(keys).equals(again.select(keys)):
        problems.append(f"{where}: the order of the rows differs")
    return problems, count


@dataclass(slots=True)
class _Files:
    """The comparison of the files in the folder with the same files made again."""

    source: ReportFolder
    again: Path
    report: BenchmarkReport
    same_version: bool
    same_plots: bool
    is_unknown: Callable[[str], bool] = lambda _: False
    report_is_right: bool = True
    not_drawn: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    values: int = 0
    foreign: list[str] = field(default_factory=list)

    def compare(self, progress: Progress) -> None:
        """Compare all files, and find files without a counterpart."""
        made = (file for file in self.again.rglob("*") if file.is_file())
        expected = sorted(file.relative_to(self.again).as_posix() for file in made)
        if self.report.schema_version == "1.0":
            expected = [name for name in expected if not _is_new_in_1_1(name)]
        listed = {name for _, name in read_checksums(self.source.folder)}
        for done, name in enumerate(expected):
            progress("comparing files", done, len(expected))
            self._compare_file(name, listed)
        progress("comparing files", len(expected), len(expected))
        if self.source.path.name != REPORT_FILE:
            name = self.source.path.name
            self.problems.append(f"{name}: not listed in {CHECKSUMS_FILE}: a copy is not verified")
        known = {*expected, *self.not_drawn, CHECKSUMS_FILE, SIGNATURE_FILE, self.source.path.name}
        for name in sorted(listed - known):
            self.problems.append(f"{name}: a benchmark of these files does not write this file")
        self._find_foreign(known | listed)

    def _find_foreign(self, known: set[str]) -> None:
        for file in sorted(self.source.folder.rglob("*")):
            name = file.relative_to(self.source.folder).as_posix()
            if not file.is_file() or name in known or name.startswith("."):
                continue
            if name.partition("/")[0] in _OF_THE_REPORT:
                self.problems.append(f"{name}: a benchmark of these files does not write this file")
            else:
                self.foreign.append(name)

    def _compare_file(self, name: str, listed: set[str]) -> None:
        path, again = self.source.folder / name, self.again / name
        if name == REPORT_FILE:
            path = self.source.path
        if not path.is_file():
            if self.same_version:
                self.problems.append(f"{name}: the file is missing")
            return
        if listed and name not in listed:
            self.problems.append(f"{name}: not listed in {CHECKSUMS_FILE}")
        if path.stat().st_size == again.stat().st_size and path.read_bytes() == again.read_bytes():
            return
        found = list(islice(self._differences(name, path, again), 10 * _MOST_FINDINGS))
        shown = found if name.endswith((".json", ".parquet")) else found[:_MOST_FINDINGS]
        self.problems += [f"{name}: {one}" for one in shown]
        if len(found) > len(shown):
            self.problems.append(f"{name}: at least {len(found) - len(shown)} more differences")

    def _differences(self, name: str, path: Path, again: Path) -> Iterator[str]:
        if name.endswith(".parquet"):
            if name == PER_QUERY_FILE:  # compared before
                return
            problems, count = compare_tables(read_table(path), read_table(again), name)
            self.values += count
            self.problems += problems[:_MOST_FINDINGS]
        elif name.endswith(".json"):
            yield from self._compare_json(name, path, again)
        elif name.startswith(f"{PLOTS_FOLDER}/"):
            if self.same_plots:
                yield "the plot differs from the plot of these figures"
        elif name in (MARKDOWN_FILE, HTML_FILE) and not self.same_version:
            text = path.read_text(encoding="utf-8", errors="replace")
            yield from find_false_claims(text, self.report, is_page=name == HTML_FILE)
        elif self.same_version or not name.startswith(f"{ANNOTATED_FOLDER}/"):
            yield from _compare_texts(path, again)

    def _compare_json(self, name: str, path: Path, again: Path) -> Iterator[str]:
        """Compare a report of one mode; of the whole report, compare the form of the text."""
        is_right = self.report_is_right
        if name != REPORT_FILE:
            comparison = DocumentComparison(name, self.same_version, self.is_unknown)
            comparison.compare(_read_json(path), _read_json(again))
            self.values += comparison.values
            self.problems += comparison.findings
            is_right = not comparison.findings
        if self.same_version and is_right:
            yield from _compare_texts(path, again)


def _is_new_in_1_1(name: str) -> bool:
    return name.startswith(f"{MODE_REPORTS_FOLDER}/") or name in (TOPICS_FILE, DOCUMENTS_FILE)


def _compare_texts(path: Path, again: Path) -> Iterator[str]:
    """Yield each difference of two files that are not equal."""
    texts = [file.read_bytes().decode("utf-8", errors="replace") for file in (path, again)]
    if texts[0] == texts[1]:
        yield "some bytes are not UTF-8"
    yield from find_text_changes(*texts)
