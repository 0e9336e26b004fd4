"""The latencies of a mode in two reports, compared query by query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trectools_plus.benchmark.compare import resampling_of
from trectools_plus.benchmark.report_folder import ReportFolder

if TYPE_CHECKING:
    from trectools_plus.statistics import PairedComparison


@dataclass(frozen=True, slots=True)
class LatencyDifference:
    """Mean milliseconds per query, B minus A, over the queries that both timed.

    Attributes:
        n: Queries.
        a: Mean of A.
        b: Mean of B.
        difference: B minus A.
        low: Lower end of its bootstrap interval; ``None`` for a single query.
        high: Upper end.
    """

    n: int
    a: float
    b: float
    difference: float
    low: float | None
    high: float | None


def compare_latency(
    a: ReportFolder, b: ReportFolder, pair: tuple[str, str]
) -> LatencyDifference | None:
    """Compare the latency of a mode, B minus A, over the queries that both timed.

    Args:
        a: Report A.
        b: Report B.
        pair: The mode in A and in B.

    Returns:
        ``None`` where a report timed nothing, or no query is in both.
    """
    from trectools_plus.statistics import compare_columns

    if a.latency is None or b.latency is None:
        return None
    first, second = (
        source.latency.filter(run=mode).select("query_id", "latency_ms")
        for source, mode in ((a, pair[0]), (b, pair[1]))
        if source.latency is not None
    )
    both = first.join(second, on="query_id", suffix="_b")
    if not both.height:
        return None
    before, after = both["latency_ms"].to_numpy(), both["latency_ms_b"].to_numpy()
    found: PairedComparison = compare_columns(
        after - before, tests=(), **resampling_of(a.report.manifest.config)
    )[0]
    assert found.difference is not None
    return LatencyDifference(
        both.height,
        float(before.mean()),
        float(after.mean()),
        found.difference,
        found.low,
        found.high,
    )
