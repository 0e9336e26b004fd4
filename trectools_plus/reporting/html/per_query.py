"""The data of every query as compact JSON, from which scripts of the page draw plots and lists.

Values are integers in units of 1/10,000, as base64 of their bytes: for 6,980 queries, two runs and
25 measures about a megabyte. Document ids appear once; results refer to them by number.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.formats.documents import Documents
from trectools_plus.formats.tables import Qrels, Run, Topics
from trectools_plus.ranking import rank_documents

PARTS = 1_000_000
"""Values are rounded to 1/PARTS."""
DEEPEST = 10
"""Maximum number of results of a query in the page."""
_DEPTHS = (DEEPEST, 5, 3, 2, 1)
_MOST_RESULTS = 1_500_000
"""Maximum length of the results and documents as JSON, except at depth 1."""
_MOST_VALUES = 900_000
_MOST_TEXT = 800_000
"""Maximum number of characters of all queries together."""
_SHORTEST_TEXT = 60
_LONGEST_TITLE = 90
_DEEPEST_RANK = 65_535
"""Deeper ranks of first relevant documents count as not found."""

Parts = npt.NDArray[np.float64]
"""Values of one measure in units of 1/PARTS, NaN if undefined; shape (modes, queries)."""


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


@dataclass(frozen=True, slots=True, eq=False)
class QueryValues:
    """The values of all queries, rounded as the page shows them.

    Attributes:
        query_ids: The queries, in the order of ``per_query``.
        parts: By measure, in the order of the page's switch.
    """

    query_ids: pl.Series
    parts: dict[str, Parts]


def read_values(
    report: BenchmarkReport, per_query: pl.DataFrame, measures: Sequence[str]
) -> QueryValues:
    """Return the values of the measures; with very many queries or modes, of the first ones only.

    Args:
        report: The report.
        per_query: ``run, query_id, measure, value``.
        measures: Names as in the report, the most important first.
    """
    query_ids = per_query["query_id"].unique(maintain_order=True)
    cells = max(1, len(query_ids) * len(report.modes))
    kept = measures[: max(1, _MOST_VALUES // cells)]
    modes = pl.Enum(list(report.modes))
    places = pl.DataFrame({"query_id": query_ids}).with_row_index("query")
    rows = (
        per_query.filter(
            pl.col("measure").is_in(list(kept)) & pl.col("run").is_in(list(report.modes))
        )
        .with_columns(mode=pl.col("run").cast(modes).to_physical())
        .join(places, on="query_id", how="left", maintain_order="left")
    )
    by_measure = rows.partition_by("measure", as_dict=True)
    parts = {}
    for measure in kept:
        table = np.full((len(report.modes), len(query_ids)), np.nan)
        found = by_measure.get((measure,))
        if found is not None:
            values = found["value"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
            table[found["mode"].to_numpy(), found["query"].to_numpy()] = np.rint(values * PARTS)
        parts[measure] = table
    return QueryValues(query_ids, parts)


def collect_queries(
    report: BenchmarkReport, evidence: QueryEvidence, values: QueryValues
) -> dict[str, Any]:
    """Return values and first results of every query, for JSON.

    Returns:
        ``modes`` (labels), ``measures`` (names), ``lower`` (whether less is better), ``parts``
        (:data:`PARTS`), ``queries`` (``[query_id, text, relevant]``), ``values`` (by measure:
        ``bytes`` per value, ``data`` as base64, mode by mode, and ``palette`` or ``from``; the
        largest code means undefined), ``level`` (the lowest relevant grade), ``first`` (ranks of
        the first relevant documents, two bytes each, 0 if not found), ``documents`` (``[doc_id,
        title]``), ``depth``, ``grades`` and ``results`` (four bytes each: number of the document
        times the number of codes, plus the code of the grade; the largest number is no result),
        and ``failing`` (positions of queries that score 0 in every mode). With very many queries
        there are fewer results per query.
    """
    primary = next(iter(values.parts))
    level = next(iter(report.modes.values())).measures[primary].definition.relevance_level
    places = {query_id: place for place, query_id in enumerate(values.query_ids)}
    return {
        "modes": [result.label for result in report.modes.values()],
        "measures": list(values.parts),
        "lower": [not report.higher_is_better(measure) for measure in values.parts],
        "parts": PARTS,
        "level": level,
        "queries": _describe(values.query_ids, evidence, level),
        "values": [_encode(parts) for parts in values.parts.values()],
        **_collect_results(report, evidence, values.query_ids, level),
        "failing": [
            places[query.query_id] for query in report.failing_queries if query.query_id in places
        ],
    }


def _encode(parts: Parts) -> dict[str, Any]:
    """Return values as base64 of one, two or four bytes each."""
    known = parts[~np.isnan(parts)].astype(np.int64)
    distinct = np.unique(known)
    if len(distinct) < 256:
        codes = np.full(parts.shape, 255, np.uint8)
        codes[~np.isnan(parts)] = np.searchsorted(distinct, known)
        return {"bytes": 1, "palette": distinct.tolist(), "data": _base64(codes)}
    first = int(distinct[0])
    size, kind = (2, "<u2") if int(distinct[-1]) - first < 2**16 - 1 else (4, "<u4")
    codes = np.full(parts.shape, np.iinfo(kind).max, kind)
    codes[~np.isnan(parts)] = known - first
    return {"bytes": size, "from": first, "data": _base64(codes)}


def _base64(codes: npt.NDArray[Any]) -> str:
    return b64encode(codes.tobytes()).decode()


def _describe(
    query_ids: pl.Series, evidence: QueryEvidence, level: int
) -> list[tuple[str, str, int | None]]:
    """Return id, text and number of relevant documents of each query."""
    texts = {} if evidence.topics is None else evidence.topics.to_dict()
    longest = max(_SHORTEST_TEXT, _MOST_TEXT // max(1, len(query_ids)))
    relevant: dict[str, int] = {}
    if evidence.qrels is not None:
        judged = evidence.qrels.frame.filter(pl.col("relevance") >= level)
        relevant = dict(judged.group_by("query_id").agg(pl.col("doc_id").n_unique()).iter_rows())
    known = evidence.qrels is not None
    return [
        (
            query_id,
            _shorten(texts.get(query_id, ""), longest),
            relevant.get(query_id, 0) if known else None,
        )
        for query_id in query_ids
    ]


def _collect_results(
    report: BenchmarkReport, evidence: QueryEvidence, query_ids: pl.Series, level: int
) -> dict[str, Any]:
    """Return the first results of each mode and query, as deep as fits."""
    order = pl.DataFrame({"query_id": query_ids}).with_row_index("query")
    ranked = [
        _rank(evidence.runs[mode], order).with_columns(mode=pl.lit(place))
        for place, mode in enumerate(report.modes)
        if mode in evidence.runs
    ]
    if not ranked:
        return {"first": None, "documents": [], "depth": 0, "grades": [], "results": None}
    top = pl.concat([run.filter(pl.col("rank") <= DEEPEST) for run in ranked])
    shape = len(report.modes), len(query_ids)
    first = None
    grades = top.select("query_id", "doc_id").clear().with_columns(relevance=pl.lit(None, pl.Int64))
    if evidence.qrels is not None:
        grades = evidence.qrels.frame.group_by("query_id", "doc_id").agg(
            pl.col("relevance").first()
        )
        first = _base64(_find_first(ranked, grades.filter(pl.col("relevance") >= level), shape))
    keys = ["query_id", "doc_id"]
    graded = top.join(grades, on=keys, how="left", maintain_order="left")
    for depth in _DEPTHS:
        results = _pack(graded.filter(pl.col("rank") <= depth), shape, depth, evidence.corpus)
        if len(json.dumps(results, ensure_ascii=False)) <= _MOST_RESULTS:
            break
    return {"first": first, **results}


def _rank(run: Run, order: pl.DataFrame) -> pl.DataFrame:
    """Return ``query, query_id, doc_id, rank`` of the results, in canonical order."""
    ranked = rank_documents(run.frame)
    return ranked.select("query_id", "doc_id", pl.col("rank").cast(pl.Int64)).join(
        order, on="query_id", how="inner", maintain_order="left"
    )


def _find_first(
    ranked: Sequence[pl.DataFrame], relevant: pl.DataFrame, shape: tuple[int, int]
) -> npt.NDArray[np.uint16]:
    """Return the ranks of the first relevant documents by mode and query; 0 if not found."""
    first = np.zeros(shape, "<u2")
    for run in ranked:
        hits = run.join(relevant, on=["query_id", "doc_id"], how="semi")
        hits = hits.filter(pl.col("rank") <= _DEEPEST_RANK)
        for mode, query, rank in (
            hits.group_by("mode", "query").agg(pl.col("rank").min()).iter_rows()
        ):
            first[mode, query] = rank
    return first


def _pack(
    rows: pl.DataFrame, shape: tuple[int, int], depth: int, corpus: Documents | None
) -> dict[str, Any]:
    named = rows["doc_id"].unique(maintain_order=True)
    numbers = pl.DataFrame({"doc_id": named}).with_row_index("document")
    grades = rows["relevance"].drop_nulls().unique().sort().to_list()
    codes = pl.DataFrame(
        {"relevance": pl.Series(grades, dtype=rows.schema["relevance"])}
    ).with_row_index("grade", offset=1)
    packed = np.full((*shape, depth), 2**32 - 1, "<u4")
    found = rows.join(numbers, on="doc_id", how="left").join(codes, on="relevance", how="left")
    number = found["document"].cast(pl.Int64) * (len(grades) + 1)
    number += found["grade"].cast(pl.Int64).fill_null(0)
    place = (found[name].cast(pl.Int64).to_numpy() for name in ("mode", "query"))
    packed[(*place, found["rank"].cast(pl.Int64).to_numpy() - 1)] = number.to_numpy()
    return {
        "documents": _title(named, corpus),
        "depth": depth,
        "grades": grades,
        "results": _base64(packed),
    }


def first_results(run: Run, depth: int) -> pl.DataFrame:
    """Return ``query_id, doc_id`` of the first results, in canonical order."""
    return rank_documents(run.frame).filter(pl.col("rank") <= depth).select("query_id", "doc_id")


def _title(named: pl.Series, corpus: Documents | None) -> list[tuple[str, str]]:
    """Return each document with its shortened title; empty if it has none."""
    if corpus is None:
        return [(doc_id, "") for doc_id in named]
    titles = dict(corpus.find(named).select("doc_id", "title").iter_rows())
    return [(doc_id, _shorten(titles.get(doc_id) or "", _LONGEST_TITLE)) for doc_id in named]


def _shorten(text: str, longest: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
