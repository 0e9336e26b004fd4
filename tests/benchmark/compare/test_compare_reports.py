"""Two reports compared: the figures are SciPy's, and what cannot be compared is refused."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from trectools_plus.benchmark import GateRules, compare_reports
from trectools_plus.benchmark.gate import run_gate
from trectools_plus.benchmark.two_reports import state_verdict
from trectools_plus.errors import IncomparableError, InputError
from trectools_plus.reporting import contrast_blocks, contrast_document, markdown


def values(folder, measure):
    table = pl.read_parquet(folder / "per_query.parquet")
    return table.filter(measure=measure).sort("query_id")["value"].to_numpy()


def test_figures_are_scipys(bench):
    a = bench.make("a", {"x": {n: 1 + n % 7 for n in range(60)}})
    b = bench.make("b", {"x": {n: 1 + n % 5 for n in range(60)}})
    contrast = compare_reports(a, b)
    entry = contrast.modes[0].comparisons[1]
    ours, theirs = values(b, "RR@10"), values(a, "RR@10")
    student = stats.ttest_rel(ours, theirs)
    assert entry.measure == "RR@10"
    assert entry.difference == pytest.approx((ours - theirs).mean())
    assert (entry.t_test.t, entry.t_test.p) == pytest.approx((student.statistic, student.pvalue))
    assert (entry.test, entry.correction) == ("t_test", "holm")
    assert entry.p_adjusted == entry.t_test.p
    changed = next(pair for pair in contrast.modes[0].scores if pair.measure == "RR@10").changes()
    sizes = [abs(one.after - one.before) for one in changed]
    assert sizes == sorted(sizes, reverse=True)
    assert max(sizes) == pytest.approx(np.abs(ours - theirs).max())


def test_the_verdict_is_a_sentence(bench):
    a = bench.make("a", {"x": {}})
    worse = bench.make("worse", {"x": dict.fromkeys(range(20), 0)})
    near = bench.make("near", {"x": dict.fromkeys(range(2), 0)})
    said = state_verdict(compare_reports(a, worse))
    assert said == "x: B is worse than A by 0.3333 on R@10 over 60 queries; significant."
    assert "is better" in state_verdict(compare_reports(worse, a))
    assert "on R@10 over 60 queries; not significant" in state_verdict(compare_reports(a, near))
    same = bench.make("same", {"x": {}})
    assert (
        state_verdict(compare_reports(a, same)) == "x: A and B are equal on R@10 over 60 queries."
    )


def test_modes_are_paired_by_name_or_alone(bench):
    a, b = bench.make("a", {"x": {}}), bench.make("b", {"y": {}})
    assert compare_reports(a, b).modes[0].modes == ("x", "y")
    both = bench.make("both", {"x": {}, "y": {}})
    contrast = compare_reports(both, b)
    assert [mode.modes for mode in contrast.modes] == [("y", "y")]
    assert "only in" in contrast.notes[0]
    with pytest.raises(IncomparableError):
        compare_reports(both, bench.make("c", {"z": {}}))
    with pytest.raises(IncomparableError):
        compare_reports(a, bench.make("d", {"x": {}}, measures=["P@5"]))


def test_other_data_are_refused_and_missing_values_named(bench):
    a, b = bench.make("a", {"x": {}}), bench.make("b", {"x": {}}, queries=50)
    with pytest.raises(IncomparableError, match=r"60.*50"):
        compare_reports(a, b)
    c = bench.make("c", {"x": {}})
    values = pl.read_parquet(c / "per_query.parquet")
    pl.concat([values, values]).write_parquet(c / "per_query.parquet")
    with pytest.raises(InputError, match="no two rows"):
        compare_reports(a, c)
    (c / "per_query.parquet").unlink()
    with pytest.raises(InputError):
        compare_reports(a, c)
    (c / "per_query.parquet").write_text("no parquet")
    with pytest.raises(InputError):
        compare_reports(a, c)


def test_settings_that_differ_are_named(bench):
    a = bench.make("a", {"x": {}}, seed=1)
    b = bench.make("b", {"x": {3: 0}}, seed=2, targets={"R@10": {"competitive": 0.9}})
    contrast = compare_reports(a, b)
    assert contrast.settings["seed"] == (1, 2)
    assert contrast.settings["targets.R@10.competitive"][1] == 0.9
    assert "resamples" not in contrast.settings
    assert "seed 1 to 2" in markdown(contrast_blocks(contrast))
    assert contrast_document(contrast)["settings"]["seed"] == {"a": 1, "b": 2}
    assert compare_reports(a, a).settings == {}


def test_means_over_different_queries_are_noted(bench):
    a = bench.make("a", {"x": {3: 0, 4: 0}}, measures=["MeanRank", "R@10"])
    b = bench.make("b", {"x": {4: 0, 5: 0, 6: 3}}, measures=["MeanRank", "R@10"])
    contrast = compare_reports(a, b)
    note = (
        "MeanRank of x is undefined for 2 of 60 queries in one report only: the means of the "
        "reports are over different queries, the comparison is over the 57 that both define"
    )
    assert contrast.notes == [note]
    assert contrast.modes[0].comparisons[0].n == 57
    assert {one.measure: one.counts for one in contrast.modes[0].scores}["MeanRank"] == (58, 58)
    assert "(n = 57)" in markdown(contrast_blocks(contrast))
    rules = GateRules(("MeanRank", "R@10"), 0.5)
    assert any("the comparison is over the 57" in one for one in run_gate(b, a, rules).notes)
    assert (
        compare_reports(a, bench.make("c", {"x": {3: 0, 4: 0}}, measures=["MeanRank"])).notes == []
    )
