"""Tables in every format hold the report's own figures and marks."""

import csv
import io
import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import InputError, UsageError
from trectools_plus.reporting import (
    Layout,
    frame_as_csv,
    table_as_frame,
    table_as_text,
    write_table,
)

MEANS = {
    "lexical": {"nDCG@10": 0.3, "MeanRank": 12.5},
    "vector": {"nDCG@10": 0.1, "MeanRank": None},
    "hybrid": {"nDCG@10": 1 / 3, "MeanRank": 10.0},
}


KINDS = ("latex", "markdown", "csv")


def latex_rows(text):
    body = text.split("\\toprule")[1].split("\\bottomrule")[0]
    lines = [line.strip() for line in body.splitlines() if line.strip().endswith("\\\\")]
    split = [re.split(r"(?<!\\)&", line.removesuffix("\\\\")) for line in lines]
    return [[cell.strip() for cell in row] for row in split]


FORMULA_CHARACTERS = "=+-@\t\r\n＝＋－＠"
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    st.text(alphabet=f"{FORMULA_CHARACTERS}'1.5eE,;\"x "),
    st.floats(allow_nan=False, allow_infinity=False).map(str),
)


def is_number(text):
    return bool(
        re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", text, re.IGNORECASE | re.ASCII)
    )


@given(st.lists(st.tuples(TEXTS, st.floats(allow_nan=False)), min_size=1))
def test_no_text_in_csv_is_a_formula_and_every_text_can_be_restored(rows):
    frame = pl.DataFrame(rows, schema={"id": pl.String, "value": pl.Float64}, orient="row")
    read = list(csv.reader(io.StringIO(frame_as_csv(frame), newline="")))[1:]
    assert len(read) == len(rows)
    for (text, value), (cell, number) in zip(rows, read, strict=True):
        assert float(number) == value
        assert cell[:1] not in tuple(FORMULA_CHARACTERS) or is_number(cell)
        assert cell in (text, f"'{text}")
        if is_number(text):
            assert cell == text
        assert re.sub(rf"^'('*[{re.escape(FORMULA_CHARACTERS)}])", r"\1", cell) == text


def test_the_table_holds_the_reports_figures_and_marks(make_report):
    report = make_report(MEANS)
    rows = table_as_frame(report).rows(named=True)
    pairs = [(measure, mode) for measure in report.measure_names for mode in report.modes]
    for row, (measure, mode) in zip(rows, pairs, strict=True):
        figures = report.modes[mode].measures[measure]
        shown = [row[name] for name in ("mode", "mean", "low", "high", "n", "level")]
        ends = [figures.ci.low, figures.ci.high]
        assert shown == [mode, figures.mean, *ends, figures.n, figures.ci.level]
    better = {row["mode"]: row["better_than"] for row in rows[:3]}
    assert better == {"lexical": ["vector"], "vector": [], "hybrid": ["lexical", "vector"]}
    assert [row["best"] for row in rows] == [False, False, True] * 2


def test_markdown_marks_the_best_and_the_significant(make_report):
    text = table_as_text(make_report(MEANS), "markdown")
    lines = text.splitlines()
    assert lines[0] == ("| Metric | Lexical-Only ᵃ | Vector-Only ᵇ | Hybrid ᶜ |")
    assert lines[2] == (
        "| nDCG@10 | 0.3000 [0.270, 0.330] ᵇ | 0.1000 [0.070, 0.130] | "
        "**0.3333 [0.303, 0.363]** ᵃᵇ |"
    )
    assert "| –" in lines[3]
    assert "mode with that" in text


def test_latex_has_booktabs_rules_superscripts_and_intervals_below(make_report):
    text = table_as_text(make_report(MEANS), "latex")
    header, means, intervals, *_ = latex_rows(text)
    assert header == [
        "Metric",
        r"Lexical-Only\textsuperscript{a}",
        r"Vector-Only\textsuperscript{b}",
        r"Hybrid\textsuperscript{c}",
    ]
    assert means == [
        "nDCG@10",
        r"0.3000\textsuperscript{b}",
        "0.1000",
        r"\textbf{0.3333}\textsuperscript{ab}",
    ]
    assert intervals[0] == ""
    assert intervals[3] == r"{\scriptsize [0.303, 0.363]}"
    assert text.index("\\toprule") < text.index("\\midrule") < text.index("\\bottomrule")
    assert r"95\% interval" in text
    assert {len(row) for row in latex_rows(text)} == {4}


@pytest.mark.parametrize("count", [1, 6, 30])
def test_many_modes_become_rows(make_report, count):
    modes = {f"m{number}": {"nDCG@10": number / 40, "RR@10": 0.5} for number in range(count)}
    table = make_report(modes)
    header = latex_rows(table_as_text(table, "latex"))[0]
    assert len(header) == (2 if count == 1 else 3)
    assert (header[0] == "Mode") == (count > 5)
    assert ("superscript" in table_as_text(table, "latex")) == (count == 6), "letters end at z"
    assert table_as_text(table, "markdown").splitlines()[0].count("|") == len(header) + 1


def test_tables_for_papers_have_the_headline_measures_or_those_requested(make_report):
    means = {mode: {f"P@{n}": n / 10 for n in range(1, 10)} for mode in ("x", "y")}
    report = make_report(means)
    assert len(latex_rows(table_as_text(report, "latex"))) == 1 + 2 * 6
    assert table_as_frame(report).height == 2 * 9
    two = ["p@3", "precision@2", "P@3"]
    latex, markdown, csv_text = (table_as_text(report, kind, two) for kind in KINDS)
    assert [row[0] for row in latex_rows(latex)] == ["Metric", "P@3", "", "P@2", ""]
    assert [row["measure"] for row in csv.DictReader(io.StringIO(csv_text))] == ["P@3"] * 2 + [
        "P@2"
    ] * 2
    assert [cells[0] for cells in markdown_cells(markdown)] == ["Metric", "P@3", "P@2"]
    with pytest.raises(UsageError, match=r"RR.*P@1.*P@2"):
        table_as_text(report, "csv", ["RR"])


def markdown_cells(text):
    lines = [line for line in text.splitlines() if line.startswith("|") and "---" not in line]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


@pytest.mark.parametrize(("systems", "corner"), [("rows", "Mode"), ("columns", "Metric")])
@pytest.mark.parametrize("count", [2, 7])
def test_systems_are_rows_or_columns_as_requested(make_report, systems, corner, count):
    modes = {f"m{number}": {"nDCG@10": 0.12345, "P@5": 0.5} for number in range(count)}
    layout = Layout(systems, decimals=2)
    table = make_report(modes)
    for rows in (
        latex_rows(table_as_text(table, "latex", layout=layout)),
        markdown_cells(table_as_text(table, "markdown", layout=layout)),
    ):
        headers = [row for row in rows if row[0] == corner]
        assert rows[0] is headers[0]
        assert sum(len(row) - 1 for row in headers) == (2 if systems == "rows" else count)
    text = table_as_text(table, "markdown", layout=layout)
    assert "0.12 [0.09, 0.15]" in text
    assert "0.1234" not in text


def test_the_notes_name_the_test_and_the_family(make_report):
    table = make_report(MEANS)
    test = "Paired t-test, Holm over 3 comparisons on one measure: every pair of 3 modes"
    queries = "0.05; 225 queries; those without results count 0, those without a relevant document"
    assert f"{test}, p ≤ {queries}" in table_as_text(table, "markdown")
    assert rf"{test}, p \(\leq\) {queries}" in table_as_text(table, "latex")
    assert "test" not in table_as_text(make_report({"only": {"nDCG@10": 0.3}}), "latex")


def test_a_latex_row_never_begins_with_what_its_line_end_would_read(make_report):
    means = {name: {"nDCG@10": 0.5} for name in ("[best]", "*starred", "c", "d", "e", "f")}
    lines = [line.strip() for line in table_as_text(make_report(means), "latex").splitlines()]
    ends = [place for place, line in enumerate(lines) if line.endswith("\\\\")]
    assert len(ends) == 13
    assert not any(lines[place + 1].startswith(("[", "*")) for place in ends)
    assert any(line.startswith("{}[best] &") for line in lines)


def test_several_files_are_written_or_none(make_report, tmp_path):
    table = make_report(MEANS)
    with pytest.raises(UsageError, match="docx"):
        write_table(table, tmp_path / "a.tex", tmp_path / "b.docx")
    with pytest.raises(InputError):
        write_table(table, tmp_path / "no" / "table.csv")
    assert list(tmp_path.iterdir()) == []
    write_table(table, tmp_path / "a.TEX", tmp_path / "b.csv")
    assert (tmp_path / "a.TEX").read_text("utf-8") == table_as_text(table, "latex")
    assert (tmp_path / "b.csv").read_text("utf-8") == table_as_text(table, "csv")
