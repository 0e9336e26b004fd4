"""What is said of tests, groups, sizes and denominators, beside the figures."""

from __future__ import annotations

import io
from typing import Any

import pytest

from trectools_plus.benchmark.report import SetSize
from trectools_plus.reporting.comparison_table import legend
from trectools_plus.reporting.console import print_report
from trectools_plus.reporting.markdown import render_markdown
from trectools_plus.reporting.significance import denominator_line, group_lines, show_p

WARNING = "a set of 9 queries is a sanity check"


def console(report: Any) -> str:
    stream = io.StringIO()
    print_report(report, stream)
    return " ".join(stream.getvalue().split())


def test_the_legend_names_test_correction_and_family(make_report: Any) -> None:
    assert (
        "(randomisation test, p ≤ 0.05 after Holm over 3 comparisons on one measure: every pair of "
        "3 modes)" in " ".join(legend(make_report()))
    )
    tukey = [
        one.model_copy(update={"test": "tukey_hsd", "correction": "tukey_hsd"})
        for one in make_report().comparisons
    ]
    text = " ".join(legend(make_report(comparisons=tukey)))
    assert "(randomised Tukey HSD, p ≤ 0.05, for 3 comparisons" in text


def test_groups_are_named_once_for_measures_that_share_them(make_report: Any) -> None:
    both = [["hybrid", "lexical"], ["vector"]]
    report = make_report(groups={"nDCG@10": both, "RR@10": both})
    said = "nDCG@10, RR@10: Hybrid and Lexical-Only; Vector-Only"
    assert group_lines(report) == [said]
    assert f"Cannot be told apart on {said}." in console(report)
    assert f"- {said}" in render_markdown(report)
    apart = [["hybrid"], ["lexical"], ["vector"]]
    assert group_lines(make_report(groups={"nDCG@10": apart})) == []


def test_small_sets_are_warned_of(make_report: Any) -> None:
    report = make_report(size=SetSize(queries=9, use="sanity_check", warning=WARNING))
    assert f"Note: A{WARNING[1:]}." in console(report)
    assert f"> **Note:** A{WARNING[1:]}." in render_markdown(report)
    assert "sanity" not in console(make_report())


def test_one_denominator_is_said_and_asserted(make_report: Any) -> None:
    report = make_report({"a": {"MinRank": 2.0}, "b": {"MinRank": 3.0}})
    assert denominator_line(report) == "Every mean is over the same 225 queries."

    def with_n(n: int) -> Any:
        mode = report.modes["a"]
        figures = {"MinRank": mode.measures["MinRank"].model_copy(update={"n": n})}
        changed = mode.model_copy(update={"measures": figures})
        return report.model_copy(update={"modes": {**report.modes, "a": changed}})

    assert "MinRank over the 200 to 225 of them for which" in denominator_line(with_n(200))
    with pytest.raises(AssertionError):
        denominator_line(with_n(226))


def test_p_values_are_never_0() -> None:
    assert [show_p(p) for p in (None, 1e-9, 0.0001, 0.05, 1)] == [
        "–",
        "<0.0001",
        "0.0001",
        "0.0500",
        "1.0000",
    ]
