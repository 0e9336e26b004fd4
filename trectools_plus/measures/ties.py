"""How much of a ranking is decided by ties, and how far they could move a measure.

trec_eval 9 compares scores in 32 bits, version 10 in 64: scores may be equal in the first only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from trectools_plus.errors import UsageError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.base import Measure
from trectools_plus.measures.judged import JudgedQueries, JudgedRun
from trectools_plus.measures.names import parse_measures
from trectools_plus.measures.own import ColumnMeasure
from trectools_plus.measures.scoring import score_grades
from trectools_plus.measures.trec_eval import TrecEvalMeasure
from trectools_plus.ranking import rank_ties_by_grade


@dataclass(frozen=True, slots=True)
class Ties:
    """Ties at one precision.

    Attributes:
        documents: Documents that share their score with another of the same query.
        pairs: Neighbours in the ranking with equal scores.
        queries: Queries with at least one tie.
        straddling: Per cutoff, the queries where a tie spans it: the first k are then decided by
            document ids.
    """

    documents: int
    pairs: int
    queries: int
    straddling: dict[int, int]


@dataclass(frozen=True, slots=True)
class TieCounts:
    """A run's ties.

    Attributes:
        documents: Documents in the run.
        queries: Queries in the run.
        in_32_bits: Ties as trec_eval 9, pytrec_eval and this package see them.
        in_64_bits: Ties as trec_eval 10 sees them.
    """

    documents: int
    queries: int
    in_32_bits: Ties
    in_64_bits: Ties

    @property
    def pairs_only_in_32_bits(self) -> int:
        """Neighbours that 64 bits tell apart and 32 do not."""
        return self.in_32_bits.pairs - self.in_64_bits.pairs

    def as_dict(self) -> dict[str, Any]:
        """The counts as plain JSON values; cutoffs become strings."""
        return {
            "documents": self.documents,
            "queries": self.queries,
            **{
                name: {
                    "documents": ties.documents,
                    "pairs": ties.pairs,
                    "queries": ties.queries,
                    "straddling": {str(k): count for k, count in ties.straddling.items()},
                }
                for name, ties in (("32_bits", self.in_32_bits), ("64_bits", self.in_64_bits))
            },
        }


def tie_counts(run: Run, cutoffs: Sequence[int] = (10, 100)) -> TieCounts:
    """Count a run's ties in 32 and in 64 bits.

    Args:
        run: The run.
        cutoffs: The ranks for which to count the queries whose tie spans them.
    """
    frame = run.frame.select("query_id", "score")
    queries = frame["query_id"].n_unique()
    in_32 = frame.with_columns(pl.col("score").cast(pl.Float32))
    return TieCounts(frame.height, queries, _ties(in_32, cutoffs), _ties(frame, cutoffs))


def tie_bounds(qrels: Qrels, run: Run, measures: Iterable[str | Measure]) -> pl.DataFrame:
    """The worst and the best value each measure could take if ties were ordered otherwise.

    Within a tie the best order puts higher grades first and the worst puts them last; unjudged
    documents count as grade 0. These orders are extremes for every measure that never falls when
    a higher grade moves up, which is all of this package's but ``MeanRank`` and ``Judged``.

    Args:
        qrels: The judgments.
        run: The run.
        measures: Measures that depend on grades and ranks only.

    Returns:
        ``query_id, measure, worst, best`` for each query with a relevant document, ``null`` where
        undefined; ``worst <= value <= best`` (for ``MinRank`` the other way round).

    Raises:
        UsageError: If a measure depends on document ids.
    """
    asked = graded_measures(measures)
    queries = JudgedQueries.from_qrels(qrels)
    ranked = queries.rank(run).join(queries.frame, on=["query", "doc_id"], how="left")
    graded = ranked.with_columns(grade=pl.col("relevance").fill_null(0))
    columns = []
    for best in (False, True):
        order = rank_ties_by_grade(graded, best=best)
        table = score_grades(asked, queries.query_ids, JudgedRun.from_ranking(queries, order))
        columns.append(pl.Series("best" if best else "worst", table.ravel()).fill_nan(None))
    return long_index(queries, asked).with_columns(columns)


def graded_measures(measures: Iterable[str | Measure]) -> list[TrecEvalMeasure | ColumnMeasure]:
    """The measures, or a :class:`UsageError` if one needs more than grades and ranks."""
    asked = parse_measures(measures)
    chosen = [one for one in asked if isinstance(one, TrecEvalMeasure | ColumnMeasure)]
    for measure in asked:
        if measure not in chosen:
            raise UsageError(
                f"{measure.name} depends on more than grades and ranks, so it has no bounds",
                remedy="leave it out",
            )
    return chosen


def long_index(queries: JudgedQueries, measures: Sequence[Measure]) -> pl.DataFrame:
    """``query_id, measure``: every pair, measures of one query together."""
    ids = pl.DataFrame({"query_id": queries.query_ids}, schema={"query_id": pl.String})
    names = pl.DataFrame({"measure": [measure.name for measure in measures]})
    return ids.join(names, how="cross", maintain_order="left_right")


def _ties(frame: pl.DataFrame, cutoffs: Sequence[int]) -> Ties:
    scores = frame.sort("query_id", "score", descending=[False, True]).with_columns(
        rank=pl.int_range(1, pl.len() + 1).over("query_id")
    )
    query, score = pl.col("query_id"), pl.col("score")
    with_next = ((query == query.shift(-1)) & (score == score.shift(-1))).fill_null(value=False)
    marked = scores.with_columns(with_next=with_next)
    tied = marked.filter(pl.col("with_next") | pl.col("with_next").shift(1, fill_value=False))
    pairs = marked.filter("with_next")
    return Ties(
        documents=tied.height,
        pairs=pairs.height,
        queries=pairs["query_id"].n_unique(),
        straddling={k: int((pairs["rank"] == k).sum()) for k in cutoffs},
    )
