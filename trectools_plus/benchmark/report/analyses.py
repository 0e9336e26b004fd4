"""Parts of a report about all modes together: judgments, queries, runs, measures."""

from __future__ import annotations

from trectools_plus.models import ReportModel


class PoolMode(ReportModel):
    """The dependence of a mode's score on the judgments."""

    judged: float | None
    """Mean share of judged documents among the first ten, between 0 and 1."""
    score: float | None
    """The mean of the measure."""
    low: float | None
    """The mean of each query's lower value, if its unjudged documents are all irrelevant or all
    relevant; null if the measure has no such bounds, for example because it depends on ids."""
    high: float | None
    """The mean of each query's higher value."""
    rank: int | None
    """The mode's rank by its score, from 1; equal scores have the same rank. Null if the means are
    over different queries."""
    removed: int | None
    """The judgments that are removed to leave out the mode: documents that only this mode has in
    its first ``depth`` results. Null, as the two values below, with a single mode."""
    score_without: float | None
    """The mean over the same queries with the remaining judgments; a query whose relevant documents
    are all removed counts 0, or nothing if a lower value is better."""
    rank_without: int | None
    """The rank if all modes are scored with the remaining judgments."""


class Pool(ReportModel):
    """The dependence of the primary measure on incomplete judgments."""

    measure: str
    """The primary measure's name as requested."""
    depth: int
    """The results of each mode that count as its contribution to the judgments: the cutoff of the
    measure, or 100."""
    modes: dict[str, PoolMode]
    """By mode."""
    tau: float | None
    """Kendall's tau-b of the modes' judged shares and scores, between -1 and 1: near 1, modes with
    more judged documents score higher. Null for fewer than five modes."""


class QueryDifficulty(ReportModel):
    """A query, and its mean over modes."""

    query_id: str
    mean: float
    """Mean of the measure over the modes."""


class Difficulty(ReportModel):
    """The difficulty of the queries: the mean of the primary measure over the modes."""

    measure: str
    """The primary measure's name as requested."""
    n: int
    """Number of queries for which every mode defines the measure."""
    mean: float
    """Mean of the queries' means."""
    std: float | None
    """Their sample standard deviation (ddof = 1); null for one query."""
    quartiles: list[float]
    """Their first quartile, median and third quartile."""
    hardest: list[QueryDifficulty]
    """At most ten queries with a relevant document, the hardest first."""
    easiest: list[QueryDifficulty]
    """At most ten queries, the easiest first."""
    agreement: dict[str, float | None]
    """By mode, Kendall's tau-b of its values and the mean of the other modes, query by query,
    between -1 and 1: near 1, the same queries are difficult. Null if all values are equal."""


class DiscriminativePower(ReportModel):
    """The ability of a measure to distinguish the modes with these queries."""

    pairs: int
    """Number of compared pairs of modes."""
    significant: int
    """Number of pairs that differ significantly, by the comparisons of the report."""
    smallest_significant: float | None
    """The smallest absolute difference that is significant; null if none is."""
    largest_not_significant: float | None
    """The largest absolute difference that is not significant; null if all are."""


class Similarity(ReportModel):
    """The similarity of the rankings of each two modes: rank-biased overlap, RBO_EXT."""

    p: float
    """Persistence, between 0 and 1."""
    depth: int
    """Number of documents compared per query."""
    modes: list[str]
    """The modes, in the order of rows and columns."""
    rbo: list[list[float | None]]
    """The mean over the queries that at least one of the two modes answers, between 0 and 1; null
    if there is no such query."""
