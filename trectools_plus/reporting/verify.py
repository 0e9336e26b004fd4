"""Verification of a report: all its files are made again and compared with the files beside it."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
from polars.testing import assert_frame_equal

from trectools_plus.benchmark.report_folder import ReportFolder
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
from trectools_plus.benchmark.run.runner import find_other_version, rebuild_result
from trectools_plus.display import Displayed, Progress, no_progress
from trectools_plus.extraction.report import REPORT_FILE as EXTRACTION_FILE
from trectools_plus.extraction.report import load_extraction_report
from trectools_plus.extraction.runner import rebuild_extraction
from trectools_plus.formats.files.guards import ClosedFolder, hash_original, read_json
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.judging.estimates import write_judgments
from trectools_plus.judging.plan import PlanFolder, find_plan
from trectools_plus.judging.report import REPORT_FILE as JUDGMENT_REPORT_FILE
from trectools_plus.judging.verification import verify_plan
from trectools_plus.models import ReportModel, describe_machine, package_versions
from trectools_plus.reporting.benchmark import CLAIMS_TITLE, list_claims
from trectools_plus.reporting.extraction import extraction_claims, write_extraction
from trectools_plus.reporting.files import render_files
from trectools_plus.reporting.judgments import JUDGMENT_FILES, write_judgment_report
from trectools_plus.reporting.plots import can_draw
from trectools_plus.text import plural

_NEAR = 1e-9
"""Figures may differ by this: the last bits of sums differ between machines."""
_LONGEST = 400
_MOST_FINDINGS = 20
"""Maximum number of findings on one file, apart from the values of a report."""
_OF_THE_REPORT = (MODE_REPORTS_FOLDER, PLOTS_FOLDER)
"""Folders in which only a benchmark writes."""
_NOT_WRITTEN = "a benchmark of these files does not write this file"
_NOTHING = object()
_TEXTS = (".html", ".md", ".run", ".txt")
_Report = TypeVar("_Report", bound=ReportModel)


@dataclass(frozen=True, repr=False)
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

    def as_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {key: value for key, value in asdict(self).items() if value or key != "warnings"}


class _OtherVersionError(Exception):
    """Another version of this package wrote the report."""


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
    path = Path(path)
    document = path / EXTRACTION_FILE if path.is_dir() else path
    is_extraction = document.name == EXTRACTION_FILE and not (path / REPORT_FILE).exists()
    try:
        if (plan := find_plan(path)) is not None:
            return _verify_judgments(plan)
        if is_extraction and document.exists():
            return _verify_extraction(document)
        return _verify_benchmark(path, progress or no_progress)
    except _OtherVersionError as error:
        return Verification(0, 0, [str(error)])


class _FolderComparison:
    """The comparison of the files in a folder with the same files made again.

    Args:
        document: The report in the folder.
        packages: The versions of packages with which it was written.
        claims: What it states and nobody can derive.

    Attributes:
        problems: A line for each difference.
        unproven: Parts that cannot be made again.
        values: Number of compared values.
        hashed: Number of files that were hashed.

    Raises:
        _OtherVersionError: If another version of this package wrote it.
    """

    def __init__(
        self, document: Path, packages: Mapping[str, str], claims: Collection[str] = ()
    ) -> None:
        if (reason := find_other_version(packages)) is not None:
            raise _OtherVersionError(f"{document.name}: {reason}")
        self._folder, self._files = document.parent, ClosedFolder(document.parent)
        self._packages, self._listed = packages, dict[str, str]()
        self.problems: list[str] = []
        counted = f"{plural(len(claims), 'statement')} in the section '{CLAIMS_TITLE}'"
        self.unproven = [counted] if claims else []
        self._undrawn: tuple[str, ...] = ()
        self.values = self.hashed = 0

    def result(self) -> Verification:
        problems = list(dict.fromkeys(self.problems))
        return Verification(self.values, self.hashed, problems, self.unproven)

    def check_hashes(self, further: Mapping[str, str | None], originals: Mapping[str, str]) -> None:
        """Compare the files with the hashes in the list, and in the report.

        Original files are compared if they are available; the figures depend on copies of them.
        """
        self._listed = {name: digest for digest, name in read_checksums(self._folder)}
        if not self._listed:
            self.problems.append(
                f"{CHECKSUMS_FILE}: missing, or lists no file: copy it from the original folder, "
                "or run the command again"
            )
        hashes = {**further, **self._listed}
        actual: dict[str, str | None] = {}
        for name in hashes:
            file = self._files.find(name)
            actual[name] = sha256_file(file) if file else None
        self.problems += [f"{name}: the file is missing" for name in hashes if not actual[name]]
        actual |= {path: digest for path in originals if (digest := hash_original(path))}
        self.hashed += len(actual)
        hashes |= originals
        self.problems += [
            f"{name}: the file changed (its hash differs)"
            for name, digest in actual.items()
            if digest not in (None, hashes[name])
        ]

    def choose_report(self, path: Path, again: _Report) -> _Report:
        """Return the report in a document if it is right, otherwise the one made again.

        Figures that are nearly equal are those of the document, because it shows them in full.
        """
        stored, made = read_json(path), again.model_dump(mode="json")
        changes = [f"{path.name}: {change}" for change in find_changes(stored, made)]
        self.problems += changes
        self.values += count_values(made)
        return again if changes else type(again).model_validate(stored)

    def choose_values(self, again: pl.DataFrame) -> pl.DataFrame:
        """Return the values per query in the folder if they are right, else those made again."""
        self._files.file(PER_QUERY_FILE)
        stored = self._files.read_table(PER_QUERY_FILE)
        self.values += again.height * again.width
        with suppress(AssertionError):
            if stored is not None:
                assert_frame_equal(stored, again, rel_tol=_NEAR, abs_tol=_NEAR)
                return stored
        return again

    def draws_again(self, platform: str) -> bool:
        """Return whether plots are drawn again; otherwise they are unproven."""
        here = package_versions(["matplotlib"]).get("matplotlib"), describe_machine()["platform"]
        if not any((self._folder / PLOTS_FOLDER).glob("*.*")):
            return False
        if can_draw() and (self._packages.get("matplotlib"), platform) == here:
            return True
        self._undrawn = PLOT_ENDINGS
        self.unproven.append(
            "plots (drawn by another Matplotlib or platform, or the extra 'plots' is missing)"
        )
        return False

    def compare_all(self, scratch: Path, known: Iterable[str] = ()) -> None:
        """Compare all files that were made again, and find files without a counterpart.

        In folders where only a benchmark writes, other files are problems; elsewhere unproven.
        """
        made = {*_list_files(scratch), *self._listed} - {CHECKSUMS_FILE}
        for name in sorted(made):
            if not (name.startswith(f"{PLOTS_FOLDER}/") and name.endswith(self._undrawn)):
                self.compare_file(name, scratch)
        others = []
        for name in sorted({*_list_files(self._folder)} - {CHECKSUMS_FILE}):
            if name in made and self._listed and name not in self._listed:
                self.problems.append(f"{name}: not listed in {CHECKSUMS_FILE}")
            elif name not in made and name.partition("/")[0] in _OF_THE_REPORT:
                self.problems.append(f"{name}: {_NOT_WRITTEN}")
            elif name not in {*made, *known}:
                others.append(name)
        if others:
            self.unproven.append(f"files that are not part of the report: {', '.join(others)}")

    def compare_file(self, name: str, scratch: Path) -> None:
        """Compare a file with the one made again."""
        path, again = self._files.find(name), scratch / name
        changes: Iterable[str] = ()
        if path is None:
            changes = ["the file is missing"] * again.is_file()
        elif not again.is_file():
            changes = [_NOT_WRITTEN]
        elif path.read_bytes() != again.read_bytes():
            if name.endswith(".json"):
                changes = find_changes(read_json(path), read_json(again))
            elif name.endswith(_TEXTS):
                lines = zip_longest(*(file.read_bytes().splitlines() for file in (path, again)))
                changes = (
                    f"line {number}: it differs"
                    for number, (reported, rebuilt) in enumerate(lines, 1)
                    if reported != rebuilt
                )
            changes = [*islice(changes, _MOST_FINDINGS)] or ["the bytes differ"]
        self.problems += [f"{name}: {change}" for change in changes]


def find_changes(reported: Any, rebuilt: Any, place: str = "") -> Iterator[str]:
    """Yield a line for each value that differs, and for another order, with its location.

    Args:
        reported: The document.
        rebuilt: The same made again.
        place: The place of both in a larger document.
    """
    if isinstance(rebuilt, dict | list) and type(reported) is type(rebuilt):
        theirs, ours = _entries(reported), _entries(rebuilt)
        for key in dict.fromkeys([*ours, *theirs]):
            pair = theirs.get(key, _NOTHING), ours.get(key, _NOTHING)
            yield from find_changes(*pair, place + key)
        if theirs.keys() == ours.keys() and [*theirs] != [*ours]:
            yield f"{place.removeprefix('.') or 'the document'} (order): it differs"
    elif type(reported) is not type(rebuilt) or not (
        reported == rebuilt
        or (
            isinstance(rebuilt, float)
            and math.isclose(reported, rebuilt, rel_tol=_NEAR, abs_tol=_NEAR)
        )
    ):
        pair = reported, rebuilt
        texts = ["nothing" if value is _NOTHING else repr(value)[:_LONGEST] for value in pair]
        yield f"{place.removeprefix('.')}: reported {texts[0]}, recomputed {texts[1]}"


def count_values(value: Any) -> int:
    """Return the number of values of a document; a list or an object without any counts 1."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(map(count_values, inner)) or 1


def _entries(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {f".{key}": inner for key, inner in value.items()}
    return {f"[{place}]": inner for place, inner in enumerate(value)}


def _list_files(folder: Path) -> list[str]:
    """List everything that is no folder: also hidden files, links, pipes."""
    return [
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_symlink() or not path.is_dir()
    ]


def _verify_benchmark(path: str | Path, progress: Progress) -> Verification:
    """Verify a benchmark: run it again on the files of its folder, and compare all files."""
    source = ReportFolder(path)
    if source.path.parent != source.folder:  # the report of a mode
        source = ReportFolder(source.folder)
    report, name, manifest = source.report, source.path.name, source.report.manifest
    comparison = _FolderComparison(source.path, manifest.packages, list_claims(report))
    files = [mode.run for mode in report.modes.values()]
    runs = {file.path: file.sha256 for file in files if file.path is not None}
    comparison.check_hashes(runs, source.originals)
    terms = [manifest.config.get(name) for name in TERM_FILES]
    if any(one.startswith(f"{path}: ") for path in terms if path for one in comparison.problems):
        return comparison.result()  # without them, nothing is computed again
    with tempfile.TemporaryDirectory() as temporary:
        rebuilt = rebuild_result(source, Path(temporary, "again"), progress)
        result, scratch = rebuilt.result, rebuilt.result.folder.partial
        try:
            comparison.problems += rebuilt.problems
            comparison.unproven += rebuilt.unproven
            result = replace(
                result,
                report=comparison.choose_report(source.path, result.report),
                per_query=comparison.choose_values(result.per_query),
            )
            render_files(result, plots=comparison.draws_again(manifest.platform))
            comparison.compare_all(scratch, [name])
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
    path = folder.files.path / JUDGMENT_REPORT_FILE
    comparison = _FolderComparison(path, {"trectools-plus": written})
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
    comparison = _FolderComparison(path, report.manifest.packages, extraction_claims(report))
    made = rebuild_extraction(path, report)
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(temporary)
        result = replace(made, report=comparison.choose_report(path, made.report))
        comparison.hashed = len(write_extraction(result, scratch))
        comparison.compare_all(scratch)
    return comparison.result()
