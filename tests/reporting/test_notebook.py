"""Results in notebooks: small, escaped tables."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import polars as pl

from trectools_plus import Qrels, Run, evaluate
from trectools_plus.benchmark.run.output_folder import OutputFolder
from trectools_plus.benchmark.run.runner import BenchmarkResult
from trectools_plus.text import MAX_TABLE_ROWS, html_table


def cells(html: str) -> list[list[str]]:
    rows = ET.fromstring(html).iter("tr")
    return [["".join(cell.itertext()) for cell in row] for row in rows]


def test_an_evaluation_shows_its_means() -> None:
    qrels = Qrels.from_dict({"1": {"d": 1, "x": 0}, "2": {"d": 1}})
    runs = {"<b>": Run.from_dict({"1": {"d": 1.0}}), "b": Run.from_dict({"1": {"x": 1.0}})}
    html = evaluate(qrels, runs, ["RR", "MeanRank"])._repr_html_()
    assert cells(html) == [
        ["Run", "RR", "MeanRank", "Queries"],
        ["<b>", "0.5000", "1.0000", "2"],
        ["b", "0.0000", "–", "2"],
    ]
    assert "<b>" not in html


def test_means_over_different_queries_show_how_many_those_are() -> None:
    qrels = Qrels.from_dict({"1": {"d": 1}, "2": {"d": 1}})
    runs = {
        "few": Run.from_dict({"1": {"d": 1.0}}),
        "all": Run.from_dict({"1": {"d": 1.0}, "2": {"x": 2.0, "d": 1.0}}),
    }
    evaluation = evaluate(qrels, runs, ["RR", "MeanRank"])
    assert evaluation.is_over_different_queries("MeanRank")
    assert not evaluation.is_over_different_queries("RR")
    assert cells(evaluation._repr_html_())[1:] == [
        ["few", "0.5000", "1.0000 (n = 1)", "2"],
        ["all", "0.7500", "1.5000 (n = 2)", "2"],
    ]


def test_a_report_shows_means_with_intervals(make_report: Any, tmp_path: Path) -> None:
    report = make_report({"a": {"RR@10": 0.5, "MeanRank": None}})
    html = report._repr_html_()
    assert cells(html) == [["Mode", "RR@10", "MeanRank"], ["a", "0.5000 [0.470, 0.530]", "–"]]
    assert "irds:cranfield, 225 queries; 95% intervals" in html
    result = BenchmarkResult(report, pl.DataFrame(), {}, OutputFolder(tmp_path))
    assert result._repr_html_() == html


def test_a_long_table_is_cut() -> None:
    html = html_table("many", ["Run", "RR"], [[str(number), "1"] for number in range(100)])
    rows = cells(html)
    assert len(rows) == MAX_TABLE_ROWS + 2
    assert rows[-1] == [f"… and {100 - MAX_TABLE_ROWS} more"]
