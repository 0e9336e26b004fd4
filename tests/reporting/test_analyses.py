"""The analyses of a report in words and tables, and the sentence on unjudged documents."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest

from trectools_plus.benchmark.report import BenchmarkReport, load_report
from trectools_plus.benchmark.report.figures import (
    Difficulty,
    DiscriminativePower,
    Pool,
    PoolMode,
    QueryDifficulty,
)
from trectools_plus.benchmark.report.verdict import describe_judged, make_verdict
from trectools_plus.reporting.analyses import analysis_sections
from trectools_plus.reporting.export import render_json
from trectools_plus.reporting.markdown import render_markdown
from trectools_plus.reporting.terminal import print_report

MODES = ("lexical", "vector", "hybrid")


def pool_of(shares: dict[str, float | None], high: float | None = 0.832) -> Pool:
    modes = {
        mode: PoolMode(
            judged=share,
            score=0.3417,
            low=None if high is None else 0.339,
            high=high,
        )
        for mode, share in shares.items()
    }
    return Pool(measure="nDCG@10", modes=modes, tau=0.4)


@pytest.fixture
def report(make_report: Any) -> BenchmarkReport:
    """A report with every analysis."""
    made: BenchmarkReport = make_report()
    query = QueryDifficulty(query_id="q|1", mean=0.25)
    return made.model_copy(
        update={
            "pool": pool_of(dict(zip(MODES, (0.29, 0.26, 0.31), strict=True))),
            "difficulty": Difficulty(
                measure="nDCG@10",
                n=225,
                mean=0.32,
                std=0.1,
                quartiles=[0.1, 0.2, 0.3],
                hardest=[query, query],
                easiest=[query],
                agreement=dict(zip(MODES, (0.6, None, 0.7), strict=True)),
            ),
            "discriminative_power": {
                "nDCG@10": DiscriminativePower(
                    pairs=6,
                    significant=3,
                    smallest_significant=0.02,
                    largest_not_significant=None,
                )
            },
        }
    )


def test_every_analysis_has_a_table(report: BenchmarkReport) -> None:
    sections = {one.title: one for one in analysis_sections(report)}
    assert list(sections) == [
        "Judgments",
        "Difficulty of queries",
        "Discriminative power",
    ]
    rows = {
        title: [[cell.text for cell in row.cells] for row in section.table.rows]
        for title, section in sections.items()
    }
    assert rows["Judgments"][0] == [
        "Lexical-Only",
        "29.0%",
        "0.3417",
        "0.3390 to 0.8320",
    ]
    assert "tau of Judged@10 and nDCG@10 over modes: +0.40" in sections["Judgments"].text
    assert rows["Difficulty of queries"] == [
        ["q|1", "0.2500", "q|1", "0.2500"],
        ["q|1", "0.2500", "", ""],
    ]
    assert "Lexical-Only 0.60, Vector-Only –, Hybrid 0.70" in sections["Difficulty of queries"].text
    assert rows["Discriminative power"] == [["nDCG@10", "3 of 6", "50%", "0.0200", "–"]]


def test_markdown_collapses_the_analyses(report: BenchmarkReport) -> None:
    text = render_markdown(report)
    _, found = text.split("## Analyses\n\n")
    assert found.startswith("<details><summary>Show</summary>\n\n### Judgments\n\n| Mode |")
    assert "| q\\|1 | 0.2500 |" in found


def test_the_terminal_has_them_with_everything(report: BenchmarkReport) -> None:
    for full in (True, False):
        stream = StringIO()
        print_report(report, stream, width=100, full=full)
        assert ("Difficulty of queries" in stream.getvalue()) is full
        assert ("0.3390 to 0.8320" in stream.getvalue()) is full


def test_reports_without_analyses_show_none(make_report: Any) -> None:
    report = make_report()
    assert analysis_sections(report) == []
    assert "## Analyses" not in render_markdown(report)


def test_the_json_is_read_back(report: BenchmarkReport, tmp_path: Any) -> None:
    path = tmp_path / "BenchmarkReport.json"
    path.write_text(render_json(report), encoding="utf-8")
    found = load_report(path)
    assert (found.pool, found.difficulty) == (report.pool, report.difficulty)
    assert found.discriminative_power == report.discriminative_power


def test_the_report_of_a_mode_has_no_analyses(report: BenchmarkReport) -> None:
    one = report.of_mode("vector", [])
    assert one.discriminative_power == {}


def test_few_judged_documents_are_named_below_the_verdict(report: BenchmarkReport) -> None:
    (sentence,) = describe_judged(report)
    assert sentence == (
        "Less than half of the first ten documents is judged (Lexical-Only, Vector-Only and "
        "Hybrid 26% to 31%), and unjudged documents count as not relevant."
    )
    verdict = make_verdict(report, report.primary_measure)
    assert verdict is not None
    assert sentence in verdict.next_steps


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        (None, []),
        (pool_of(dict.fromkeys(MODES, 0.5)), []),
        (pool_of(dict.fromkeys(MODES)), []),
        (
            pool_of({"lexical": 0.9, "vector": 0.4, "hybrid": None}, None),
            [
                "Less than half of the first ten documents is judged (Vector-Only 40%), and "
                "unjudged documents count as not relevant."
            ],
        ),
    ],
)
def test_the_sentence_appears_only_below_one_half(
    make_report: Any, pool: Pool | None, expected: list[str]
) -> None:
    assert describe_judged(make_report().model_copy(update={"pool": pool})) == expected


def test_many_modes_are_summarised(make_report: Any) -> None:
    names = [f"m{place}" for place in range(5)]
    report = make_report({name: {"nDCG@10": 0.3} for name in names})
    shares = {name: 0.2 + place / 50 for place, name in enumerate(names)}
    (sentence,) = describe_judged(report.model_copy(update={"pool": pool_of(shares)}))
    assert "(5 modes 20% to 28%)" in sentence
