"""``benchmark sweep``: variants that are given or fused, and the best of them."""

import json

import pytest
from harness.observe import ROOT

from trectools_plus import evaluate
from trectools_plus.benchmark import load_sweep_config, run_sweep
from trectools_plus.errors import CheckFailedError, IncomparableError, InputError, UsageError
from trectools_plus.reporting import sweep_blocks, write_sweep_report
from trectools_plus.retrieval import Fusion, fuse
from trectools_plus.statistics import compare_columns, select_winner

SAMPLE = ROOT / "trectools_plus/formats/sample"
QRELS = str(SAMPLE / "qrels.txt")
RUNS = {name: str(SAMPLE / "runs" / f"{name}.run") for name in ("lexical", "vector")}
WEIGHTS = "0.3,0.4,0.5,0.6"
FEW = {"resamples": 200}


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TRECTOOLS_PLUS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def call(call_of):
    return call_of("benchmark sweep")


def sweep(folder, **options):
    """Run a sweep and return its result."""
    return run_sweep(load_sweep_config(None, {**FEW, **options, "output_dir": folder}))


def _files(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def fused(folder, **options):
    """Run a sweep over weights of the fusion of the sample's runs."""
    given = {"runs": RUNS, "qrels": QRELS, "grid": {"fusion.weights": WEIGHTS}}
    return sweep(folder, **{**given, **options})


def test_the_best_weights_of_two_runs(call, tmp_path):
    words = ("--runs", *RUNS.values(), "--qrels", QRELS, "-o", "out", "--resamples", "500")
    code, out, err = call(*words, "--grid", f"fusion.weights={WEIGHTS}")
    assert code == 0, err
    text = " ".join(out.split())
    assert text.startswith("fusion.weights=0.4 is ")
    assert "best of 4 variants on nDCG@10: 0.8405" in text
    assert "expect 0.84" in text
    assert "Difference from vector (0.8326): +0.0079" in text  # the best of the two runs
    assert "not significant among 4 variants" in text
    assert max(map(len, out.splitlines())) <= 100
    report = json.loads((tmp_path / "out/SweepReport.json").read_text())
    best = report["winner"]
    assert best["optimism"] == pytest.approx(best["mean"] - best["corrected_mean"])
    assert best["ci"]["low"] < best["corrected_mean"] < best["ci"]["high"]
    assert (report["n_queries"], report["seed"]) == (30, 42)
    for name in ("html", "md"):
        text = (tmp_path / f"out/SweepReport.{name}").read_text()
        assert "best of 4 variants" in text
        assert "0.7714" in text


def test_the_figures_are_those_of_the_values_of_all_queries(tmp_path):
    result = fused(tmp_path / "out", baseline="lexical")
    table = result.per_query.pivot("run", index="query_id", values="value")
    names = [f"fusion.weights={weight}" for weight in WEIGHTS.split(",")]
    scores = table.select(names).to_numpy()
    winner = select_winner(scores, resamples=200)
    best = result.report.winner
    assert best.name == names[winner.column]
    assert best.corrected_mean == winner.corrected_mean
    assert (best.ci.low, best.ci.high) == (winner.low, winner.high)
    chosen = {one.name: one.chosen for one in result.report.variants}
    assert chosen == pytest.approx(dict(zip(names, winner.chosen, strict=True)))
    baseline = table["lexical"].to_numpy()
    one = compare_columns(scores - baseline[:, None])[winner.column]
    assert best.advantage.difference == pytest.approx(one.difference)
    assert best.advantage.ci.low == pytest.approx(one.low)
    assert best.advantage.ci.high == pytest.approx(one.high)
    assert best.advantage.p_adjusted == pytest.approx(one.p_adjusted)
    assert result.report.baseline == "lexical"
    gain = select_winner(scores - baseline[:, None], resamples=200)
    assert best.corrected_advantage == pytest.approx(gain.corrected_mean)
    assert best.corrected_advantage < best.advantage.difference
    interval = best.corrected_advantage_ci
    assert interval.low < best.corrected_advantage < interval.high
    assert f"{best.corrected_advantage:+.4f}" in sweep_blocks(result.report)[1].text


def test_runs_of_variants_that_were_made_elsewhere(call, tmp_path):
    runs = [str(path) for path in sorted((SAMPLE / "runs").glob("*.run"))]
    words = ("--runs", *runs, "--qrels", QRELS, "-m", "AP,P@5", "--format", "json", "-o", "out")
    code, out, _ = call(*words, "--baseline", "lexical", "--resamples", "300")
    report = json.loads(out)
    assert code == 0
    assert [one["name"] for one in report["variants"]] == ["vector", "hybrid", "lexical"]
    assert report["measure"] == "AP"
    assert report["variants"][0]["measures"].keys() == {"AP", "P@5"}
    assert report["variants"][2]["advantage"] is None
    assert (tmp_path / "out/winner.run").read_text().startswith("1 Q0")


def test_a_fused_variant_is_the_fusion_of_the_runs(tmp_path):
    result = fused(tmp_path / "out", grid={"fusion.weights": "0.3,0.6", "depth": "5,20"})
    assert len(result.report.variants) == 4
    for one in result.report.variants:
        weight = float(one.settings["fusion.weights"])
        fusion = Fusion(method="weighted", weights=(weight, 1 - weight))
        run = fuse(RUNS, fusion, int(one.settings["depth"]))
        assert one.mean == pytest.approx(evaluate(QRELS, run, ["nDCG@10"]).mean("nDCG@10"))
    scored = evaluate(QRELS, result.run, ["nDCG@10"])
    assert scored.mean("nDCG@10") == pytest.approx(result.report.winner.mean)


def test_a_setting_that_some_variants_do_not_use_is_left_out_there(tmp_path):
    grid = {"fusion.method": "rrf,weighted", "fusion.k": "20,60", "fusion.weights": "0.3,0.7"}
    result = fused(tmp_path / "out", grid=grid)
    assert {one.name for one in result.report.variants} == {
        "fusion.method=rrf fusion.k=20",
        "fusion.method=rrf fusion.k=60",
        "fusion.method=weighted fusion.weights=0.3",
        "fusion.method=weighted fusion.weights=0.7",
    }


def test_the_grid_of_a_file(tmp_path):
    runs = tmp_path / "runs.yaml"
    runs.write_text(
        f"runs: {json.dumps(RUNS)}\nqrels: {QRELS}\nprimary_measure: AP\nresamples: 100\n"
        "measures: [AP]\ngrid:\n  fusion.weights: [0.5, [0.2, 0.8]]\n  depth: 20\n"
    )
    report = run_sweep(load_sweep_config(runs, {"output_dir": tmp_path / "out"})).report
    assert {one.settings["fusion.weights"] for one in report.variants} == {"0.5", "0.2:0.8"}
    assert report.measure == "AP"
    assert report.config["primary_measure"] == "AP"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grid": {"fusion.weigths": "0.1,0.2"}}, "'fusion.weigths' cannot be varied"),
        ({"grid": {"k1": "0.1,0.2"}}, "'k1' cannot be varied"),
        ({"grid": {"fusion.weights": "0.4,much"}}, "much"),
        ({"grid": {"fusion.weights": "0.4,1.4"}}, "at least 0.*fusion.weights=1.4"),
        ({"grid": {"fusion.weights": "0.4,0.2:0.3:0.5"}}, "expected 2 weights but got 3"),
        ({"grid": {"fusion.weights": "0.4,0.4"}}, "one twice"),
        ({"grid": {"fusion.weights": ""}}, "has no value"),
        ({"grid": {"fusion.weights": "0.4"}}, "nothing to choose"),
        ({"grid": {"depth": "10,none"}}, "whole number"),
        ({"grid": {"fusion.k": "10,20", "fusion.method": "combsum"}}, "nothing to choose"),
        ({"grid": {"fusion.k": "x,20"}}, "k"),
        ({"runs": {"lexical": RUNS["lexical"]}}, "one run"),
        ({"runs": {"lexical": RUNS["lexical"]}, "grid": {}}, "nothing to choose"),
        ({"baseline": "bm25"}, "'bm25'"),
        ({"baseline": "lexical,vector"}, "sweep has one"),
    ],
)
def test_wrong_sweeps_are_refused(tmp_path, options, message):
    with pytest.raises(UsageError, match=message):
        fused(tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_a_sweep_needs_runs(small, tmp_path):
    with pytest.raises(UsageError, match="a sweep needs them"):
        sweep(tmp_path / "out", **small.options, grid={"fusion.weights": "0.1,0.9"})


def test_variants_over_different_queries_are_refused(small, tmp_path):
    rankings = {"q1": ["d1"], "q2": ["d2"], "q3": ["d4"], "q4": ["d7"]}
    runs = {
        "all": small.write_run("all", rankings),
        "part": small.write_run("part", {"q1": ["d1"], "q2": ["d2"]}),
    }
    options = {"runs": runs, "qrels": small.qrels}
    with pytest.raises(IncomparableError, match=r"4.*2"):
        sweep(tmp_path / "out", missing="drop", **options)
    assert sweep(tmp_path / "out", **options).report.n_queries == 4


def test_the_same_seed_gives_the_same_bytes(tmp_path):
    folders = [tmp_path / "one" / "out", tmp_path / "two" / "out"]
    for folder in folders:
        write_sweep_report(fused(folder))
    one, two = map(_files, folders)
    assert one.keys() >= {"SweepReport.json", "SweepReport.md", "SweepReport.html", "winner.run"}
    assert one == two


def test_the_report_of_a_benchmark_is_not_overwritten(tmp_path, write_benchmark):
    write_benchmark(tmp_path / "out", runs=RUNS, qrels=QRELS)
    files = _files(tmp_path / "out")
    with pytest.raises(InputError):
        write_sweep_report(fused(tmp_path / "out"))
    assert files == _files(tmp_path / "out")


def test_the_best_of_a_cost_is_the_lowest(small, tmp_path):
    relevant = ["d1", "d2", "d4", "d7"]
    documents = {"early": relevant, "late": ["d6", *relevant], "last": ["d6", "d8", *relevant]}
    runs = {
        name: small.write_run(name, dict.fromkeys(("q1", "q2", "q3", "q4"), ranked))
        for name, ranked in documents.items()
    }
    options = {"runs": runs, "qrels": small.qrels, "measures": "MeanRank", "baseline": "late"}
    report = sweep(tmp_path / "out", **options).report
    assert not report.higher_is_better
    means = [one.mean for one in report.variants]
    assert means == sorted(means)
    assert report.winner.name == report.variants[0].name == "early"
    assert report.winner.optimism == report.winner.corrected_mean - report.winner.mean
    assert report.winner.advantage.difference < 0


def test_a_measure_that_is_undefined_for_a_query_cannot_choose(small, tmp_path):
    runs = {name: small.write_run(name, {"q1": [name], "q2": ["d2"]}) for name in ("d1", "d6")}
    with pytest.raises(CheckFailedError, match="MeanRank"):
        sweep(tmp_path / "out", runs=runs, qrels=small.qrels, measures="MeanRank")


def test_the_plot_has_a_row_for_each_variant(tmp_path):
    pytest.importorskip("matplotlib")
    from trectools_plus.reporting.plots import draw_variants

    grid = {"fusion.weights": "0.2,0.4,0.6", "fusion.normalisation": "min-max,z-score"}
    report = fused(tmp_path / "out", grid=grid).report
    (axes,) = draw_variants(report).axes
    assert len(axes.get_yticklabels()) == len(report.variants) == 6
    drawn = [container[0].get_xdata().tolist() for container in axes.containers]
    assert drawn == [[variant.mean] for variant in report.variants]
