"""What each ranking contributes to a fusion, against a recomputation from the runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from trectools_plus.benchmark.compare_vectors import compare_vectors_options
from trectools_plus.benchmark.config_file import load_config
from trectools_plus.benchmark.merge import merge_run
from trectools_plus.benchmark.report_folder import ReportFolder
from trectools_plus.benchmark.runner import run_benchmark
from trectools_plus.benchmark.verify import verify_report
from trectools_plus.errors import UsageError
from trectools_plus.measures.evaluator import evaluate
from trectools_plus.reporting.components_text import component_lines
from trectools_plus.reporting.files import write_reports
from trectools_plus.reporting.markdown import render_markdown
from trectools_plus.retrieval.fusion import Fusion
from trectools_plus.retrieval.run_fusion import fuse_runs
from trectools_plus.validation.loading import load_qrels, load_run


@pytest.fixture
def made(small, tmp_path: Path) -> Path:
    options = {**small.options, "modes": "bm25,dense,hybrid", "measures": "RR@10,nDCG@10"}
    options |= {"resamples": 500, "output_dir": tmp_path / "out"}
    write_reports(run_benchmark(load_config(options=options)))
    return tmp_path / "out"


def test_differences_are_those_of_the_runs(made: Path) -> None:
    report = ReportFolder(made).report
    assert [(one.mode, one.component) for one in report.components] == [
        ("hybrid", "bm25"),
        ("hybrid", "dense"),
    ]
    qrels = load_qrels(str(made / "qrels.txt"))
    for one, other in zip(report.components, ("dense", "bm25"), strict=True):
        assert one.run.path == f"components/hybrid-without-{one.component}.run"
        alone = fuse_runs([load_run(str(made / "runs" / f"{other}.run"))], Fusion())
        for name, figure in one.measures.items():
            whole = evaluate(qrels, load_run(str(made / "runs" / "hybrid.run")), [name])
            rest = evaluate(qrels, alone, [name])
            values = [each.values(each.run_names[0], name) for each in (whole, rest)]
            assert figure.difference == pytest.approx(np.mean(values[0] - values[1]))
            assert figure.mean == pytest.approx(report.modes["hybrid"].measures[name].mean)
            assert figure.mean_without == pytest.approx(np.mean(values[1]))
            assert figure.n == 4


def test_p_values_are_adjusted_for_the_components(made: Path) -> None:
    report = ReportFolder(made).report
    source = ReportFolder(made)
    qrels = source.read_qrels()
    for name in report.measure_names:
        raw = []
        whole = evaluate(qrels, source.read_run("hybrid"), [name]).values("hybrid", name)
        for one in report.components:
            rest = evaluate(qrels, source.read_run_file(one.run, "rest"), [name])
            differences = whole - rest.values("rest", name)
            signs = np.array(np.meshgrid(*[[-1, 1]] * len(differences))).reshape(
                len(differences), -1
            )
            sums = np.abs(differences @ signs)
            raw.append(float((sums >= abs(differences.sum()) - 1e-12).mean()))
        order = np.argsort(raw)
        holm = np.empty(2)
        holm[order[0]] = min(1, 2 * raw[order[0]])
        holm[order[1]] = max(holm[order[0]], raw[order[1]])
        # Four queries: the exact test of sign flips is what random flips estimate.
        for one, expected in zip(report.components, holm, strict=True):
            assert one.measures[name].p_adjusted == pytest.approx(expected, abs=0.12)


def test_the_report_verifies_and_says_what_changed(made: Path, tmp_path: Path) -> None:
    assert verify_report(made).problems == []
    other = tmp_path / "other"
    shutil.copytree(made, other)
    document = json.loads((other / "BenchmarkReport.json").read_text("utf-8"))
    document["components"][1]["measures"]["RR@10"]["difference"] += 0.5
    (other / "BenchmarkReport.json").write_text(json.dumps(document))
    problems = verify_report(other).problems
    assert any("hybrid without dense RR@10 difference" in problem for problem in problems)
    run = other / "components" / "hybrid-without-bm25.run"
    run.write_text("".join(reversed(run.read_text().splitlines(keepends=True))).replace("d1", "d9"))
    problems = verify_report(other).problems
    assert any("hybrid-without-bm25.run: the file changed" in problem for problem in problems)
    assert any("hybrid without bm25" in problem for problem in problems)


def test_texts(made: Path) -> None:
    report = ReportFolder(made).report
    (line,) = component_lines(report)
    assert line.startswith("Hybrid, with minus without each component on RR@10: bm25 ")
    text = render_markdown(report)
    assert "## What each component contributes" in text
    assert "| Hybrid | without dense |" in text
    page = (made / "BenchmarkReport.html").read_text("utf-8")
    assert '<h2 id="components-heading">What each component contributes</h2>' in page
    assert "Hybrid without dense</th>" in page


def test_merging_keeps_them_and_a_new_benchmark_removes_their_runs(made: Path, small) -> None:
    run = small.write_run("mine", {"q1": ["d1"], "q2": ["d2"], "q3": ["d4"], "q4": ["d7"]})
    before = ReportFolder(made).report.components
    write_reports(merge_run(made, "mine", run))
    assert ReportFolder(made).report.components == before
    assert verify_report(made).problems == []
    options = {**small.options, "modes": "lexical", "measures": "RR@10", "output_dir": made}
    write_reports(run_benchmark(load_config(options=options)))
    assert ReportFolder(made).report.components == []
    assert not list((made / "components").glob("*.run"))


def test_results_that_come_back_hold_them(made: Path, small, tmp_path: Path) -> None:
    options = {**small.options, "modes": "bm25,dense,hybrid", "measures": "RR@10,nDCG@10"}
    options |= {"resamples": 500, "output_dir": tmp_path / "again"}
    result = run_benchmark(load_config(options=options), cached=True)
    assert result.report.manifest.cached_from is not None
    write_reports(result)
    assert len(ReportFolder(tmp_path / "again").report.components) == 2
    assert verify_report(tmp_path / "again").problems == []


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
        (["max"], True, "unknown strategy 'max' — --strategies — there are label_only"),
        (["all_max", "all_max"], True, "given twice"),
        (["all_max"], False, "nothing to compare"),
        ([], True, "nothing to compare"),
    ],
)
def test_compare_vectors_refuses(strategies, single, message) -> None:
    with pytest.raises(UsageError, match=message):
        compare_vectors_options({"dataset": "hpo"}, strategies, single=single)


def test_settings_of_the_command_line_stand_beside_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "benchmark.yaml"
    path.write_text("dataset: hpo\nretrieval:\n  k1: 1.5\n  embedding_model: models/one\n")
    config = load_config(path, {"retrieval": {"multi_vector": True, "k1": "1.2"}})
    assert (config.retrieval.k1, config.retrieval.multi_vector) == (1.2, True)
    # A folder in the file is one beside the file.
    assert config.retrieval.embedding_model == str(tmp_path / "models" / "one")


def test_similarities_are_over_the_ontology_and_annotations_given(tmp_path: Path) -> None:
    fixtures = Path(__file__).parents[2] / "fixtures" / "ontology"
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
            "annotations": fixtures / "toy.hpoa", "modes": "lexical,vector,hybrid",
            "measures": [name], "resamples": 200, "output_dir": tmp_path / "out",
        }
    )  # fmt: skip
    write_reports(run_benchmark(config))
    report = ReportFolder(tmp_path / "out").report
    measures = config.bind_measures([name])
    qrels = load_qrels(str(tmp_path / "out" / "qrels.txt"))
    assert [one.component for one in report.components] == ["lexical", "vector"]
    for one in report.components:
        run = load_run(str(tmp_path / "out" / one.run.path))
        figure = one.measures[name]
        rest = evaluate(qrels, run, measures)
        assert figure.mean_without == pytest.approx(rest.mean(run.name, name))
        assert figure.mean == report.modes["hybrid"].measures[name].mean
    assert verify_report(tmp_path / "out").problems == []
