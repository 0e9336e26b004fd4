from __future__ import annotations

import numpy as np

from trectools_plus.retrieval.outcome import summarise_latency


def test_percentiles_by_hand() -> None:
    latency = summarise_latency(np.arange(101.0))
    assert (latency.mean, latency.p50, latency.p95, latency.p99) == (50, 50, 95, 99)
    assert latency.queries == 101


def test_queries_that_were_not_timed_do_not_count() -> None:
    timed = np.arange(1.0, 102.0)
    assert summarise_latency(np.append(timed, np.nan)) == summarise_latency(timed)
    assert summarise_latency(np.array([np.nan])) is None
    assert summarise_latency(np.array([])) is None
