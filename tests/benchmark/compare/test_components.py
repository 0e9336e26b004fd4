"""The contribution of each ranking to a fusion, against a recomputation from the runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from trectools_plus.benchmark.compare.compare import find_differences
from trectools_plus.benchmark.compare_vectors import compare_vectors_options
from trectools_plus.benchmark.report.folder import ReportFolder
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.config_file import load_config
from trectools_plus.benchmark.run.runner import run_benchmark
from trectools_plus.errors import UsageError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.evaluation import evaluate
from trectools_plus.reporting import render_markdown
from trectools_plus.reporting.files import write_reports
from trectools_plus.reporting.verification.verify import verify_report
from trectools_plus.retrieval.fusion import Fusion, fuse
from trectools_plus.statistics import adjust_p_values, compare_columns
from trectools_plus.validation.loading import load_qrels, load_run


@pytest.fixture
def made(small, tmp_path: Path) -> Path:
    """A report of a fusion whose components are not modes."""
    options = {**small.options, "modes": "hybrid", "measures": "RR@10,nDCG@10"}
    options |= {"resamples": 100, "output_dir": tmp_path / "out"}
    write_reports(run_benchmark(load_config(options=options)), plots=False)
    return tmp_path / "out"


def test_differences_are_those_of_the_runs(made: Path, small, tmp_path: Path) -> None:
    report = ReportFolder(made).report
    assert [(one.mode, one.component) for one in report.components] == [
        ("hybrid", "lexical"),
        ("hybrid", "vector"),
    ]
    qrels = load_qrels(str(made / "qrels.txt"))
    options = {**small.options, "modes": "lexical,vector", "measures": "RR@10"}
    alone_folder = tmp_path / "alone"
    write_reports(
        run_benchmark(load_config(options={**options, "output_dir": alone_folder})), plots=False
    )
    for one, other in zip(report.components, ("vector", "lexical"), strict=True):
        assert one.run.path == f"components/hybrid-without-{one.component}.run"
        alone = fuse([load_run(str(alone_folder / "runs" / f"{other}.run"))], Fusion())
        for name, figure in one.measures.items():
            whole = evaluate(qrels, load_run(str(made / "runs" / "hybrid.run")), [name])
            rest = evaluate(qrels, alone, [name])
            values = [each.values(each.run_names[0], name) for each in (whole, rest)]
            assert figure.difference == pytest.approx(np.mean(values[0] - values[1]))
            assert figure.mean == pytest.approx(report.modes["hybrid"].measures[name].mean)
            assert figure.mean_without == pytest.approx(np.mean(values[1]))
            assert figure.n == 4


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"baseline": "bm25"},
        pytest.param({"correction": "bh"}, marks=pytest.mark.slow("another correction")),
    ],
)
def test_a_fusion_of_two_without_one_is_the_other_mode(small, tmp_path: Path, settings) -> None:
    """The comparison of the modes has the result, so it is not shown a second time."""
    options = {**small.options, "modes": "bm25,dense,hybrid", "measures": "RR@10,nDCG@10"}
    options |= {"resamples": 100, "output_dir": tmp_path / "out", **settings}
    write_reports(run_benchmark(load_config(options=options)), plots=False)
    report = ReportFolder(tmp_path / "out").report
    assert report.components == []
    assert not list(tmp_path.glob("out/components/*"))
    assert "each component contributes" not in render_markdown(report)
    assert "components/" not in (tmp_path / "out" / "SHA256SUMS").read_text()
    families = {
        "3 comparisons on one measure: every pair of 3 modes",
        "2 comparisons with bm25 on one measure",
    }
    (family,) = {one.family for one in report.comparisons}
    assert family in families
    assert ("with bm25" in family) == ("baseline" in settings)
    assert verify_report(tmp_path / "out").problems == []


def test_only_components_that_equal_no_mode_are_shown(small, tmp_path: Path) -> None:
    options = {**small.options, "modes": "bm25,hybrid", "measures": "nDCG@10,P@3"}
    options |= {"resamples": 100, "output_dir": tmp_path / "out"}
    write_reports(run_benchmark(load_config(options=options)), plots=False)
    report = ReportFolder(tmp_path / "out").report
    assert [one.component for one in report.components] == ["bm25"]
    assert [one.name for one in tmp_path.glob("out/components/*")] == ["hybrid-without-bm25.run"]
    assert verify_report(tmp_path / "out").problems == []


def test_a_baseline_chooses_the_family(small, tmp_path: Path) -> None:
    reports = []
    for place, settings in enumerate([{}, {"baseline": "dense"}]):
        options = {**small.options, "modes": "bm25,dense,hybrid", "measures": "nDCG@10"}
        options |= {"resamples": 100, "output_dir": tmp_path / str(place), **settings}
        reports.append(run_benchmark(load_config(options=options)).report)
    assert [(one.baseline, one.contrast) for one in reports[1].comparisons] == [
        ("dense", "bm25"),
        ("dense", "hybrid"),
    ]
    assert [len({one.family for one in report.comparisons}) for report in reports] == [1, 1]
    assert reports[1].comparisons[0].family == "2 comparisons with dense on one measure"
    assert reports[1].best_mode == {"nDCG@10": None}
    assert reports[1].best_overall is None


@pytest.mark.parametrize("correction", ["holm", "bh", "none"])
def test_what_is_left_of_a_fusion_of_three_is_a_family(correction: str) -> None:
    generator = np.random.default_rng(3)
    qrels = Qrels.from_dict({f"q{n}": {"d1": 1} for n in range(40)})

    def run_of(name: str, most: int) -> Run:
        places = generator.integers(0, most, 40)
        others = {f"x{place}": 90.0 - place for place in range(most)}
        rows = {f"q{n}": {**others, "d1": 89.5 - places[n]} for n in range(40)}
        return Run.from_dict(rows, name)

    names = ["a", "b", "c", "fusion"]
    runs = {name: run_of(name, most) for name, most in zip(names, (9, 7, 8, 3), strict=True)}
    without = {"fusion": {name: run_of(name, 5) for name in "abc"}}
    config = BenchmarkConfig.model_validate(
        {
            "runs": dict.fromkeys(names, "x"), "qrels": "x", "measures": ["RR@10"],
            "resamples": 100, "correction": correction, "test": "t_test",
        }
    )  # fmt: skip
    evaluation = evaluate(qrels, runs, ["RR@10"])
    found = find_differences(config.comparing, evaluation, "RR@10", "run", (qrels, without))
    whole = evaluation.values("fusion", "RR@10")
    modes = [one.t_test.p for one in found.comparisons if one.t_test]
    raw = []
    for name, run in without["fusion"].items():
        rest = evaluate(qrels, {name: run}, ["RR@10"]).values(name, "RR@10")
        (one,) = compare_columns(whole - rest)
        raw.append(one.p_value)
    for p_values, entries, family in (
        (modes, found.comparisons, "6 comparisons on one measure: every pair of 4 runs"),
        (
            raw,
            [found.components["fusion", name]["RR@10"] for name in "abc"],
            "3 comparisons on one measure: 3 fusions without a component",
        ),
    ):
        shown = [one.p_adjusted for one in entries]
        assert shown == pytest.approx(adjust_p_values(p_values, correction).tolist())
        assert {one.family for one in entries} == {family}


def test_the_report_verifies_and_says_what_changed(made: Path, tmp_path: Path) -> None:
    assert verify_report(made).problems == []
    other = tmp_path / "other"
    shutil.copytree(made, other)
    document = json.loads((other / "BenchmarkReport.json").read_text("utf-8"))
    document["components"][1]["measures"]["RR@10"]["difference"] += 0.5
    (other / "BenchmarkReport.json").write_text(json.dumps(document))
    problems = verify_report(other).problems
    assert any(
        "components[hybrid, vector].measures.RR@10.difference" in problem for problem in problems
    )
    run = other / "components" / "hybrid-without-lexical.run"
    run.write_text("".join(reversed(run.read_text().splitlines(keepends=True))).replace("d1", "d9"))
    problems = verify_report(other).problems
    assert any("hybrid-without-lexical.run" in problem for problem in problems)
    assert any("components[hybrid, lexical].measures" in problem for problem in problems)


def test_texts(made: Path) -> None:
    report = ReportFolder(made).report
    text = render_markdown(report)
    assert "(2 comparisons on one measure: 2 fusions without a component)" in text
    assert "## What each component" in text
    assert "| Hybrid without vector |" in text
    page = (made / "BenchmarkReport.html").read_text("utf-8")
    assert "each component contributes</h2>" in page
    assert "Hybrid without vector</th>" in page


def test_a_new_benchmark_removes_their_runs(made: Path, small) -> None:
    options = {**small.options, "modes": "lexical", "measures": "RR@10", "output_dir": made}
    write_reports(run_benchmark(load_config(options=options)), plots=False)
    assert ReportFolder(made).report.components == []
    assert not list((made / "components").glob("*.run"))


def test_compare_vectors_makes_a_benchmark_of_the_strategies() -> None:
    options = compare_vectors_options({"dataset": "hpo"})
    config = load_config(options=options)
    assert config.modes[0] == "vector"
    assert len(config.modes) == 6
    assert config.baseline == ("vector",)
    assert config.label("vector") == "Single-Vector"
    bare = load_config(
        options=compare_vectors_options({"dataset": "hpo"}, ["all_max", "label_only"], single=False)
    )
    assert (bare.modes, bare.baseline) == (("all_max", "label_only"), None)


@pytest.mark.parametrize(
    ("strategies", "single", "message"),
    [
        (["max"], True, "'max' — --strategies — .*label_only"),
        (["all_max", "all_max"], True, "given twice"),
        (["all_max"], False, "nothing to compare"),
        ([], True, "nothing to compare"),
    ],
)
def test_compare_vectors_refuses(strategies, single, message) -> None:
    with pytest.raises(UsageError, match=message):
        compare_vectors_options({"dataset": "hpo"}, strategies, single=single)


def test_settings_of_the_command_line_are_merged_with_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "benchmark.yaml"
    path.write_text("dataset: hpo\nretrieval:\n  k1: 1.5\n  embedding_model: models/one\n")
    config = load_config(path, {"retrieval": {"multi_vector": True, "k1": "1.2"}})
    assert (config.retrieval.k1, config.retrieval.multi_vector) == (1.2, True)
    # A folder in the file is one beside the file.
    assert config.retrieval.embedding_model == str(tmp_path / "models" / "one")


def test_similarities_are_over_the_ontology_and_annotations_given(tmp_path: Path) -> None:
    fixtures = Path(__file__).parents[3] / "fixtures" / "ontology"
    cases = [
        {"query_id": "1", "text": "hound", "relevant": {"TOY:0006": 3}},
        {"query_id": "2", "text": "purring animal", "relevant": {"TOY:0007": 3}},
    ]
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(cases))
    name = "MaxOntSim(formula='lin')@1"
    config = load_config(
        options={
            "dataset": "hpo", "test_file": path, "ontology": fixtures / "toy.obo",
            "annotations": fixtures / "toy.hpoa", "modes": "hybrid",
            "measures": [name], "resamples": 200, "output_dir": tmp_path / "out",
        }
    )  # fmt: skip
    write_reports(run_benchmark(config), plots=False)
    report = ReportFolder(tmp_path / "out").report
    measures = config.bind_measures([name])
    qrels = load_qrels(str(tmp_path / "out" / "qrels.txt"))
    assert [one.component for one in report.components] == ["lexical", "vector", "ngram"]
    for one in report.components:
        run = load_run(str(tmp_path / "out" / one.run.path))
        figure = one.measures[name]
        rest = evaluate(qrels, run, measures)
        assert figure.mean_without == pytest.approx(rest.mean(run.name, name))
        assert figure.mean == report.modes["hybrid"].measures[name].mean
    assert verify_report(tmp_path / "out").problems == []
