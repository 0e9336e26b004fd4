"""Judgments of several judges: preferences (-R prefs, qrels_prefs) and grades (-R qrels_jg).

The files have one row per judge and document, so that pytrec_eval and the rules of qrels, which
know one judgment of a document, do not apply. Files of preferences are described in trec_eval's
``get_prefs.c`` and ``get_qrels_prefs.c``, grades of several judges in ``get_qrels_jg.c``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from trectools_plus.errors import CheckFailedError
from trectools_plus.formats.columns.columns import scan_columns
from trectools_plus.formats.columns.rows import QRELS_FIELDS
from trectools_plus.formats.files.content import FileContent, read_file
from trectools_plus.measures.definitions.trec_eval_measures import measures_of
from trectools_plus.measures.judged import JudgedRun
from trectools_plus.trec_eval.arguments import Arguments
from trectools_plus.trec_eval.builtin import Preference, score_preferences
from trectools_plus.trec_eval.inputs import NUMBER_START, Input, read_run, restore_bytes
from trectools_plus.trec_eval.output import Scores
from trectools_plus.trec_eval.scoring import QueryScores, score_queries, summarise_queries
from trectools_plus.validation.views.kinds import QrelsView, RunView

_COLUMNS = {
    "prefs": "query_id judge list doc_id level",
    "qrels_prefs": "query_id judge doc_id level",
    "qrels_jg": "query_id judge doc_id grade",
}


class _Row(NamedTuple):
    """A judgment; ``list_id`` is empty where the format has no such column."""

    query_id: bytes
    doc_id: bytes
    judge: bytes
    list_id: bytes
    value: float


@dataclass(frozen=True, eq=False)
class _Query:
    """The judgments of a query, and where the run ranks the documents.

    Attributes:
        query_id: The query.
        rows: The judgments, sorted by document.
        rank_of: The rank of each judged document, from 1; 0 if it was not retrieved.
        n_retrieved: The number of documents that the run returned.
    """

    query_id: str
    rows: Sequence[_Row]
    rank_of: Mapping[bytes, int]
    n_retrieved: int


def score_judges(arguments: Arguments) -> tuple[Scores, list[str]]:
    """Score a run with the judgments of several judges.

    Args:
        arguments: The command line, with ``-R``.

    Returns:
        The values to print; and notes on the run.

    Raises:
        CheckFailedError: If a row is malformed, or judgments contradict each other, at which
            trec_eval stops.
        InputError: If a file cannot be read.
    """
    source = read_file(arguments.files[0])
    rows = sorted(_read_rows(source, arguments.judgments))
    data = read_run(arguments, _judged_pairs(source, rows), [])
    queries = _rank(data, rows, arguments)
    score = _score_grades if arguments.judgments == "qrels_jg" else _score_preferences
    scores = score(queries, arguments, source.path)
    run_id = data.run.last_tag
    run_id = restore_bytes(run_id) if data.is_escaped else run_id
    return summarise_queries([scores], arguments, run_id, (len(queries), 0)), data.notes


def _read_rows(source: FileContent, judgments: str) -> Iterator[_Row]:
    """Yield the rows; lines that begin with # and blank lines are skipped."""
    n_columns = len(_COLUMNS[judgments].split())
    for number, line in enumerate(source.lines(), 1):
        words = line.split()
        if not words or line.startswith(b"#"):
            continue
        value = NUMBER_START.match(words[-1].decode("latin-1"))
        if len(words) != n_columns or value is None:
            expected = f"{n_columns} columns with a number at the end"
            raise CheckFailedError(
                f"a row of -R {judgments} has {expected}, not {line.decode(errors='replace')!r}",
                where=f"{source.path}:{number}",
                remedy=f"the columns are {_COLUMNS[judgments]}",
            )
        query_id, judge, *middle, doc_id, _ = words
        grade = float(value[0])
        # Like C's atol, which reads grades.
        grade = float(int(grade)) if judgments == "qrels_jg" else grade
        yield _Row(query_id, doc_id, judge, b"".join(middle), grade)


def _judged_pairs(source: FileContent, rows: Sequence[_Row]) -> QrelsView:
    """Return qrels with each query and document once, in the order of the rows."""
    pairs = dict.fromkeys((row.query_id, row.doc_id) for row in rows)
    data = b"".join(b"%b 0 %b 1\n" % pair for pair in pairs)
    return QrelsView.of_file(scan_columns(FileContent(source.path, data), QRELS_FIELDS))


def _rank(data: Input, rows: Sequence[_Row], arguments: Arguments) -> list[_Query]:
    """Return the queries with the ranks of the judged documents."""
    view, is_reversed = data.run, arguments.judgments != "qrels_jg"
    if is_reversed:
        # Of equal scores, form_prefs_counts.c ranks the lower id first, and form_res_rels.c last.
        negated = replace(view.rows, scores=-view.score)
        view = RunView(view.path, negated)
    ranked = data.qrels.look_up(view, arguments.precision)
    n_retrieved = dict(zip(ranked.number.tolist(), ranked.lengths.tolist(), strict=True))
    ranks = np.zeros(len(data.qrels.relevance), np.int64)
    ranks[ranked.judgments] = ranked.ranks
    depth = math.inf if arguments.max_retrieved is None else arguments.max_retrieved
    queries, by_query = [], groupby(rows, attrgetter("query_id"))
    for number, (query_id, some) in enumerate(by_query):
        own, count = [*some], n_retrieved.get(number, 0)
        of_documents = ranks[data.qrels.starts[number] : data.qrels.starts[number + 1]]
        if is_reversed:
            of_documents = np.where(of_documents > 0, count + 1 - of_documents, 0)
            of_documents = np.where(of_documents > depth, 0, of_documents)
        documents = dict.fromkeys(row.doc_id for row in own)
        rank_of = dict(zip(documents, of_documents.tolist(), strict=True))
        text = query_id.decode("utf-8", "surrogateescape")
        queries.append(_Query(text, own, rank_of, count))
    return queries


def _score_preferences(queries: Sequence[_Query], arguments: Arguments, path: str) -> QueryScores:
    names = [
        requested.measure.name
        for requested in arguments.requested
        if requested.measure.needs == "prefs"
    ]
    scores_missing = arguments.complete and arguments.version == 10
    scored = [
        query
        for query in queries
        if (query.n_retrieved or scores_missing) and arguments.only_query in (None, query.query_id)
    ]
    values: dict[str, list[list[float]]] = {name: [] for name in names}
    for query in scored:
        ranks = query.rank_of
        in_order = sorted(ranks, key=lambda doc_id: ranks[doc_id] or math.inf)
        positions = {doc_id: at for at, doc_id in enumerate(in_order)}
        preferences = [
            Preference(row.judge, row.list_id, row.value, positions[row.doc_id])
            for row in query.rows
        ]
        n_retrieved = sum(rank > 0 for rank in ranks.values())
        try:
            figures = score_preferences(
                preferences,
                len(ranks),
                n_retrieved,
                equal_numbers=any("Rnonrel" in name for name in names),
            )
        except CheckFailedError as error:
            error.where = f"{path}, query {query.query_id}"
            raise
        for name, column in values.items():
            column.append([figures[name]])
    return QueryScores(
        [query.query_id for query in scored],
        {name: np.array(column, np.float64) for name, column in values.items()},
    )


def _score_grades(queries: Sequence[_Query], arguments: Arguments, path: str) -> QueryScores:
    """Score each judge's grades like those of a query, and average over the judges."""
    judges: list[_Query] = []
    judged: list[tuple[int, int, int]] = []
    for query in queries:
        rows = sorted(query.rows, key=attrgetter("judge", "doc_id"))
        for _, some in groupby(rows, attrgetter("judge")):
            own = [*some]
            if len({row.doc_id for row in own}) < len(own):
                raise CheckFailedError(
                    "a judge has graded a document twice; trec_eval stops here",
                    where=f"{path}, query {query.query_id}",
                    remedy="keep one of the rows",
                )
            judged += [(len(judges), query.rank_of[row.doc_id], int(row.value)) for row in own]
            judges.append(query)
    retrieved = np.array([query.n_retrieved for query in judges], np.int64)
    run = JudgedRun(retrieved, *np.array(judged, np.int64).T).sorted()
    of_one_judge = measures_of(arguments.version)
    requested = {
        of_judges.measure.name: replace(
            of_judges, measure=of_one_judge[of_judges.measure.name.removesuffix("_avgjg")]
        )
        for of_judges in arguments.requested
        if of_judges.measure.needs == "qrels_jg"
    }
    query_ids = [query.query_id for query in judges]
    scores = score_queries(query_ids, run, replace(arguments, requested=[*requested.values()]))
    rows_of = [
        [*some] for _, some in groupby(range(len(scores.query_ids)), scores.query_ids.__getitem__)
    ]
    values = {}
    for name, of_one in requested.items():
        table = scores.values[of_one.measure.name]
        values[name] = np.array([sum(table[rows]) / len(rows) for rows in rows_of])
    return QueryScores([scores.query_ids[rows[0]] for rows in rows_of], values)
