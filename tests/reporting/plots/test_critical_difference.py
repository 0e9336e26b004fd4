"""Critical-difference diagrams: mean ranks and the report's own groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.figure import Figure

from trectools_plus import compare
from trectools_plus.errors import UsageError
from trectools_plus.reporting.plots import find_critical_difference, plot_critical_difference


@pytest.fixture(name="found", scope="module")
def make_found() -> Any:
    """Compare six systems, of which the later ones find the relevant document earlier."""
    generator = np.random.default_rng(2)
    queries = [f"q{number}" for number in range(60)]
    qrels = {query: {"good": 1, "other": 0} for query in queries}
    runs: dict[str, Any] = {}
    for place in range(6):
        ranks = generator.integers(1, 10 - place, size=len(queries)).tolist()
        runs[f"^s{place}$"] = {
            query: {**{f"b{n}": 20.0 - n for n in range(1, 10)}, "good": 20.5 - rank}
            for query, rank in zip(queries, ranks, strict=True)
        }
    return compare(qrels, runs, ["RR", "MeanRank"], resamples=500)


@pytest.mark.parametrize("measure", ["RR", "meanrank"])
def test_ranks_are_those_of_pandas_and_groups_those_of_the_report(found: Any, measure: str) -> None:
    per_query = found.evaluation.per_query()
    shown = find_critical_difference(found.report, per_query, measure)
    values = per_query.filter(pl.col("measure") == shown.measure).to_dict(as_series=False)
    wide = pd.DataFrame(values).pivot(index="query_id", columns="run", values="value")
    expected = wide.rank(axis=1, ascending=measure == "meanrank").mean()
    assert shown.ranks == pytest.approx(expected.to_dict())
    assert list(shown.ranks) == expected.sort_values().index.tolist()
    assert shown.queries == 60
    assert [list(group) for group in shown.groups] == [
        group for group in found.report.groups[shown.measure] if len(group) > 1
    ]
    assert shown.groups


def test_a_line_joins_exactly_the_members_of_a_group(found: Any) -> None:
    axes = Figure().subplots()
    per_query = found.evaluation.per_query()
    plot_critical_difference(axes, found.report, per_query)
    shown = find_critical_difference(found.report, per_query)
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert [list(line.get_xdata()) for line in dots] == [
        [shown.ranks[mode] for mode in group] for group in shown.groups
    ]
    texts = [text.get_text() for text in axes.texts]
    assert len(texts) == 6
    for mode, rank in shown.ranks.items():
        label = mode.replace("$", r"\$")
        assert f"{label} {rank:.2f}" in texts or f"{rank:.2f} {label}" in texts
    low, high = axes.get_xlim()
    assert low <= min(shown.ranks.values()) < max(shown.ranks.values()) <= high


def test_an_unknown_measure_is_refused(found: Any) -> None:
    with pytest.raises(UsageError, match="P@5"):
        find_critical_difference(found.report, found.evaluation.per_query(), "P@5")
