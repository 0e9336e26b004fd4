"""``compare``: from runs, files and evaluations, to one result with comparisons and means."""

import re

import numpy as np
import polars as pl
import pytest
from harness.observe import ROOT
from matplotlib.text import Text

from tests.benchmark.compare.evaluations import compare_evaluation
from trectools_plus import (
    BenchmarkConfig,
    Run,
    compare,
    evaluate,
    load_qrels,
    load_run,
    run_benchmark,
    write_run,
)
from trectools_plus.benchmark import Comparisons
from trectools_plus.errors import TrectoolsPlusError, UsageError
from trectools_plus.reporting import table_as_text

FIXTURES = ROOT / "fixtures"
QRELS = FIXTURES / "garden-trec" / "qrels.txt"
LEXICAL, VECTOR = FIXTURES / "runs" / "lexical.run", FIXTURES / "runs" / "vector.run"
MEASURES = ["nDCG@10", "AP"]
FAST = {"resamples": 100, "seed": 1}


@pytest.fixture(name="expected", scope="module")
def make_expected():
    runs = {"bm25": load_run(LEXICAL), "dense": load_run(VECTOR)}
    found = compare_evaluation(evaluate(load_qrels(QRELS), runs, MEASURES), "bm25", **FAST)
    return [one.model_copy(update={"family": one.family.replace("modes", "runs")}) for one in found]


@pytest.mark.parametrize(
    "runs",
    [
        {"bm25": LEXICAL, "dense": str(VECTOR)},
        {"bm25": load_run(LEXICAL), "dense": VECTOR},
    ],
)
def test_runs_and_paths_are_compared_alike(runs, expected):
    assert list(compare(QRELS, runs, MEASURES, baseline="bm25", **FAST)) == expected
    assert compare(load_qrels(QRELS), runs, MEASURES, baseline="bm25", **FAST)[:] == tuple(expected)


def test_an_evaluation_is_compared_with_its_means(expected):
    runs = {"bm25": load_run(LEXICAL), "dense": load_run(VECTOR)}
    evaluation = evaluate(load_qrels(QRELS), runs, MEASURES)
    found = compare(evaluation, baseline="bm25", **FAST)
    assert isinstance(found, Comparisons)
    assert (len(found), found[0], list(found)) == (2, expected[0], expected)
    assert found.systems == ["bm25", "dense"]
    assert found.means == {
        name: {measure: evaluation.mean(name, measure) for measure in MEASURES} for name in runs
    }
    assert found.find("bm25", "dense", "AP") is found[1]
    turned = found.find("dense", "bm25", "AP")
    assert (turned.difference, turned.wins) == (-found[1].difference, found[1].losses)
    with pytest.raises(UsageError, match="bm25"):
        found.find("dense", "x", "AP")
    assert found.entries == tuple(expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (5, {"a": LEXICAL}),
            "got int — give a dictionary",
        ),
        ((QRELS, {"a": {"q1": ["d1"]}}), r"score but got \['d1'\]"),
        ((QRELS, 5), "int — give a dictionary"),
        ((QRELS, []), "no run"),
        ((QRELS,), "no run"),
    ],
)
def test_another_type_is_refused_in_one_line(arguments, message):
    with pytest.raises(TrectoolsPlusError, match=message) as caught:
        compare(*arguments)
    assert len(str(caught.value).splitlines()) == 1


def test_an_evaluation_with_runs_is_refused():
    evaluation = evaluate(load_qrels(QRELS), load_run(LEXICAL), ["AP"])
    for arguments in ((load_run(VECTOR),), ((), ["P@5"])):
        with pytest.raises(UsageError):
            compare(evaluation, *arguments)


def cranfield_like(names, queries=40):
    """Return judgments and runs of which the later ones find the relevant document earlier."""
    generator = np.random.default_rng(7)
    qrels = {f"q{n}": {"good": 1, "other": 0} for n in range(queries)}
    runs = {}
    for place, name in enumerate(names):
        ranks = generator.integers(1, max(2, 9 - 2 * place), size=queries)
        runs[name] = {
            f"q{n}": {
                **{f"b{position}": 20.0 - position for position in range(1, 10)},
                "good": 20.5 - rank,
            }
            for n, rank in enumerate(ranks.tolist())
        }
    return qrels, runs


@pytest.fixture(name="report", scope="module")
def make_report():
    qrels, runs = cranfield_like(["bm25", "dpr", "a", "x & y"])
    return compare(qrels, runs, ["ndcg@10", "AP", "MRR@10"], resamples=1000)


def test_the_lines_that_users_write_work(tmp_path):
    qrels, runs = cranfield_like(["bm25", "dpr"])
    path = tmp_path / "dpr.run"
    write_run(Run(runs["dpr"], "dpr"), path)
    report = compare(
        qrels,
        {"bm25": runs["bm25"], "dpr": str(path)},
        ["ndcg@10", "AP", "MRR@10"],
        baseline="bm25",
        resamples=200,
    )
    text = report.to_latex(caption="c", label="tab:c", measures=["AP", "mrr@10"], decimals=3)
    assert r"\label{tab:c}" in text
    assert re.findall(r"^    (\S+) & \S*0\.\d{3}[}& ]", text, flags=re.M) == ["bm25", "dpr"]
    assert r"Run & AP & \(\Delta\) & Interval & Adj. p & W/T/L & MRR@10" in text
    assert " than bm25 on ndcg@10" in str(report) or " from bm25 on ndcg@10" in str(report)
    assert len(report.to_pandas()) == 2 * 3
    assert [entry.baseline for entry in report] == ["bm25"] * 3
    assert type(report.plot()).__name__.endswith("Figure")


def test_frames_have_a_row_per_system_and_measure(report):
    frame = report.to_polars()
    assert report.to_pandas().to_dict("list")["mean"] == frame["mean"].to_list()
    for row in frame.iter_rows(named=True):
        figures = report.report.modes[row["mode"]].measures[row["measure"]]
        assert (row["mean"], row["low"], row["high"], row["n"]) == (
            report.means[row["mode"]][row["measure"]],
            figures.ci.low,
            figures.ci.high,
            40,
        )
        pairs = [
            (entry.contrast, entry.baseline)
            if entry.difference > 0
            else (entry.baseline, entry.contrast)
            for entry in report
            if entry.significant and entry.measure == row["measure"]
        ]
        worse = {second for first, second in pairs if first == row["mode"]}
        assert set(row["better_than"]) == worse
    table = pl.read_csv(table_as_text(report.report, "csv").encode())
    assert table.columns == ["run", *frame.columns[1:]]
    assert table.height == frame.height


def test_the_result_is_what_a_benchmark_reports(tmp_path):
    """The same runs in a benchmark have the same verdict, comparisons and groups."""
    found = compare(QRELS, {"bm25": LEXICAL, "dense": VECTOR}, MEASURES, baseline="bm25", **FAST)
    config = BenchmarkConfig(
        runs={"bm25": str(LEXICAL), "dense": str(VECTOR)},
        qrels=str(QRELS),
        measures=MEASURES,
        baseline=["bm25"],
        output_dir=str(tmp_path / "out"),
        **FAST,
    )
    report = run_benchmark(config).report
    assert list(found) == report.comparisons
    assert found.verdict.text == report.verdict.text
    assert found.report.best_overall == report.best_overall
    assert found.report.best_mode_significant == report.best_mode_significant
    for name, result in report.modes.items():
        for measure, figures in result.measures.items():
            assert found.report.modes[name].measures[measure].ci == figures.ci


def test_print_is_short_and_begins_with_the_verdict(report):
    text = str(report)
    assert text.startswith(report.verdict.text)
    assert len(text.encode()) < 2000
    header, *rows = text.splitlines()[1:6]
    assert header.split() == ["Run", "ndcg@10", "AP", "MRR@10"]
    assert [row.split()[0] for row in rows] == ["bm25", "dpr", "a", "x"]
    names = [f"{'long ' * 30}{n} ÄÖÜ" for n in range(16)]
    qrels, runs = cranfield_like(names, queries=14)
    many = compare(qrels, runs, ["nDCG@10", "P@1"], resamples=20)
    assert len(str(many).encode()) < 2000
    assert "8 more" in str(many)
    assert repr(many) == str(many)


@pytest.mark.parametrize("ending", ["tex", "md", "csv", "json"])
def test_the_suffix_decides_the_format_of_a_file(report, tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    report.write(path)
    texts = {
        "tex": report.to_latex(),
        "md": table_as_text(report.report, "markdown"),
        "csv": table_as_text(report.report, "csv"),
        "json": report.to_json(),
    }
    assert path.read_text("utf-8") == texts[ending]
    with pytest.raises(UsageError):
        report.write(tmp_path / "a.csv", tmp_path / "t.docx")
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.parametrize("kind", ["means", "differences"])
def test_plots_are_figures(report, kind):
    texts = [text.get_text() for text in report.plot("map", kind=kind).findobj(Text)]
    assert any("AP" in text for text in texts)
    assert not any("ndcg@10" in text for text in texts)
    assert report.plot(kind=kind).axes


def test_one_system_has_means_and_no_comparison():
    found = compare(QRELS, LEXICAL, MEASURES, **FAST)
    assert (len(found), found.report.best_overall) == (0, None)
    assert found.verdict.text.startswith(f"{found.systems[0]} has a mean")
    assert found.to_latex().count(r"\\") >= 3
    with pytest.raises(UsageError):
        found.plot(kind="differences")
    with pytest.raises(UsageError):
        found.plot(kind="critical_difference")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"primary_measure": "RR"}, "measure 'RR' .*available"),
        ({"resample": 5}, "option resample"),
        ({"baseline": "none"}, "unknown baseline 'none'"),
        ({"test": "z"}, "unknown test 'z'"),
        ({"confidence": 95}, "confidence"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        compare(QRELS, {"a": LEXICAL, "b": VECTOR}, MEASURES, **options)
