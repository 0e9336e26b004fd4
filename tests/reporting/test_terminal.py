"""The console table: same figures, at most 100 columns, whatever the number of modes."""

from __future__ import annotations

import io
from typing import Any

import pytest

from trectools_plus.reporting.terminal import print_report

SIX = ("nDCG@10", "AP@100", "RR@10", "R@50", "R@100", "HitRate@10", "MaxOntSim@10")


def printed(report: Any, width: int | None = None) -> str:
    stream = io.StringIO()
    print_report(report, stream, width=width)
    return stream.getvalue()


def test_three_modes_stand_side_by_side(make_report: Any) -> None:
    lines = printed(make_report()).splitlines()
    assert lines[0] == "irds:cranfield · 225 queries · 1,400 documents"
    header = next(line for line in lines if "Metric" in line)
    assert header.split() == ["Metric", "Lexical-Only", "Vector-Only", "Hybrid", "Best", "Mode"]
    row = next(line for line in lines if "nDCG@10" in line)
    assert row.split() == ["nDCG@10", "0.3227", "ᵇ", "0.2966", "0.3417", "ᵇ", "Hybrid", "n.s."]
    assert "ms/query p50" in printed(make_report())
    assert "ms/query" not in printed(make_report(latency=False))


@pytest.mark.parametrize("modes", [1, 2, 3, 4, 5, 8, 30])
@pytest.mark.parametrize("length", [1, 12, 40, 90])
@pytest.mark.parametrize("measures", [1, 7])
def test_it_fits_100_columns(make_report: Any, modes: int, length: int, measures: int) -> None:
    names = [f"{n:02}".rjust(length, "r")[-max(length, 2) :] for n in range(modes)]
    means = {
        name: dict.fromkeys(SIX[:measures], 0.1 + place / 100) for place, name in enumerate(names)
    }
    text = printed(make_report(means, latency=False))
    assert max(map(len, text.splitlines())) <= 100
    assert text.count("0.1000") >= measures
    for measure in SIX[:measures]:
        assert measure in text


def test_a_narrow_terminal_folds_the_table(make_report: Any) -> None:
    text = printed(make_report(), width=50)
    assert max(map(len, text.splitlines())) <= 50
    assert "0.3417" in text


def test_what_must_not_be_overlooked_is_noted(make_report: Any) -> None:
    finding = {
        "code": "R141",
        "name": "tied-scores",
        "severity": "warning",
        "line": 1,
        "column": None,
        "count": 1,
        "query_id": None,
        "doc_id": None,
        "message": "tie",
        "remedy": None,
        "fix": "ask",
    }
    diagnostics = {
        "status": "incomplete",
        "notes": ["no results for 1 of 2 queries (7)"],
        "findings": [finding],
    }
    text = printed(make_report(diagnostics=diagnostics))
    assert text.count("no results for 1 of 2 queries (7)") == 1
    assert "Lexical-Only, Vector-Only and Hybrid are incomplete: no results" in text
    assert "Vector-Only and Hybrid R141" in " ".join(text.split())


def test_markup_in_names_is_text(make_report: Any) -> None:
    assert "[red]x[/red]" in printed(make_report({"[red]x[/red]": {"RR@10": 0.5}}))
