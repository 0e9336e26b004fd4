"""Read runs, qrels and topics for scoring, and reject files with errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from trectools_plus.errors import FormatError
from trectools_plus.formats.interchange.names import ColumnNames, column_names
from trectools_plus.validation.engine import (
    check_pair_view,
    check_view,
    open_qrels,
    open_run,
)
from trectools_plus.validation.findings import NOTHING_JUDGED, FileReport, Finding, refuse_errors
from trectools_plus.validation.registry import DEFAULT_MAX_DEPTH
from trectools_plus.validation.views.pairs import PairView
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.runs import RunView

if TYPE_CHECKING:
    from trectools_plus.formats.tables import Qrels, Run, Topics

_View = TypeVar("_View", RunView, QrelsView)


def load_run(
    path: str | Path,
    *,
    qrels: Qrels | None = None,
    strict_input: bool = False,
    columns: Mapping[str, str] | None = None,
) -> Run:
    """Read a run and reject it if its figures would be wrong or ambiguous.

    Other findings are accepted. Words after the tag and a header line are skipped. If a rank is
    not a whole number, the ranks are the positions in the file: scoring uses the scores.

    The file is in TREC form, a table (CSV, TSV or Parquet) or JSON: see ``docs/formats.md``.

    Args:
        path: The run; ``-`` is standard input.
        qrels: The qrels for scoring; if given, the ids must match.
        strict_input: Reject every error, also those that change no figure.
        columns: The columns of a table, if their names are unusual, or their numbers:
            ``{"query": "q", "doc_id": "_id", "score": "_score"}``.

    Returns:
        The run; its name is the tag.

    Raises:
        FindingsError: If the file has an error that blocks scoring; see its ``findings``.
        InputError: If the file cannot be read at all, or is a table of several systems.
    """
    run, _ = load_run_with_findings(
        path, qrels=qrels, strict_input=strict_input, columns=column_names(columns)
    )
    return run


def load_run_with_findings(
    path: str | Path,
    *,
    qrels: Qrels | None = None,
    max_depth: int | None = DEFAULT_MAX_DEPTH,
    strict_input: bool = False,
    columns: ColumnNames | None = None,
) -> tuple[Run, tuple[Finding, ...]]:
    """Read a run like :func:`load_run`, and also return findings that do not block scoring.

    Args:
        path: The run; ``-`` is standard input.
        qrels: The qrels for scoring; if given, the ids must match.
        max_depth: Results allowed per query; ``None`` for no limit. Deeper queries do not block
            scoring.
        strict_input: Reject every error, also those that change no figure.
        columns: The columns of some fields in a table.
    """
    view = open_single_run(path, max_depth, columns)
    judged = None if qrels is None else QrelsView.of_table(qrels)
    return RunLoader(judged, strict_input=strict_input).load(view, view.tag)


def open_single_run(
    path: str | Path,
    max_depth: int | None = DEFAULT_MAX_DEPTH,
    columns: ColumnNames | None = None,
) -> RunView:
    """Read a run without checking it, and refuse a table of several systems."""
    view = refuse_report(open_run(path, max_depth, for_scoring=True, columns=columns))
    refuse_several_systems(view)
    return view


@dataclass(frozen=True, slots=True)
class RunLoader:
    """Checks and loads runs.

    Attributes:
        qrels: The qrels for scoring; if given, the ids must match.
        accepts_unjudged: Accept a run without judged documents.
        strict_input: Reject every error, also those that change no figure.
    """

    qrels: QrelsView | None = None
    accepts_unjudged: bool = False
    strict_input: bool = False

    def check(self, view: RunView) -> tuple[Finding, ...]:
        """Return the findings on a run that do not block scoring.

        Raises:
            FindingsError: If it has an error that blocks scoring.
            FormatError: If it has no rows.
        """
        if self.qrels is not None:
            view.other_query_ids = frozenset(self.qrels.query_ids)
        findings = check_view(view)
        refuse_errors(findings, strict_input=self.strict_input)
        if not view.n_rows:  # JSON whose queries have no results
            raise FormatError(
                "no data rows",
                path=view.path,
                remedy="check whether the job stopped before writing",
            )
        if self.qrels is None:
            return tuple(findings)
        on_ids = check_pair_view(PairView(view, self.qrels))
        if self.accepts_unjudged:
            on_ids = [finding for finding in on_ids if finding.code != NOTHING_JUDGED]
        refuse_errors(on_ids, strict_input=self.strict_input)
        return (*findings, *on_ids)

    def load(self, view: RunView, name: str) -> tuple[Run, tuple[Finding, ...]]:
        """Return a run, and its findings that do not block scoring; raises like :meth:`check`."""
        findings = self.check(view)
        return view.table(name), findings


def refuse_report(opened: _View | FileReport) -> _View:
    """Return a view, or refuse a file of which there is only a report."""
    if isinstance(opened, FileReport):
        refuse_errors(opened.findings)
        raise AssertionError("a report without a view must contain an error")
    return opened


def refuse_several_systems(view: RunView) -> None:
    """Refuse a table of several systems.

    Raises:
        FormatError: If a column may name several systems.
    """
    if view.systems is not None:
        raise FormatError(
            f"{view.systems} may name systems, because a query has several of its values",
            path=view.path,
            remedy="write a file for each system, or remove the column",
        )


def load_qrels(
    path: str | Path,
    *,
    strict_input: bool = False,
    columns: Mapping[str, str] | None = None,
) -> Qrels:
    """Read qrels and reject them if figures would be wrong or ambiguous.

    Repeated judgments with the same grade are dropped, a grade of ``1.0`` is read as 1, and a
    header line is skipped. A file is in TREC form, a table (CSV, TSV or Parquet, for example
    BEIR's TSV), or JSON: see ``docs/formats.md``.

    Args:
        path: The qrels; ``-`` is standard input.
        strict_input: Reject every error, also those that change no figure.
        columns: The columns of a table, as in :func:`load_run`:
            ``{"query": "q", "doc_id": "d", "relevance": "label"}``.

    Raises:
        FindingsError: If the file has an error that blocks scoring; see its ``findings``.
        InputError: If the file cannot be read at all.
    """
    qrels, _ = load_qrels_with_findings(
        path, strict_input=strict_input, columns=column_names(columns)
    )
    return qrels


def load_qrels_with_findings(
    path: str | Path, *, strict_input: bool = False, columns: ColumnNames | None = None
) -> tuple[Qrels, tuple[Finding, ...]]:
    """Read qrels like :func:`load_qrels`, and also return findings that do not block scoring.

    Args:
        path: The qrels; ``-`` is standard input.
        strict_input: Reject every error, also those that change no figure.
        columns: The columns of some fields in a table.
    """
    view, findings = open_valid_qrels(path, strict_input=strict_input, columns=columns)
    return view.table(str(path)), findings


def open_valid_qrels(
    path: str | Path, *, strict_input: bool = False, columns: ColumnNames | None = None
) -> tuple[QrelsView, tuple[Finding, ...]]:
    """Read qrels like :func:`load_qrels_with_findings`, as a view."""
    view = refuse_report(open_qrels(path, columns))
    findings = check_view(view)
    refuse_errors(findings, strict_input=strict_input)
    return view, tuple(findings)


def load_topics(
    path: str | Path,
    *,
    id_field: str | None = None,
    text_fields: Sequence[str] = (),
) -> Topics:
    """Read topics and reject them if the validators find an error.

    The content of the file decides its format: TSV (``id TAB text``), tables with a header, JSON
    Lines, JSON, TREC SGML, XML and others, see ``docs/formats.md``. Additional fields become text
    columns. ``read_as`` of the result describes unusual formats and fields.

    Args:
        path: The topics; ``-`` is standard input, to which the validators are not applied;
            ``irds:<id>`` is a dataset of ``ir_datasets``.
        id_field: The field with the id; by default, the names of the fields decide.
        text_fields: The fields with the text, which are joined by blanks.

    Raises:
        FindingsError: If the file has an error; its ``findings`` list all of them.
        FormatError: If the reader rejects the content of the file.
        InputError: If the file cannot be read.
    """
    from trectools_plus.formats.topics import TopicOptions, read_topics
    from trectools_plus.validation.topics.engine import validate_topics

    options = TopicOptions(id_field, tuple(text_fields))
    if str(path) != "-":
        refuse_errors(validate_topics(path, options=options).findings)
    return read_topics(path, options)
