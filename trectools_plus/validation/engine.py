"""Run rules over files and tables; profiles, and the choice of rules and severities."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike, fsdecode
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from trectools_plus.choices import MAX_TAG_LENGTH
from trectools_plus.errors import FormatError, UsageError
from trectools_plus.formats.columns.rows import RunRows
from trectools_plus.formats.files.content import read_file
from trectools_plus.formats.files.opening import BinaryFileError, is_catalogue_name
from trectools_plus.formats.interchange.names import ColumnNames
from trectools_plus.formats.lexing import lex
from trectools_plus.validation.findings import FileReport, Finding, Fix, Severity
from trectools_plus.validation.registry import DEFAULT_MAX_DEPTH, TREC_MAX_DEPTH, Rule
from trectools_plus.validation.rules import RULES
from trectools_plus.validation.rules.pairs import PairView
from trectools_plus.validation.views.kinds import QrelsView, RunView
from trectools_plus.validation.views.tables import TableView

if TYPE_CHECKING:
    import polars as pl

    from trectools_plus.formats.tables import Qrels, Run, Topics

MIN_BYTES_IN_PARTS = 2 << 20
"""The size of a file from which a run is read in parts."""

View = TypeVar("View", RunView, QrelsView)
"""A view of a run, or of qrels."""


def validate_run(
    path: Any,
    *,
    qrels: Any = None,
    topics: Topics | None = None,
    max_depth: int | None = DEFAULT_MAX_DEPTH,
    max_tag_length: int = MAX_TAG_LENGTH,
    every_line: bool = False,
    optional_rules: bool = False,
    collection: pl.Series | None = None,
) -> FileReport:
    """Check a run, alone or together with qrels and topics.

    Args:
        path: The file; ``-`` is standard input. A table, a dictionary or a data frame is checked
            with the rules that do not need a file.
        qrels: Qrels to compare ids with, in any form. :func:`validate_qrels` checks them.
        topics: The queries that the run should answer.
        max_depth: Results allowed per query; ``None`` for no limit.
        max_tag_length: Characters allowed in the run tag.
        every_line: Put the line numbers of all places into findings, not only the first few.
        optional_rules: Also run the rules that are off by default.
        collection: The document ids of the collection.

    Returns:
        All findings of the file. A malformed file is a report with errors, not an exception.

    Raises:
        InputError: If a file cannot be read at all: missing, a folder, no permission.
    """
    judged = None if qrels is None else _view_of(qrels, open_qrels, QrelsView)
    qrels = judged if isinstance(judged, QrelsView) and judged.n_rows else None
    run: RunView | FileReport | None = None
    if isinstance(path, str | PathLike) and is_read_in_parts(path) and not every_line:
        from trectools_plus.validation.parts import ViewSettings, view_in_parts

        settings = ViewSettings(max_depth, max_tag_length, qrels=qrels, collection=collection)
        run = view_in_parts(fsdecode(path), settings)
    run = run or _view_of(path, partial(open_run, max_depth=max_depth), RunView)
    if isinstance(run, FileReport):
        return run
    run.every_line, run.optional_rules = every_line, optional_rules
    run.max_tag_length = max_tag_length
    has_pair = run.n_rows and not isinstance(judged, FileReport)
    topic_ids = None if topics is None else topics.query_ids
    pair = PairView(run, qrels, topic_ids, collection=collection) if has_pair else None
    return report_view(run, pair)


def is_read_in_parts(path: str | PathLike[str]) -> bool:
    """Return whether a run is a large file, not a pipe, which cannot be read twice."""
    return Path(path).is_file() and Path(path).stat().st_size >= MIN_BYTES_IN_PARTS


def validate_qrels(
    path: Any, *, run: Any = None, topics: Topics | None = None, every_line: bool = False
) -> FileReport:
    """Check qrels, alone or together with a run and topics.

    Args:
        path: The file; ``-`` is standard input. A table, a dictionary or a data frame is checked
            with the rules that do not need a file.
        run: A run in any form to compare ids with; ids that do not match are reported at the lines
            of the qrels. :func:`validate_run` checks the run.
        topics: The queries that may be judged.
        every_line: Put the line numbers of all places into findings, not only the first few.

    Returns:
        All findings of the file. A malformed file is a report with errors, not an exception.

    Raises:
        InputError: If a file cannot be read at all: missing, a folder, no permission.
    """
    qrels = _view_of(path, open_qrels, QrelsView)
    if isinstance(qrels, FileReport):
        return qrels
    qrels.every_line = every_line
    if not qrels.n_rows or (run is None and topics is None):
        return report_view(qrels)
    other = None if run is None else _view_of(run, partial(open_run, max_depth=None), RunView)
    if not isinstance(other, RunView) or not other.n_rows:
        other = RunView("", RunRows.none())
    topic_ids = None if topics is None else topics.query_ids
    return report_view(qrels, PairView(other, qrels, topic_ids, is_of_run=False))


def check_pair(run: Run, qrels: Qrels, topics: Topics | None = None) -> list[Finding]:
    """Compare the ids of a run with those of qrels and, if given, of topics.

    Args:
        run: The run.
        qrels: The judgments.
        topics: The topics that the run should answer.

    Returns:
        The findings, none if either table is empty; those with ``blocks_scoring`` make scores
        wrong or ambiguous.
    """
    views = RunView.of_table(run), QrelsView.of_table(qrels)
    pair = PairView(*views, None if topics is None else topics.query_ids)
    return check_pair_view(pair) if all(view.n_rows for view in views) else []


def open_run(
    path: str | Path,
    max_depth: int | None,
    *,
    for_scoring: bool = False,
    columns: ColumnNames | None = None,
) -> RunView | FileReport:
    """Read and lex a run; return a report if it is not text or its compressed stream is damaged.

    Args:
        path: The run; ``-`` is standard input.
        max_depth: Results allowed per query; ``None`` for no limit.
        for_scoring: Ignore words after the tag, if nothing else can be meant.
        columns: The columns of some fields in a table.

    Raises:
        FormatError: If a Parquet file cannot be read as a run, or a column does not exist.
    """
    try:
        source = read_file(path, partial=True, tables=True)
    except FormatError as error:
        return damaged_report(error, "run")
    make = RunView.for_scoring if for_scoring else RunView.of_file
    view = make(lex(source, "run", columns))
    view.max_depth = max_depth
    return view


def open_qrels(path: str | Path, columns: ColumnNames | None = None) -> QrelsView | FileReport:
    """Read and lex qrels; see :func:`open_run`.

    Args:
        path: The qrels; ``-`` is standard input, and ``irds:<id>`` a dataset of ``ir_datasets``.
        columns: The columns of some fields in a table.
    """
    if is_catalogue_name(path):
        from trectools_plus.formats.collection import CatalogueDataset

        return QrelsView.of_table(CatalogueDataset(str(path)).read_qrels())
    try:
        source = read_file(path, partial=True, tables=True)
    except FormatError as error:
        return damaged_report(error, "qrels")
    return QrelsView.of_file(lex(source, "qrels", columns))


def check_view(view: TableView) -> list[Finding]:
    """Run the rules over a view, and leave out fixes if one of them prevents them.

    Tables and JSON are not fixed.
    """
    findings = run_rules(view, ("file", view.kind), view)
    if view.origin or any(RULES[one.code].blocks_fixing and one.fix is Fix.NO for one in findings):
        findings = [replace(finding, fix=Fix.NO) for finding in findings]
    return findings


def check_pair_view(pair: PairView) -> list[Finding]:
    """Run the rules on a run with its qrels or topics; see :func:`check_view`."""
    is_alone = pair.qrels is None and pair.topic_ids is None and pair.collection is None
    rules = [RULES["P110"]] if is_alone else RULES  # the others compare the run with something
    return run_rules(pair, ("pair",), pair.reported_view, rules=rules)


def run_rules(
    subject: TableView | PairView,
    kinds: Container[str],
    reported_view: TableView,
    *,
    rules: Iterable[Rule] = RULES,
) -> list[Finding]:
    """Run the rules of some kinds.

    Args:
        subject: The view that the rules check.
        kinds: The kinds of rules to run.
        reported_view: The view whose path and lines the findings report.
        rules: The rules.
    """
    is_file, with_optional = reported_view.columns is not None, reported_view.optional_rules
    findings = {
        rule: rule.check(subject, reported_view)
        for rule in rules
        if rule.on in kinds and (is_file or rule.tables) and (with_optional or not rule.optional)
    }
    codes = {rule.code for rule, finding in findings.items() if finding}
    return [one for rule, one in findings.items() if one and codes.isdisjoint(rule.unless)]


def _view_of(
    data: Any, read: Callable[[str], View | FileReport], kind: type[View]
) -> View | FileReport:
    """Return the view of a run or of qrels in any form; a report if a file is damaged."""
    if isinstance(data, kind):
        return data
    if isinstance(data, str | PathLike):
        return read(fsdecode(data))
    from trectools_plus.formats.tables import Qrels, Run

    table: Any = Run if kind is RunView else Qrels
    return kind.of_table(data if isinstance(data, table) else table(data))


def report_view(view: TableView, pair: PairView | None = None) -> FileReport:
    """Run the rules for files of its kind over a view, and those for its pair with another file."""
    findings = [*check_view(view), *(check_pair_view(pair) if pair is not None else ())]
    return report_on(view, findings)


def report_on(view: TableView, findings: Sequence[Finding]) -> FileReport:
    """Return the report with the findings on a file."""
    return FileReport(
        view.path, view.kind, view.n_rows, view.n_queries, tuple(findings), view.read_as
    )


def damaged_report(error: FormatError, kind: str) -> FileReport:
    """Return the report on a file that is not text (F103), or whose stream is damaged (F111)."""
    code = "F103" if isinstance(error, BinaryFileError) else "F111"
    remedy = error.remedy and error.remedy[:1].upper() + error.remedy[1:]
    finding = RULES[code].finding(error.path, error.what, remedy=remedy)
    return FileReport(error.path, kind, 0, 0, (finding,))


@dataclass(frozen=True)
class Choices:
    """The chosen rules, their severities and limits, and the severities that fail a check.

    Attributes:
        max_depth: Results allowed per query.
        severities: Severities that differ from those of the rules, by code.
        max_tag_length: Characters allowed in the run tag.
        strict: True if warnings fail the check too.
        select: Codes of the only rules that are reported; empty for all.
        ignore: Codes of rules that are not reported, although they are selected.
    """

    max_depth: int = DEFAULT_MAX_DEPTH
    severities: Mapping[str, Severity] = field(default_factory=dict)
    max_tag_length: int = MAX_TAG_LENGTH
    strict: bool = False
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    @staticmethod
    def of(
        profile: str | None = None,
        select: Sequence[str] = (),
        ignore: Sequence[str] = (),
        *,
        max_depth: int | None = None,
        strict: bool = False,
    ) -> Choices:
        """Return the choices of a user.

        Args:
            profile: The name of a profile.
            select: Report only these rules: codes, prefixes of codes, or names.
            ignore: Do not report these rules.
            max_depth: Results allowed per query; by default those of the profile.
            strict: Fail the check on warnings too.

        Raises:
            UsageError: If a profile does not exist, or a code or name matches no rule.
        """
        base = PROFILES.get(profile or "default")
        if base is None:
            raise UsageError(
                f"unknown profile '{profile}'", remedy=f"profiles: {', '.join(PROFILES)}"
            )
        base = replace(base, max_depth=max_depth or base.max_depth, strict=strict)
        if not select and not ignore:
            return base
        from trectools_plus.validation.rules.topics import CATALOGUE

        return replace(base, select=CATALOGUE.codes(select), ignore=CATALOGUE.codes(ignore))

    def chosen(self, code: str) -> bool:
        """Return whether the rule with a code is reported."""
        return (not self.select or code in self.select) and code not in self.ignore

    def apply(self, report: FileReport) -> FileReport:
        """Return the report with the chosen findings and the severities of the profile."""
        findings = (
            replace(finding, severity=self.severity(finding))
            for finding in report.findings
            if self.chosen(finding.code)
        )
        return replace(report, findings=tuple(findings))

    def severity(self, finding: Finding) -> Severity:
        """Return the severity of a finding in this profile, which P103 keeps on most queries."""
        if finding.code == "P103" and finding.count * 2 > (finding.total or 0):
            return finding.severity
        return self.severities.get(finding.code, finding.severity)

    def fails(self, report: FileReport) -> bool:
        """Return whether a report that :meth:`apply` returned fails the check."""
        failing = {Severity.ERROR, Severity.WARNING} if self.strict else {Severity.ERROR}
        return any(finding.severity in failing for finding in report.findings)


PROFILES = {
    "default": Choices(),
    "trec": Choices(TREC_MAX_DEPTH, dict.fromkeys(("P103", "P108"), Severity.WARNING)),
    "submission": Choices(
        severities=dict.fromkeys(("P108", "R107", "R151", "R152"), Severity.ERROR),
        max_tag_length=25,
    ),
}
"""The profiles by name."""
