"""Results in notebooks: small, escaped tables."""

import xml.etree.ElementTree as ET

import polars as pl
import pytest

from trectools_plus import Qrels, Run, evaluate
from trectools_plus.benchmark import BenchmarkResult
from trectools_plus.benchmark.run.output_folder import OutputFolder
from trectools_plus.display import MAX_TABLE_ROWS, TextTable
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.reporting import html_table


def cells(html):
    rows = ET.fromstring(f"<div>{html}</div>").iter("tr")
    return [["".join(cell.itertext()) for cell in row] for row in rows]


def test_an_evaluation_shows_its_means():
    qrels = Qrels.from_dict({"1": {"d": 1, "x": 0}, "2": {"d": 1}})
    runs = {"<b>": Run.from_dict({"1": {"d": 1.0}}), "b": Run.from_dict({"1": {"x": 1.0}})}
    html = evaluate(qrels, runs, ["RR", "MeanRank"])._repr_html_()
    assert cells(html) == [
        ["Run", "RR", "MeanRank", "Queries"],
        ["<b>", "0.5000", "1.0000 (n = 1)", "2"],
        ["b", "0.0000", "– (n = 0)", "2"],
    ]
    assert "<b>" not in html


def test_means_over_different_queries_show_how_many_those_are():
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
        ["all", "0.7500", "1.5000", "2"],
    ]


def test_a_report_shows_means_with_intervals(make_report, tmp_path):
    report = make_report({"a": {"RR@10": 0.5, "MeanRank": None}})
    html = report._repr_html_()
    assert cells(html) == [["Mode", "RR@10", "MeanRank"], ["a", "0.5000 [0.470, 0.530]", "–"]]
    assert "irds:cranfield, 225 queries; 95% intervals" in html
    result = BenchmarkResult(report, pl.DataFrame(), {}, OutputFolder(tmp_path))
    assert result._repr_html_() == html
    headlines = make_report({"a": {"RR@10": 0.5, "P@5": 0.2}}, headline_measures=["P@5"])
    assert cells(headlines._repr_html_())[0] == ["Mode", "P@5"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"measures": ["P@3"]}, "'P@3'"),
        ({"measures": [1.5]}, "measure 1.5"),
        ({"measures": 5}, "the arguments"),
        ({"confidence": 2}, "between 0 and 1"),
        ({"confidence": "x"}, "the arguments"),
    ],
)
def test_wrong_arguments_of_a_plot_are_one_line(arguments, message):
    evaluation = evaluate({"q": {"d": 1}, "r": {"d": 1}}, {"q": {"d": 1.0}}, ["RR"])
    with pytest.raises(TrectoolsPlusError) as caught:
        evaluation.plot(**arguments)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_plot_shows_means_and_intervals():
    qrels = {f"q{number}": {"d": 1} for number in range(40)}
    runs = {
        "good": {query: {"d": 1.0} for query in list(qrels)[:30]},
        "bad": {query: {"x": 2.0, "d": 1.0} for query in qrels},
    }
    evaluation = evaluate(qrels, runs, ["RR", "MeanRank"])
    figure = evaluation.plot()
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["RR", "MeanRank ↓"]
    reciprocal, _ = figure.axes
    assert [tick.get_text() for tick in reciprocal.get_yticklabels()] == ["good", "bad"]
    drawn = [container[0].get_xdata().tolist() for container in reciprocal.containers]
    assert drawn == [[0.75], [0.5]]
    ends = reciprocal.containers[0][2][0].get_segments()[0][:, 0]
    assert 0.5 < ends[0] < 0.75 < ends[1] <= 1.0
    assert evaluation.plot(["mrr"], confidence=0.5).axes[0].get_title(loc="left") == "RR"


def test_a_long_table_is_cut():
    rows = [[str(number), "1"] for number in range(100)]
    html = html_table(TextTable.of(["Run", "RR"], rows, caption="many"))
    rows = cells(html)
    assert len(rows) == MAX_TABLE_ROWS + 1
    assert f"… and {100 - MAX_TABLE_ROWS} more" in html
