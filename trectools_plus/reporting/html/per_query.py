"""The data of every query as compact JSON; a script of the page draws the visible rows.

For 10,000 queries and three modes this is a few megabytes; a table in HTML would have a hundred.
Values are integers in units of 1/10,000. Document ids appear once; results refer to them by number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.formats.documents import Documents
from trectools_plus.formats.tables import Qrels, Run, Topics
from trectools_plus.ranking import rank_documents

PARTS = 10_000
"""Values are rounded to 1/PARTS."""
DEEPEST = 10
"""Maximum number of results of a query in the page."""
_MOST_RESULTS = 300_000
_MOST_VALUES = 1_500_000
_LONGEST_TITLE = 90


@dataclass(frozen=True, slots=True, eq=False)
class QueryEvidence:
    """Values, results and texts of the queries of a report.

    Attributes:
        per_query: ``run, query_id, measure, value``; undefined values are null.
        runs: The runs as scored, by mode.
        qrels: The judgments; without them results have no grades.
        topics: The texts of the queries.
        corpus: The titles of the documents.
    """

    per_query: pl.DataFrame
    runs: Mapping[str, Run] = field(default_factory=dict)
    qrels: Qrels | None = None
    topics: Topics | None = None
    corpus: Documents | None = None


def collect_queries(report: BenchmarkReport, evidence: QueryEvidence) -> dict[str, Any]:
    """Return values and first results of every query.

    Returns:
        ``modes`` and ``measures`` (names), ``lower`` (whether less is better), ``parts``
        (:data:`PARTS`), ``tops`` (by measure, the value of a full bar in every mode), ``level``
        (the lowest relevant grade), ``queries`` (``[query_id, text, relevant]``), ``values`` (by
        measure, mode and query), ``documents`` (``[doc_id, title]``), ``depth`` and ``results``
        (by mode and query: document, grade, document, grade, …), ``failing`` (positions of
        queries that score 0 in every mode). With very many queries or modes there are fewer
        results per query, and fewer measures.
    """
    query_ids = evidence.per_query["query_id"].unique(maintain_order=True)
    cells = max(1, len(query_ids) * len(report.modes))
    measures = report.measure_names[: max(1, _MOST_VALUES // cells)]
    first = next(iter(report.modes.values())).measures[measures[0]]
    depth = min(DEEPEST, max(1, _MOST_RESULTS // cells))
    documents, results = _collect_results(report, evidence, query_ids, depth)
    values = _collect_values(report, evidence.per_query, query_ids, measures)
    places = {query_id: place for place, query_id in enumerate(query_ids)}
    return {
        "modes": [result.label for result in report.modes.values()],
        "measures": measures,
        "lower": [not report.higher_is_better(measure) for measure in measures],
        "parts": PARTS,
        "tops": [_find_top(by_mode) for by_mode in values],
        "level": first.definition.relevance_level,
        "queries": _describe(query_ids, evidence, first.definition.relevance_level),
        "values": values,
        "documents": documents,
        "depth": depth,
        "results": results,
        "failing": [
            places[query.query_id] for query in report.failing_queries if query.query_id in places
        ],
    }


def _describe(
    query_ids: pl.Series, evidence: QueryEvidence, level: int
) -> list[tuple[str, str, int | None]]:
    """Return id, text and number of relevant documents of each query."""
    texts = {} if evidence.topics is None else evidence.topics.to_dict()
    relevant: dict[str, int] = {}
    if evidence.qrels is not None:
        judged = evidence.qrels.frame.filter(pl.col("relevance") >= level)
        relevant = dict(judged.group_by("query_id").agg(pl.col("doc_id").n_unique()).iter_rows())
    known = evidence.qrels is not None
    return [
        (
            query_id,
            " ".join(texts.get(query_id, "").split()),
            relevant.get(query_id, 0) if known else None,
        )
        for query_id in query_ids
    ]


def _collect_values(
    report: BenchmarkReport, per_query: pl.DataFrame, query_ids: pl.Series, measures: Sequence[str]
) -> list[list[list[int | None]]]:
    """Return the values by measure, mode and query."""
    parts = per_query.select(
        "run", "query_id", "measure", part=(pl.col("value") * PARTS).round().cast(pl.Int64)
    )
    columns = {
        (run, measure): frame
        for (run, measure), frame in parts.partition_by(
            "run", "measure", as_dict=True, include_key=False
        ).items()
    }
    order = pl.DataFrame({"query_id": query_ids})
    nothing = parts.clear().select("query_id", "part")
    return [
        [
            order.join(
                columns.get((mode, measure), nothing),
                on="query_id",
                how="left",
                maintain_order="left",
            )["part"].to_list()
            for mode in report.modes
        ]
        for measure in measures
    ]


def _find_top(by_mode: list[list[int | None]]) -> int:
    """Return the largest value of any mode and query, at least 1."""
    return max([PARTS, *(part for parts in by_mode for part in parts if part is not None)])


def _collect_results(
    report: BenchmarkReport, evidence: QueryEvidence, query_ids: pl.Series, depth: int
) -> tuple[list[tuple[str, str]], list[list[list[int | None]]]]:
    """Return the documents, and the first results of each mode and query with their grades."""
    tops = {
        mode: first_results(evidence.runs[mode], depth, evidence.qrels)
        for mode in report.modes
        if mode in evidence.runs
    }
    if not tops:
        return [], []
    named = pl.concat([top["doc_id"] for top in tops.values()]).unique(maintain_order=True)
    numbers = pl.DataFrame({"doc_id": named}).with_row_index("document")
    results = []
    for top in tops.values():
        rows: dict[str, list[int | None]] = {}
        numbered = top.join(numbers, on="doc_id", how="left", maintain_order="left")
        for query_id, document, grade in numbered.select(
            "query_id", "document", "relevance"
        ).iter_rows():
            rows.setdefault(query_id, []).extend((document, grade))
        results.append([rows.get(query_id, []) for query_id in query_ids])
    return _title(named, evidence.corpus), results


def first_results(run: Run, depth: int, qrels: Qrels | None = None) -> pl.DataFrame:
    """Return ``query_id, doc_id, relevance`` of the first results, in canonical order."""
    top = rank_documents(run.frame).filter(pl.col("rank") <= depth).select("query_id", "doc_id")
    if qrels is None:
        return top.with_columns(relevance=pl.lit(None, pl.Int64))
    grades = qrels.frame.group_by("query_id", "doc_id").agg(pl.col("relevance").first())
    return top.join(grades, on=["query_id", "doc_id"], how="left", maintain_order="left")


def _title(named: pl.Series, corpus: Documents | None) -> list[tuple[str, str]]:
    """Return each document with its shortened title; empty if it has none."""
    if corpus is None:
        return [(doc_id, "") for doc_id in named]
    titles = dict(corpus.find(named).select("doc_id", "title").iter_rows())
    return [(doc_id, _shorten(titles.get(doc_id) or "")) for doc_id in named]


def _shorten(title: str) -> str:
    title = " ".join(title.split())
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"
