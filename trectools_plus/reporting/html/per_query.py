"""The data of every query as compact JSON, from which scripts of the page draw plots and lists.

Numbers are integers of as few bytes as they need, as base64. Values are in millionths. Ids and
texts are columns, in which each appears once; results refer to documents by number.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.formats.columns.ids import Ids
from trectools_plus.formats.tables import Corpus, Qrels, Run, Topics
from trectools_plus.measures.judged import JudgedQueries, first_documents

PARTS = 1_000_000
"""Values are rounded to 1/PARTS."""
DEEPEST = 10
"""Maximum number of results of a query in the page."""
_DEPTHS = (DEEPEST, 5, 3, 2, 1)
_MOST = 3_700_000
"""Maximum size of the data in bytes: with more, there are fewer results per query."""
_MOST_VALUES = 2_100_000
"""Maximum size of the values, except those of the first measure."""
_MOST_TEXT = 800_000
"""Maximum size of the texts of all queries, unless they would become very short."""
_MOST_RESULTS = 1_500_000
"""Maximum size of the results and documents, except at depth 1."""
_SHORTEST_TEXT = 60
_LONGEST_TITLE = 90

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
        judged: The same judgments for scoring; by default made from ``qrels``.
    """

    per_query: pl.DataFrame
    runs: Mapping[str, Run] = field(default_factory=dict)
    qrels: Qrels | None = None
    topics: Topics | None = None
    corpus: Corpus | None = None
    judged: JudgedQueries | None = None


@dataclass(frozen=True, slots=True, eq=False)
class QueryValues:
    """The values of all queries, rounded as the page shows them.

    Attributes:
        query_ids: The queries, in the order of ``per_query``.
        encoded: By measure, in the order of the page's switch; see :func:`collect_queries`.
    """

    query_ids: pl.Series
    encoded: dict[str, dict[str, Any]]


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
    encoded: dict[str, dict[str, Any]] = {}
    size = 0
    for measure, table in _list_tables(report, per_query, query_ids, measures):
        packed = _encode(table)
        size += len(_to_json(packed))
        if encoded and size > _MOST_VALUES:
            break
        encoded[measure] = packed
    return QueryValues(query_ids, encoded)


def _list_tables(
    report: BenchmarkReport, per_query: pl.DataFrame, query_ids: pl.Series, measures: Sequence[str]
) -> Iterator[tuple[str, Parts]]:
    """Yield the values of each measure."""
    modes = pl.Enum(list(report.modes))
    places = pl.DataFrame({"query_id": query_ids}).with_row_index("query")
    for measure in measures:
        table = np.full((len(report.modes), len(query_ids)), np.nan)
        found = (
            per_query.lazy()
            .filter(measure=measure)
            .filter(pl.col("run").is_in(list(report.modes)))
            .select(pl.col("run").cast(modes).to_physical(), "query_id", "value")
            .join(places.lazy(), on="query_id", how="left", maintain_order="left")
            .collect()
        )
        values = found["value"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        table[found["run"].to_numpy(), found["query"].to_numpy()] = np.rint(values * PARTS)
        yield measure, table


def collect_queries(
    report: BenchmarkReport, evidence: QueryEvidence, values: QueryValues
) -> dict[str, Any]:
    """Return values and first results of every query, for JSON.

    Packed numbers are an object with ``bytes`` (the size of a number) and ``data`` (base64, lowest
    byte first); the largest number of this size means that there is none.

    Returns:
        ``modes`` (labels), ``measures`` (names), ``lower`` (whether less is better), ``parts``
        (:data:`PARTS`), ``level`` (the lowest relevant grade), ``ids`` and ``texts`` of the
        queries (no texts if none is known), ``relevant`` (the number of relevant documents of each
        query; null without judgments), ``values`` (packed by measure, mode by mode, with
        ``from``, the value of number 0), ``first``
        (packed ranks of the first relevant documents by mode and query, 0 if not found; null
        without judgments), ``documents`` (ids), ``titles`` (empty if none has a title), ``depth``,
        ``grades``, ``results`` (packed by mode, query and rank: number of the document times the
        number of codes, plus the code of the grade), and ``failing`` (positions of queries that
        score 0 in every mode). With very many queries there are fewer results per query.
    """
    primary = next(iter(values.encoded))
    level = next(iter(report.modes.values())).measures[primary].definition.relevance_level
    queries = evidence.judged
    if queries is None and evidence.qrels is not None:
        queries = JudgedQueries.of(evidence.qrels)
    places = {query_id: place for place, query_id in enumerate(values.query_ids)}
    data = {
        "modes": [result.label for result in report.modes.values()],
        "noun": report.noun,
        "measures": list(values.encoded),
        "lower": [not report.higher_is_better(measure) for measure in values.encoded],
        "parts": PARTS,
        "level": level,
        "ids": values.query_ids.to_list(),
        "texts": _shorten_texts(values.query_ids, evidence.topics),
        "relevant": None if queries is None else _count_relevant(values.query_ids, queries, level),
        "values": list(values.encoded.values()),
        "failing": [
            places[query.query_id] for query in report.failing_queries if query.query_id in places
        ],
    }
    most = min(_MOST_RESULTS, _MOST - len(_to_json(data)))
    return {
        **data,
        **_collect_results(evidence, list(report.modes), values.query_ids, (queries, level), most),
    }


def _encode(parts: Parts) -> dict[str, Any]:
    """Return packed differences from the smallest value."""
    missing = np.isnan(parts)
    first = int(np.min(parts[~missing], initial=np.inf)) if not missing.all() else 0
    return {"from": first, **_pack(np.where(missing, -1, parts - first).astype(np.int64))}


def _pack(numbers: npt.NDArray[np.int64]) -> dict[str, Any]:
    """Return integers as base64 of as few bytes as they need; -1 means that there is none."""
    size = 1
    while int(numbers.max(initial=0)) >= 256**size - 1:
        size += 1
    # As 64 bits, -1 has only ones, so its lower bytes are the largest number of their size.
    octets = np.ascontiguousarray(numbers, "<i8").view(np.uint8).reshape(-1, 8)[:, :size]
    return {"bytes": size, "data": b64encode(octets.tobytes()).decode()}


def _to_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _shorten_texts(query_ids: pl.Series, topics: Topics | None) -> list[str]:
    """Return the text of each query, shortened if all texts together are too long."""
    if topics is None:
        return []
    known = topics.to_dict()
    texts = [" ".join(known.get(query_id, "").split()) for query_id in query_ids]
    letters, size = (sum(map(len, some)) for some in (texts, map(str.encode, texts)))
    share = _MOST_TEXT * letters // max(1, size * len(texts))
    return [_shorten(text, max(_SHORTEST_TEXT, share)) for text in texts]


def _count_relevant(query_ids: pl.Series, queries: JudgedQueries, level: int) -> list[int]:
    """Return the number of relevant documents of each query."""
    number = _number_queries(query_ids, queries)
    relevant = number[queries.frame.filter(pl.col("relevance") >= level)["query"].to_numpy()]
    counts: list[int] = np.bincount(relevant[relevant >= 0], minlength=len(query_ids)).tolist()
    return counts


def _number_queries(query_ids: pl.Series, queries: JudgedQueries) -> npt.NDArray[np.int64]:
    """Return the position in the page of each judged query; -1 if it is not in the page."""
    places = {query_id: place for place, query_id in enumerate(query_ids)}
    return np.array([places.get(query_id, -1) for query_id in queries.query_ids], np.int64)


def _collect_results(
    evidence: QueryEvidence,
    modes: Sequence[str],
    query_ids: pl.Series,
    judgments: tuple[JudgedQueries | None, int],
    most: int,
) -> dict[str, Any]:
    """Return the first results of each mode and query, as deep as fits into ``most`` bytes.

    Args:
        evidence: The runs, and the titles of the documents.
        modes: The modes, in the order of the page.
        query_ids: The queries, in the order of the page.
        judgments: The judgments, and the lowest relevant grade.
        most: The maximum size.
    """
    queries, level = judgments
    shape = len(modes), len(query_ids)
    grades = np.full((*shape, DEEPEST), np.nan)
    first = np.zeros(shape, np.int64)
    places = pl.DataFrame({"query_id": query_ids}).with_row_index("query")
    tops = []
    for place, mode in enumerate(modes):
        if mode not in evidence.runs:
            continue
        run = evidence.runs[mode]
        top = first_documents(run, DEEPEST).join(places, on="query_id", maintain_order="left")
        tops.append(top.select(pl.lit(place).alias("mode"), "query", "rank", "doc_id"))
        if queries is not None:
            judged = queries.judge(run)
            query = _number_queries(query_ids, queries)[judged.query]
            shown = (query >= 0) & judged.within(DEEPEST)
            grades[place, query[shown], judged.rank[shown] - 1] = judged.grade[shown]
            # Sorted by query and rank, so the first of each query has the lowest rank.
            relevant = np.flatnonzero((query >= 0) & judged.within(None) & (judged.grade >= level))
            found, where = np.unique(query[relevant], return_index=True)
            first[place, found] = judged.rank[relevant[where]]
    if not tops:
        nothing: dict[str, Any] = {"documents": [], "titles": [], "depth": 0, "grades": []}
        return {"first": None, **nothing, "results": None}
    every = pl.concat(tops)
    results: dict[str, Any] = {}
    for depth in _DEPTHS:
        within = every if depth == DEEPEST else every.filter(pl.col("rank") <= depth)
        results = _number(within, grades[..., :depth], evidence.corpus)
        if len(_to_json(results)) <= most:
            break
    return {"first": None if queries is None else _pack(first), **results}


def _number(
    top: pl.DataFrame, grades: npt.NDArray[np.float64], corpus: Corpus | None
) -> dict[str, Any]:
    """Return documents and results, where results are numbers of documents with their grade.

    Args:
        top: ``mode, query, rank, doc_id``.
        grades: By mode, query and rank; NaN for unjudged documents.
        corpus: The titles.
    """
    number, first = Ids.of_series(top["doc_id"]).numbered()
    named = top["doc_id"].gather(first)
    where = *(top[name].to_numpy() for name in ("mode", "query")), top["rank"].to_numpy() - 1
    of_results = grades[where]
    distinct = np.unique(of_results[~np.isnan(of_results)])
    kinds = np.where(np.isnan(of_results), 0, np.searchsorted(distinct, of_results) + 1)
    results = np.full(grades.shape, -1)
    results[where] = number * np.int64(len(distinct) + 1) + kinds
    return {
        "documents": named.to_list(),
        "titles": _list_titles(named, corpus),
        "depth": grades.shape[2],
        "grades": distinct.astype(np.int64).tolist(),
        "results": _pack(results),
    }


def _list_titles(named: pl.Series, corpus: Corpus | None) -> list[str]:
    """Return the shortened title of each document; nothing if there are no titles."""
    if corpus is None:
        return []
    titles = dict(corpus.find(named).select("doc_id", "title").iter_rows())
    if not any(titles.values()):
        return []
    return [_shorten(" ".join((titles.get(one) or "").split()), _LONGEST_TITLE) for one in named]


def _shorten(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
