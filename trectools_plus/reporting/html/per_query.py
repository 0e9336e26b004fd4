"""The data of every query as compact JSON, from which scripts of the page draw plots and lists.

Values are arrays of 32-bit numbers as base64, mode by mode. Ids and texts are columns, in which
each appears once; results refer to documents by number.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from trectools_plus.benchmark.report.model import BenchmarkReport
from trectools_plus.formats.ranking import rank_documents
from trectools_plus.formats.tables import Corpus, Qrels, Run, Topics
from trectools_plus.text import visible

DEEPEST, _LESS_DEEP = 10, 3
"""Results of a query in the page; fewer of very many queries and modes."""
_MANY = 5_000
"""Queries times modes that have fewer results."""
_MOST_VALUES = 350_000
"""Values in the page, apart from those of the first measure."""
_MOST_TEXT = 300_000
"""Letters of all queries, unless each would have fewer than 50."""
_SHORTEST_TEXT, _LONGEST_TITLE = 50, 90
_CELL = ["run", "query_id"]


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
    corpus: Corpus | None = None


def collect_queries(
    report: BenchmarkReport, evidence: QueryEvidence, measures: Sequence[str]
) -> dict[str, Any]:
    """Return values and first results of every query, for JSON.

    Returns:
        ``modes`` (labels), ``measures`` (as many names as a page can have), ``lower`` (whether less
        is better), ``level`` (the lowest relevant grade), ``ids`` and ``texts`` of the queries (no
        texts if none is known), ``relevant`` (the number of relevant documents of each query; null
        without judgments), ``values`` (packed by measure, NaN if undefined), ``failing`` (positions
        of queries that score 0 in every mode), and by mode and query ``first`` (the rank of the
        first relevant document, 0 if not found; null without judgments), ``results`` (positions in
        ``documents`` and ``titles``) and ``grades``, for the first ``depth`` ranks.

    Args:
        report: The report.
        evidence: The values, runs, judgments and texts.
        measures: The measures to show, the primary one first.
    """
    query_ids = evidence.per_query["query_id"].unique(maintain_order=True)
    cells = pl.DataFrame({"run": [*report.modes]}).join(query_ids.to_frame(), how="cross")
    measures = measures[: 1 + _MOST_VALUES // max(1, cells.height)]
    level = next(iter(report.modes.values())).measures[measures[0]].definition.relevance_level
    ids, failing = query_ids.to_list(), {query.query_id for query in report.failing_queries}
    texts = {} if evidence.topics is None else evidence.topics.to_dict()
    relevant: dict[str, int] | None = None
    if evidence.qrels is not None:
        judged = evidence.qrels.frame.filter(pl.col("relevance") >= level)
        relevant = dict(judged["query_id"].value_counts().iter_rows())
    longest = max(_SHORTEST_TEXT, _MOST_TEXT // max(1, len(ids)))
    return {
        "modes": [result.label for result in report.modes.values()],
        "noun": report.noun,
        "measures": list(measures),
        "lower": [not report.higher_is_better(measure) for measure in measures],
        "level": level,
        "ids": ids,
        "texts": [_shorten(texts.get(query_id), longest) for query_id in ids if texts],
        "relevant": None if relevant is None else [relevant.get(name, 0) for name in ids],
        "values": [_pack(cells, evidence.per_query.filter(measure=name)) for name in measures],
        "failing": [place for place, query_id in enumerate(ids) if query_id in failing],
        **_collect_results(evidence, cells, level),
    }


def _pack(cells: pl.DataFrame, values: pl.DataFrame) -> str:
    """Return values in the order of the cells as base64."""
    ordered = cells.join(values, on=_CELL, how="left", maintain_order="left")["value"]
    return b64encode(ordered.to_numpy().astype("<f4").tobytes()).decode()


def _shorten(text: str | None, longest: int) -> str:
    return visible(" ".join((text or "").split()), longest)


def _collect_results(evidence: QueryEvidence, cells: pl.DataFrame, level: int) -> dict[str, Any]:
    """Return the first results of each mode and query, and the rank of the first relevant one."""
    if not evidence.runs:
        nothing: dict[str, Any] = {"documents": [], "titles": [], "results": [], "grades": []}
        return {"first": None, "depth": 0, **nothing}
    depth = DEEPEST if cells.height <= _MANY else _LESS_DEEP
    schema = {"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Int64}
    judged = pl.DataFrame(schema=schema) if evidence.qrels is None else evidence.qrels.frame
    judged = judged.select(*schema).unique(["query_id", "doc_id"], keep="first")
    tops, firsts = [], []
    for mode, run in evidence.runs.items():
        ranked = rank_documents(run.frame).select(
            pl.lit(mode).alias("run"), "query_id", "doc_id", "rank"
        )
        graded = ranked.join(judged, on=["query_id", "doc_id"], how="left", maintain_order="left")
        relevant = graded.filter(pl.col("relevance") >= level)
        firsts.append(relevant.group_by(_CELL).agg(first=pl.col("rank").min()))
        tops.append(graded.filter(pl.col("rank") <= depth))
    top = pl.concat(tops)
    documents = top.select(pl.col("doc_id").unique(maintain_order=True)).with_row_index("number")
    numbered = top.join(documents, on="doc_id", maintain_order="left")
    for table in (numbered.group_by(_CELL).agg("number", "relevance"), pl.concat(firsts)):
        cells = cells.join(table, on=_CELL, how="left", maintain_order="left")
    titles: dict[str, str] = {}
    if evidence.corpus is not None:
        found = evidence.corpus.find(documents["doc_id"])
        titles = dict(found.filter(pl.col("title") != "").select("doc_id", "title").iter_rows())
    names = documents["doc_id"].to_list()
    return {
        "first": None if evidence.qrels is None else cells["first"].fill_null(0).to_list(),
        "documents": names,
        "titles": [_shorten(titles.get(name), _LONGEST_TITLE) for name in names if titles],
        "depth": depth,
        "results": cells["number"].to_list(),
        "grades": cells["relevance"].to_list(),
    }
