"""Read runs, qrels and topics for scoring, rejecting errors; convert and describe files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from trectools_plus.errors import FormatError
from trectools_plus.formats.columns.columns import Origin
from trectools_plus.formats.files.content import read_file
from trectools_plus.formats.interchange.names import ColumnNames, KindName, column_names
from trectools_plus.text import listed
from trectools_plus.validation.engine import (
    View,
    check_pair_view,
    check_view,
    damaged_report,
    open_qrels,
    open_run,
)
from trectools_plus.validation.findings import (
    NOTHING_JUDGED,
    FileReport,
    Finding,
    notes_on_findings,
    refuse_errors,
)
from trectools_plus.validation.registry import DEFAULT_MAX_DEPTH
from trectools_plus.validation.rules.pairs import PairView
from trectools_plus.validation.views.kinds import QrelsView, RunView

if TYPE_CHECKING:
    from trectools_plus.formats.tables import Qrels, Run, Topics


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
    view = open_single_run(path, columns=column_names(columns))
    judged = None if qrels is None else QrelsView.of_table(qrels)
    accept_run(view, judged, strict_input=strict_input)
    return view.table(view.tag)


def open_single_run(
    path: str | Path, max_depth: int | None = DEFAULT_MAX_DEPTH, columns: ColumnNames | None = None
) -> RunView:
    """Read a run without checking it."""
    return refuse_report(open_run(path, max_depth, for_scoring=True, columns=columns))


def accept_run(
    view: RunView,
    qrels: QrelsView | None = None,
    *,
    accepts_unjudged: bool = False,
    strict_input: bool = False,
) -> tuple[Finding, ...]:
    """Return the findings on a run that do not block scoring.

    Args:
        view: The run.
        qrels: The qrels for scoring; if given, the ids must match.
        accepts_unjudged: Accept a run without judged documents.
        strict_input: Reject every error, also those that change no figure.

    Raises:
        FindingsError: If it has an error that blocks scoring.
        FormatError: If a column may name several systems.
    """
    refuse_several_systems(view)
    if qrels is not None:
        view.other_query_ids = frozenset(qrels.query_ids)
    findings = check_view(view)
    refuse_errors(findings, strict_input=strict_input)
    pair = [] if qrels is None else check_pair_view(PairView(view, qrels))
    on_ids = [one for one in pair if not accepts_unjudged or one.code != NOTHING_JUDGED]
    refuse_errors(on_ids, strict_input=strict_input)
    return (*findings, *on_ids)


def refuse_report(opened: View | FileReport) -> View:
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
    path: str | Path, *, strict_input: bool = False, columns: Mapping[str, str] | None = None
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
    view, _ = open_valid_qrels(path, strict_input=strict_input, columns=column_names(columns))
    return view.table(str(path))


def open_valid_qrels(
    path: str | Path, *, strict_input: bool = False, columns: ColumnNames | None = None
) -> tuple[QrelsView, tuple[Finding, ...]]:
    """Read qrels like :func:`load_qrels`; return a view, and findings that do not block scoring.

    Args:
        path: The qrels; ``-`` is standard input.
        strict_input: Reject every error, also those that change no figure.
        columns: The columns of some fields in a table.
    """
    view = refuse_report(open_qrels(path, columns))
    findings = check_view(view)
    refuse_errors(findings, strict_input=strict_input)
    return view, tuple(findings)


def load_topics(
    path: str | Path, *, id_field: str | None = None, text_fields: Sequence[str] = ()
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
    from trectools_plus.validation.topics import validate_topics

    options = TopicOptions(id_field, tuple(text_fields))
    if str(path) != "-":
        refuse_errors(validate_topics(path, options=options).findings)
    return read_topics(path, options)


# Conversion and description

_Content = TypeVar("_Content", "Run", "Qrels")

_FORM_CODES = {"R103", "R105", "Q101", "Q103"}
"""Rules that report the form of a file, which a conversion changes."""


@dataclass(frozen=True)
class ConvertedTable(Generic[_Content]):
    """A run or qrels in another format.

    Attributes:
        table: Its rows.
        format: The name of the format, for messages.
        notes: What the conversion added or left out, one clause each, and the findings that do not
            block scoring, without those on the form.
    """

    table: _Content
    format: str
    notes: tuple[str, ...]


def convert_run(
    path: str | Path, *, source_format: str | None = None, columns: ColumnNames | None = None
) -> ConvertedTable[Run]:
    """Read a run in any supported format.

    Args:
        path: The file; ``-`` is standard input.
        source_format: A format of ``FORMATS``; ``None`` detects it.
        columns: The columns of some fields in a table.

    Returns:
        The run; its scores are the negated ranks if the file has no scores. Its name is the first
        tag of the file, or made from the name of the file.

    Raises:
        FindingsError: If the file has errors that block scoring.
        FormatError: If it has another format, or is a table of several systems.
        InputError: If it cannot be read.
    """
    return _convert(path, "run", source_format, columns)


def convert_qrels(
    path: str | Path, *, source_format: str | None = None, columns: ColumnNames | None = None
) -> ConvertedTable[Qrels]:
    """Read qrels in any supported format; see :func:`convert_run`.

    Args:
        path: The file; ``-`` is standard input.
        source_format: A format of ``FORMATS``; ``None`` detects it.
        columns: The columns of some fields in a table.

    Returns:
        The judgments; identical repeated judgments once.

    Raises:
        FindingsError: If the file has errors that block scoring.
        FormatError: If it has another format.
        InputError: If it cannot be read.
    """
    return _convert(path, "qrels", source_format, columns)


def _convert(
    path: str | Path, kind: KindName, source_format: str | None, columns: ColumnNames | None
) -> ConvertedTable[Any]:
    from trectools_plus.formats.interchange.detection import convert_columns

    try:
        source = read_file(path, partial=True, tables=True)
    except FormatError as error:
        refuse_errors(damaged_report(error, kind).findings)
        raise
    read = convert_columns(source, kind, source_format, columns)
    view: RunView | QrelsView = (
        QrelsView.of_file(read) if kind == "qrels" else RunView.for_scoring(read)
    )
    name, tags, origin = str(path), list[str](), read.origin or Origin()
    if isinstance(view, RunView):
        refuse_several_systems(view)
        name, tags = view.tag, view.rows.tags.texts(view.rows.tags.numbered()[1])
    findings = check_view(view)
    refuse_errors(findings)
    notes = list(origin.notes)
    if origin.left_out:
        notes.append(f"not converted: {listed(origin.left_out, 50)}")
    if len(tags) > 1:
        notes.append(f"the tag {name} replaces the tags {listed(tags)}")
    notes += notes_on_findings(one for one in findings if one.code not in _FORM_CODES)
    return ConvertedTable(view.table(name), read.format or "TREC", tuple(notes))


def describe_file(path: str | Path) -> dict[str, Any]:
    """Return the fields of :class:`~trectools_plus.retrieval.RunInfo` of a run as JSON values.

    Raises:
        FindingsError: If the file has an error that blocks scoring.
        InputError: If it cannot be read, or is a table of several systems.
    """
    run = open_single_run(path)
    accept_run(run)
    sizes, scored, ranks = run.blocks.sizes, run.scored, run.usable_ranks
    same_query, in_order = run.grouped.same_query, run.grouped.rows(np.arange(run.n_rows))
    equal = (scored.score[1:] == scored.score[:-1]) & scored.same_query
    return {
        "path": run.path,
        "tag": run.tag,
        "queries": len(sizes),
        "rows": run.n_rows,
        "depth": {
            "min": int(sizes.min()),
            "median": float(np.median(sizes)),
            "max": int(sizes.max()),
        },
        "lowest_score": float(run.score.min()),
        "highest_score": float(run.score.max()),
        "ties_64": int(np.count_nonzero(equal)),
        "ties_32": len(run.ties32),
        "first_rank": int(ranks.min()),
        "ranks_follow_scores": not (np.diff(ranks[run.order(32)])[same_query] < 0).any(),
        "rows_follow_ranks": not (np.diff(ranks[in_order])[same_query] < 0).any(),
    }
