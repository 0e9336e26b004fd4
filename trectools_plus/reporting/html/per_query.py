"""The data of every query as compact JSON, from which scripts of the page draw plots and lists.

Values and results are arrays of 32-bit numbers as base64, mode by mode. Ids and texts are columns,
in which each appears once; results refer to documents by number.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from trectools_plus.benchmark.report import BenchmarkReport
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

    def list_cells(self, modes: Sequence[str]) -> pl.DataFrame:
        """Return ``run, query_id``, mode by mode: the order of all numbers."""
        query_ids = self.per_query.select("query_id").unique(maintain_order=True)
        return pl.DataFrame({"run": modes}).join(query_ids, how="cross")

    def fit_measures(self, report: BenchmarkReport, measures: Sequence[str]) -> Sequence[str]:
        """Return as many of the measures, the most important first, as a page can have."""
        return measures[: 1 + _MOST_VALUES // max(1, self.list_cells([*report.modes]).height)]


def collect_queries(
    report: BenchmarkReport, evidence: QueryEvidence, measures: Sequence[str]
) -> dict[str, Any]:
    """Return values and first results of every query, for JSON.

    Returns:
        ``modes`` (labels), ``measures`` (names), ``lower`` (whether less is better), ``level`` (the
        lowest relevant grade), ``ids`` and ``texts`` of the queries (no texts if none is known),
        ``relevant`` (the number of relevant documents of each query; null without judgments),
        ``values`` (packed by measure, NaN if undefined), ``first`` (packed ranks of the first
        relevant documents, 0 if not found; null without judgments), ``documents`` (ids),
        ``titles`` (empty if none has a title), ``depth``, ``grades``, ``results`` (packed by rank:
        number of the document times the number of codes, plus the code of the grade; -1 for
        none), and ``failing`` (positions of queries that score 0 in every mode).

    Args:
        report: The report.
        evidence: The values, runs, judgments and texts.
        measures: The measures to show, the primary one first.
    """
    level = next(iter(report.modes.values())).measures[measures[0]].definition.relevance_level
    cells = evidence.list_cells([*report.modes])
    ids = cells["query_id"].unique(maintain_order=True).to_list()
    failing = {query.query_id for query in report.failing_queries}
    tables = (evidence.per_query.filter(measure=measure) for measure in measures)
    return {
        "modes": [result.label for result in report.modes.values()],
        "noun": report.noun,
        "measures": list(measures),
        "lower": [not report.higher_is_better(measure) for measure in measures],
        "level": level,
        "ids": ids,
        "texts": _list_texts(ids, evidence.topics),
        "relevant": _count_relevant(ids, evidence.qrels, level),
        "values": [_pack(cells, table, "value", "<f4") for table in tables],
        "failing": [place for place, query_id in enumerate(ids) if query_id in failing],
        **_collect_results(evidence, cells, level),
    }


def _pack(cells: pl.DataFrame, table: pl.DataFrame, column: str, kind: str = "<i4") -> str:
    """Return the values of a table in the order of other cells, as base64."""
    names = [name for name in cells.columns if name in table.columns]
    values = cells.join(table, on=names, how="left", maintain_order="left")[column]
    if kind == "<i4":
        values = values.fill_null(-1)
    return b64encode(values.to_numpy().astype(kind).tobytes()).decode()


def _list_texts(ids: Sequence[str], topics: Topics | None) -> list[str]:
    known = {} if topics is None else topics.to_dict()
    longest = max(_SHORTEST_TEXT, _MOST_TEXT // max(1, len(ids)))
    return [_shorten(known.get(query_id, ""), longest) for query_id in ids if known]


def _shorten(text: str | None, longest: int) -> str:
    return visible(" ".join((text or "").split()), longest)


def _count_relevant(ids: Sequence[str], qrels: Qrels | None, level: int) -> list[int] | None:
    if qrels is None:
        return None
    relevant = qrels.frame.filter(pl.col("relevance") >= level)["query_id"].value_counts()
    counts = dict(relevant.iter_rows())
    return [counts.get(query_id, 0) for query_id in ids]


def _collect_results(evidence: QueryEvidence, cells: pl.DataFrame, level: int) -> dict[str, Any]:
    """Return the first results of each mode and query, and the rank of the first relevant one."""
    depth = DEEPEST if cells.height <= _MANY else _LESS_DEEP
    schema = {"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Int64}
    judged = pl.DataFrame(schema=schema) if evidence.qrels is None else evidence.qrels.frame
    judged = judged.select(*schema).unique(["query_id", "doc_id"], keep="first")
    tops, firsts = [], []
    for mode in cells["run"].unique(maintain_order=True):
        if mode in evidence.runs:
            ranked = rank_documents(evidence.runs[mode].frame).select(
                pl.lit(mode).alias("run"), "query_id", "doc_id", pl.col("rank").cast(pl.Int64)
            )
            graded = ranked.join(
                judged, on=["query_id", "doc_id"], how="left", maintain_order="left"
            )
            relevant = graded.filter(pl.col("relevance") >= level)
            firsts.append(relevant.group_by("run", "query_id").agg(pl.col("rank").min()))
            tops.append(graded.filter(pl.col("rank") <= depth))
    if not tops:
        nothing: dict[str, Any] = {"documents": [], "titles": [], "depth": 0, "grades": []}
        return {"first": None, **nothing, "results": None}
    top = cells.join(pl.concat(tops), on=["run", "query_id"], maintain_order="left_right")
    documents = top.select(pl.col("doc_id").unique(maintain_order=True)).with_row_index("number")
    grades = top["relevance"].drop_nulls().unique().sort().to_list()
    kind = pl.col("relevance").rank("dense").fill_null(0)
    code = pl.col("number").cast(pl.Int64) * (len(grades) + 1) + kind
    ranks = cells.join(pl.DataFrame({"rank": np.arange(1, depth + 1)}), how="cross")
    first = pl.concat(firsts).select("run", "query_id", first="rank")
    every_first = cells.join(first, on=["run", "query_id"], how="left").fill_null(0)
    return {
        "first": None if evidence.qrels is None else _pack(cells, every_first, "first"),
        "documents": documents["doc_id"].to_list(),
        "titles": _list_titles(documents["doc_id"], evidence.corpus),
        "depth": depth,
        "grades": grades,
        "results": _pack(ranks, top.join(documents, on="doc_id").with_columns(code=code), "code"),
    }


def _list_titles(doc_ids: pl.Series, corpus: Corpus | None) -> list[str]:
    """Return the shortened title of each document; nothing if there are no titles."""
    if corpus is None:
        return []
    titles = dict(corpus.find(doc_ids).select("doc_id", "title").iter_rows())
    is_titled = any(titles.values())
    return [_shorten(titles.get(doc_id), _LONGEST_TITLE) for doc_id in doc_ids if is_titled]
