"""Qrels and run for ``trec-eval``: reading, validation and ranking.

A rule declares whether C trec_eval's figures are determined by the data of a file that breaks it.
Such a file is scored as C trec_eval does, at once or with ``--permissive``; others are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl

from trectools_plus.display import Displayed
from trectools_plus.errors import CheckFailedError, FormatError, UsageError
from trectools_plus.formats.columns.columns import Columns, scan_columns
from trectools_plus.formats.files.content import BOM
from trectools_plus.formats.files.source import read_source
from trectools_plus.formats.qrels import N_FIELDS as QRELS_FIELDS
from trectools_plus.formats.run import N_FIELDS
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.judged import JudgedQueries, JudgedRun
from trectools_plus.measures.scoring.judgments import Judgments
from trectools_plus.measures.scoring.views import judge_file
from trectools_plus.ranking import rank_documents
from trectools_plus.trec_eval.arguments import Arguments
from trectools_plus.trec_eval.files import notes_on_files
from trectools_plus.validation.engine import (
    check_pair_view,
    check_view,
    damaged_report,
    open_qrels,
)
from trectools_plus.validation.findings import (
    DropIn,
    FileReport,
    Finding,
    Severity,
    refuse_errors,
)
from trectools_plus.validation.limits import DEFAULT_MAX_DEPTH
from trectools_plus.validation.rules.qrels.grades import HIGHEST_SCORED
from trectools_plus.validation.views.pairs import PairView
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.runs import RunView
from trectools_plus.validation.views.shape import fields_of

_ESCAPES = {byte: 0xE000 + byte for byte in range(0x80, 0x100)}
"""Characters in place of bytes that are not ASCII: not blanks, letters or marks, and in the order
of the bytes."""

_ESCAPE = re.compile(r"\\ue0([89a-f][0-9a-f])")

_View = TypeVar("_View", RunView, QrelsView)

_BLANK, _WORD = rb"[ \t\f\v]", rb"[^ \t\f\v\r\n]+"
_SEVENTH_FIELD = re.compile(
    rb"(?m)^(?!#)(B*W(?:B+W){5})B+[^ \t\f\v\r\n][^\n]*$".replace(b"B", _BLANK).replace(b"W", _WORD)
)
_NUMBER_START = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_HEX_START = r"^[+-]?0[xX][0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?(?:[pP][+-]?[0-9]+)?"
_INTEGER_START = r"^[+-]?[0-9]+"
_NOT_FINITE = r"(?i)^[+-]?(?:nan|inf)"


@dataclass(frozen=True, repr=False)
class Input(Displayed):
    """Qrels and run.

    Attributes:
        qrels: ``query_id, doc_id, relevance``; each pair once.
        run: ``query_id, doc_id, score``; or the ranks of judged documents, with queries numbered
            in byte order of their ids.
        run_id: The last column of the run's last row.
        notes: Notes on findings with which other commands or C trec_eval differ, one line each.
        is_escaped: Whether the ids are those of :func:`escape_bytes`.
    """

    qrels: pl.DataFrame
    run: pl.DataFrame | JudgedRun
    run_id: str
    notes: list[str] = field(default_factory=list)
    is_escaped: bool = False

    @classmethod
    def from_tables(cls, qrels: Qrels, run: Run) -> Input:
        """Use tables in memory without validating them."""
        return cls(
            qrels.frame.select("query_id", "doc_id", "relevance"),
            run.frame.select("query_id", "doc_id", "score"),
            run.name,
        )


def read_input(arguments: Arguments) -> Input:
    """Read the two files of a command line.

    Args:
        arguments: The files (``-`` is standard input), ``--permissive`` and the version are used.

    Raises:
        FindingsError: If a file has errors at which trec_eval stops, or with which its figures are
            not determined.
        InputError: If a file cannot be read.
    """
    qrels, run = arguments.files
    judged = _require_table(open_qrels(qrels))
    _refuse_other_form(judged)
    if not _has_other_bytes(judged):
        grades, of_qrels = _check_qrels(judged, arguments)
        clean = _read_clean_run(grades, run, arguments)
        if clean is not None:
            judged_run, run_id, found = clean
            return Input(grades, judged_run, run_id, notes_on_files(found, of_qrels))
    results, of_tags = _open_run(run)
    is_escaped = _has_other_bytes(judged) or _has_other_bytes(results)
    of_bytes: dict[str, list[Finding]] = {"qrels": [], "run": []}
    if is_escaped:
        of_bytes = {view.kind: _findings_on_bytes(view) for view in (judged, results)}
        judged = QrelsView.of_file(_escaped(judged))
        results = RunView.for_scoring(_escaped(results), DEFAULT_MAX_DEPTH)
    grades, of_qrels = _check_qrels(judged, arguments)
    results.other_query_ids = frozenset(judged.blocks.query_ids)
    found = [*of_tags, *_showing_bytes(check_view(results))]
    _refuse([*of_bytes["qrels"], *of_bytes["run"], *found], arguments)
    _refuse_where_it_stops(results, found)
    pair = _showing_bytes(check_pair_view(PairView(results, judged)))
    _refuse(pair, arguments)
    tag = str(results.frame["tag"][-1])
    notes = notes_on_files([*of_bytes["run"], *found, *pair], [*of_bytes["qrels"], *of_qrels])
    return Input(grades, _read_scores(results), tag, notes, is_escaped)


def _check_qrels(judged: QrelsView, arguments: Arguments) -> tuple[pl.DataFrame, list[Finding]]:
    """Return the grades and findings, or refuse the qrels."""
    found = _showing_bytes(check_view(judged))
    _refuse(found, arguments)
    _refuse_where_it_stops(judged, found)
    return _read_grades(judged), found


def escape_bytes(data: bytes) -> str:
    """Return a text in which each byte that is not ASCII is a private character of its own."""
    return data.decode("latin-1").translate(_ESCAPES)


def restore_bytes(text: str) -> str:
    """Return the text of :func:`escape_bytes` as Python decodes file names (PEP 383)."""
    back = {escape: byte for byte, escape in _ESCAPES.items()}
    return text.translate(back).encode("latin-1").decode("utf-8", "surrogateescape")


def _showing_bytes(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings in which escaped bytes are shown like ``\\xe9``."""
    return [replace(one, message=_ESCAPE.sub(r"\\x\1", one.message)) for one in findings]


def _has_other_bytes(view: RunView | QrelsView) -> bool:
    """Return whether the file is neither UTF-8, nor UTF-16 or UTF-32."""
    return view.columns is not None and view.columns.facts.encoding_guess == "latin-1"


def _escaped(view: RunView | QrelsView) -> Columns:
    """Split the file into columns again, with escapes in place of bytes that are not ASCII."""
    if view.columns is None:
        raise UsageError(
            "qrels of a catalogue cannot be compared with ids that are not UTF-8",
            where=view.path,
            remedy="convert the run: iconv -f latin1 -t utf-8",
        )
    source = view.columns.source
    mark = BOM if source.data.startswith(BOM) else b""
    data = mark + escape_bytes(source.data[len(mark) :]).encode()
    return scan_columns(replace(source, data=data), view.columns.n_fields)


def _findings_on_bytes(view: RunView | QrelsView) -> list[Finding]:
    """Return the finding that the file is not UTF-8, if so."""
    return [finding for finding in check_view(view) if finding.code == "F103"]


def judge_input(data: Input, arguments: Arguments) -> tuple[list[str], JudgedRun]:
    """Rank the documents, and look up the judged ones.

    Args:
        data: The files.
        arguments: The version is used.

    Returns:
        All queries of the qrels, in byte order, and the ranks of their judged documents.
    """
    query_ids = data.qrels["query_id"].unique().sort().to_list()
    if isinstance(data.run, JudgedRun):
        return query_ids, data.run
    queries = JudgedQueries(query_ids, [], [], data.qrels.lazy())
    joined = data.run.join(queries.numbers, on="query_id", maintain_order="left")
    ranked = rank_documents(joined, arguments.precision).select("query", "doc_id", "rank")
    return query_ids, JudgedRun.from_ranking(queries, ranked)


def _read_clean_run(
    grades: pl.DataFrame, run: str | Path, arguments: Arguments
) -> tuple[JudgedRun, str, list[Finding]] | None:
    """Read the judged documents, id and findings of a clean run in chunks.

    Returns:
        ``None`` for a run that must be read as a whole.
    """
    judgments = Judgments.of(Qrels(grades))
    ready: Future[Judgments] = Future()
    ready.set_result(judgments)
    found = judge_file(run, ready, arguments.precision)
    if found is None:
        return None
    judged, run_id, findings = found
    if arguments.strict_input and any(one.severity is Severity.ERROR for one in findings):
        return None
    # Polars sorts texts by their bytes, as does trec_eval.
    order = pl.Series(judgments.query_ids).arg_sort().to_numpy()
    place = np.argsort(order)
    renumbered = JudgedRun.of(
        judged.retrieved[order], place[judged.query], judged.rank, judged.grade
    )
    return renumbered, run_id, findings


def _refuse_where_it_stops(view: RunView | QrelsView, found: Sequence[Finding]) -> None:
    """Refuse errors that are accepted elsewhere, but at which trec_eval stops in this file.

    trec_eval stops at a row with too few columns for any reason, at one of qrels with too many, and
    at the second row of a query if column 3 does not contain the documents.
    """
    columns = view.columns
    if columns is None:
        return
    n_fields = columns.misshapen["n_fields"]
    stops = n_fields < N_FIELDS if view.kind == "run" else n_fields != columns.n_fields
    if view.shape.header is not None:
        stops &= columns.misshapen["line"] != view.shape.header[0]
    if stops.any():
        refuse_errors(finding for finding in found if finding.code in ("R114", "Q114"))
    if view.frame.select("query_id", "doc_id").is_duplicated().any():
        refuse_errors(finding for finding in found if finding.code == "R108")


def _open_run(path: str | Path) -> tuple[RunView, list[Finding]]:
    """Read a run without the words after the sixth column, which trec_eval ignores.

    Returns:
        The run; and the error of rows in which an id may contain a blank.
    """
    try:
        source = read_source(path, partial=True)
    except FormatError as error:
        refuse_errors(damaged_report(error, "run").findings)
        raise AssertionError("a damaged file has an error") from error
    view = RunView.for_scoring(scan_columns(source, N_FIELDS), DEFAULT_MAX_DEPTH)
    if not (view.misshapen["n_fields"] > N_FIELDS).any():
        return view, []
    found = [finding for finding in check_view(view) if finding.code == "R102"]
    cut = replace(source, data=_SEVENTH_FIELD.sub(rb"\1", source.data))
    return RunView.of_file(scan_columns(cut, N_FIELDS), DEFAULT_MAX_DEPTH), found


def _refuse_other_form(judged: QrelsView) -> None:
    """Refuse tables with a header and JSON, at which trec_eval stops."""
    if judged.is_arranged:
        findings = check_view(judged)
        found = next(one for one in findings if one.code in ("Q101", "Q103"))
        raise CheckFailedError(
            f"{found.message}; trec_eval stops here",
            where=found.place,
            remedy=f"convert it: trectools-plus qrels convert {judged.path} --output qrels.txt",
        )


def _require_table(view: _View | FileReport) -> _View:
    if isinstance(view, FileReport):
        refuse_errors(view.findings)
        raise AssertionError("a file without a table has an error")
    return view


def _refuse(findings: Sequence[Finding], arguments: Arguments) -> None:
    """Raise an error for findings that block scoring, unless C trec_eval's figures are wanted."""
    accepted: set[DropIn] = set() if arguments.strict_input else {"scores"}
    if arguments.permissive:
        accepted |= {"scores", "permissive"}
    refuse_errors(
        (one for one in findings if not one.blocks_scoring or one.drop_in not in accepted),
        strict_input=arguments.strict_input,
    )


def _read_grades(view: QrelsView) -> pl.DataFrame:
    frame = view.frame.select("query_id", "doc_id", "relevance")
    if frame["relevance"].dtype != pl.Int64:
        started = view.texts(4).str.extract(f"({_INTEGER_START})")
        # For numbers beyond 64 bits, C's atol returns the largest one, which is too large a grade.
        grades = started.cast(pl.Int64, strict=False).set(started.is_null(), 0)
        frame = frame.with_columns(relevance=grades.fill_null(HIGHEST_SCORED + 1))
    highest = frame["relevance"].max()
    if isinstance(highest, int) and highest > HIGHEST_SCORED:
        raise CheckFailedError(
            f"a grade is above {HIGHEST_SCORED:,}, for which trec_eval needs too much memory",
            where=view.path,
            remedy="rescale the grades to 0 to 4",
        )
    frame = frame.unique(["query_id", "doc_id"], keep="first", maintain_order=True)
    fields = _header_fields(view)
    return _with_header(frame, fields, 0) if len(fields) == QRELS_FIELDS else frame


def _read_scores(view: RunView) -> pl.DataFrame:
    frame = view.frame.select("query_id", "doc_id", "score")
    if frame["score"].is_nan().any():
        texts = view.texts(5)
        started = texts.str.extract(f"({_NUMBER_START})").cast(pl.Float64, strict=False)
        in_hex = texts.str.extract(f"({_HEX_START})").map_elements(float.fromhex, pl.Float64)
        started = in_hex.fill_null(started)
        if texts.str.contains(_NOT_FINITE).any() or started.is_infinite().any():
            raise CheckFailedError(
                "a score is NaN or infinite, so the order in trec_eval is not determined",
                where=view.path,
                remedy="correct the score, or remove the row",
            )
        frame = frame.with_columns(
            score=pl.when(frame["score"].is_nan()).then(started.fill_null(0.0)).otherwise("score")
        )
    fields = _header_fields(view)
    return _with_header(frame, fields, 0.0) if len(fields) >= N_FIELDS else frame


def _header_fields(view: RunView | QrelsView) -> list[str]:
    """Return the fields of a header line, which trec_eval reads like any other line."""
    return [] if view.shape.header is None else fields_of(view.shape.header[1])


def _with_header(frame: pl.DataFrame, fields: list[str], number: float) -> pl.DataFrame:
    """Return the rows after a header, whose word in the column of numbers is read as 0."""
    row = pl.DataFrame([(fields[0], fields[2], number)], frame.schema, orient="row")
    return pl.concat([row, frame])
