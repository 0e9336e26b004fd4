"""Qrels and run for ``trec-eval``: reading, validation and ranking.

Files are refused if a figure would be wrong or ambiguous, as in all of this package. With
``--permissive``, errors at which trec_eval continues are accepted, for example numbers followed by
a text, or files without a common id.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl

from trectools_plus.display import Displayed
from trectools_plus.errors import CheckFailedError, FormatError
from trectools_plus.formats.columns.columns import scan_columns
from trectools_plus.formats.files.source import read_source
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
    FileReport,
    Finding,
    Severity,
    refuse_errors,
)
from trectools_plus.validation.limits import DEFAULT_MAX_DEPTH
from trectools_plus.validation.views.pairs import PairView
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.runs import RunView

MAX_GRADE = 2**20
"""The highest grade that is accepted: trec_eval uses a counter per grade, here 8 MiB in total."""

_PERMITTED = frozenset(
    {"R108", "R110", "R111", "R114", "R121", "R142"}
    | {"Q110", "Q111", "Q122", "Q135"}
    | {"P101", "P104", "P105", "P106"}
)
"""Errors that block scoring but at which trec_eval continues; at all others it stops or crashes."""

_View = TypeVar("_View", RunView, QrelsView)

_BLANK, _WORD = rb"[ \t\f\v]", rb"[^ \t\f\v\r\n]+"
_SEVENTH_FIELD = re.compile(
    rb"(?m)^(?!#)(B*W(?:B+W){5})B+[^ \t\f\v\r\n][^\n]*$".replace(b"B", _BLANK).replace(b"W", _WORD)
)
_NUMBER_START = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_INTEGER_START = r"^[+-]?[0-9]+"
_INFINITE = r"(?i)^[+-]?inf(inity)?$"
_NAN = r"(?i)^[+-]?nan"


@dataclass(frozen=True, repr=False)
class Input(Displayed):
    """Qrels and run.

    Attributes:
        qrels: ``query_id, doc_id, relevance``; each pair once.
        run: ``query_id, doc_id, score``; or the ranks of judged documents, with queries numbered
            in byte order of their ids.
        run_id: The last column of the run's last row.
        notes: Notes on errors that were accepted and on all other findings, one line each.
    """

    qrels: pl.DataFrame
    run: pl.DataFrame | JudgedRun
    run_id: str
    notes: list[str] = field(default_factory=list)

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
        FindingsError: If a file has errors at which trec_eval stops or that it misreads.
        InputError: If a file cannot be read.
    """
    qrels, run = arguments.files
    judged = _require_table(open_qrels(qrels))
    _refuse_other_form(judged)
    of_qrels = check_view(judged)
    _refuse(of_qrels, arguments)
    grades = _read_grades(judged)
    clean = _read_clean_run(grades, run, arguments)
    if clean is not None:
        judged_run, run_id, found = clean
        return Input(grades, judged_run, run_id, notes_on_files(found, of_qrels))
    results = _require_table(_open_run(run, arguments.permissive))
    results.other_query_ids = frozenset(judged.blocks.query_ids)
    found = check_view(results)
    _refuse(found, arguments)
    _refuse_where_it_stops(results, found)
    pair = check_pair_view(PairView(results, judged))
    _refuse(pair, arguments)
    tag = str(results.frame["tag"][-1])
    return Input(grades, _read_scores(results), tag, notes_on_files([*found, *pair], of_qrels))


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


def _refuse_where_it_stops(results: RunView, found: Sequence[Finding]) -> None:
    """Refuse errors that ``--permissive`` accepts, but at which trec_eval stops in this file.

    trec_eval stops at a row with too few columns for any reason, and at the second row of a query
    if column 3 does not contain the documents.
    """
    columns = results.columns
    if columns is not None and (columns.misshapen["n_fields"] < N_FIELDS).any():
        refuse_errors(finding for finding in found if finding.code == "R114")
    if results.frame.select("query_id", "doc_id").is_duplicated().any():
        refuse_errors(finding for finding in found if finding.code == "R108")


def _open_run(path: str | Path, permissive: bool) -> RunView | FileReport:
    try:
        source = read_source(path, partial=True)
    except FormatError as error:
        return damaged_report(error, "run")
    view = RunView.for_scoring(scan_columns(source, N_FIELDS), DEFAULT_MAX_DEPTH)
    if permissive and (view.misshapen["n_fields"] > N_FIELDS).any():
        cut = replace(source, data=_SEVENTH_FIELD.sub(rb"\1", source.data))
        return RunView.of_file(scan_columns(cut, N_FIELDS), DEFAULT_MAX_DEPTH)
    return view


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
    """Raise an error for findings that block scoring and that are not permitted."""
    permitted = _PERMITTED if arguments.permissive else frozenset[str]()
    refuse_errors(
        (finding for finding in findings if finding.code not in permitted),
        strict_input=arguments.strict_input,
    )


def _read_grades(view: QrelsView) -> pl.DataFrame:
    frame = view.frame.select("query_id", "doc_id", "relevance")
    if frame["relevance"].dtype != pl.Int64:
        started = view.texts(4).str.extract(f"({_INTEGER_START})")
        # For numbers beyond 64 bits, C's atol returns the largest one, which is too large a grade.
        grades = started.cast(pl.Int64, strict=False).set(started.is_null(), 0)
        frame = frame.with_columns(relevance=grades.fill_null(MAX_GRADE + 1))
    highest = frame["relevance"].max()
    if isinstance(highest, int) and highest > MAX_GRADE:
        raise CheckFailedError(
            f"a grade above {MAX_GRADE:,} makes trec_eval hang or crash",
            where=view.path,
            remedy="rescale the grades to 0 to 4",
        )
    return frame.unique(["query_id", "doc_id"], keep="first", maintain_order=True)


def _read_scores(view: RunView) -> pl.DataFrame:
    frame = view.frame.select("query_id", "doc_id", "score")
    if not frame["score"].is_nan().any():
        return frame
    texts = view.texts(5)
    if texts.str.contains(_NAN).any():
        raise CheckFailedError(
            "a score is NaN, so its rank in trec_eval is undefined",
            where=view.path,
            remedy="correct the score, or remove the row",
        )
    started = texts.str.extract(f"({_NUMBER_START})").cast(pl.Float64, strict=False).fill_null(0.0)
    infinite = texts.str.contains(_INFINITE)
    return frame.with_columns(score=frame["score"].zip_with(infinite, started))
