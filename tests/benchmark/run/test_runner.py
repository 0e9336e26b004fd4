"""Whole benchmarks on small files: what is written, what is reported, what repeats exactly."""

import hashlib
import json
import math
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest

from trectools_plus.benchmark import (
    BenchmarkReport,
    load_config,
    load_report,
    report_json_schema,
    run_benchmark,
)
from trectools_plus.benchmark.report import hash_config
from trectools_plus.errors import (
    CheckFailedError,
    IncomparableError,
    InputError,
    UsageError,
)
from trectools_plus.reporting import write_reports
from trectools_plus.validation import FindingsError

NOON = datetime(2025, 1, 31, 12, tzinfo=UTC)
FAST = {"resamples": 100, "measures": ["nDCG@10"]}
EVERY = {"measures": None}
"""The default measures instead of one."""
PERFECT = {"q1": ["d1", "d3"], "q2": ["d2", "d3"], "q3": ["d4", "d5", "d8"], "q4": ["d7", "d6"]}
WORSE = {"q1": ["d6", "d1"], "q2": ["d1", "d2"], "q3": ["d1", "d2"], "q4": ["d6", "d1"]}
BAD = {"q1": ["d6", "d3"], "q2": ["d1", "d3"], "q3": ["d1", "d2"], "q4": ["d6", "d1"]}


@pytest.fixture
def run(small, tmp_path):
    """Runs a benchmark of rankings, or a search in the small collection, and writes its report."""

    def benchmark(runs=None, folder="out", at=NOON, **options):
        data = small.options if runs is None else {"qrels": small.qrels, "topics": small.topics}
        if "dataset" in options:
            data = {}
        for name, rankings in (runs or {}).items():
            file = rankings if isinstance(rankings, str) else small.write_run(name, rankings)
            data.setdefault("runs", {})[name] = file
        folder = str(tmp_path / folder)
        config = load_config(options={**FAST, **data, **options, "output_dir": folder})
        result = run_benchmark(config, clock=lambda: at)
        write_reports(result, plots=False)
        return result

    return benchmark


def check_with_ir_measures(result, measures):
    """Every mean and every query equals ir_measures on the files of the output folder."""
    import ir_measures

    report, folder = result.report, result.output_dir
    qrels = [
        qrel._replace(relevance=max(qrel.relevance, 0))
        for qrel in ir_measures.read_trec_qrels(str(folder / "qrels.txt"))
    ]
    asked = {name: getattr(ir_measures, label) @ at for name, (label, at) in measures.items()}
    for mode, figures in report.modes.items():
        path = folder / figures.run.path
        assert figures.run.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        run_rows = list(ir_measures.read_trec_run(str(path)))
        for name, measure in asked.items():
            expected = {
                metric.query_id: metric.value
                for metric in ir_measures.iter_calc([measure], qrels, run_rows)
            }
            judged = {qrel.query_id for qrel in qrels if qrel.relevance > 0}
            own = dict(
                result.per_query.filter(run=mode, measure=name)
                .select("query_id", "value")
                .iter_rows()
            )
            assert own.keys() == judged
            for query_id in judged:
                assert own[query_id] == pytest.approx(expected[query_id], abs=1e-9)
            mean = math.fsum(expected[query_id] for query_id in judged) / len(judged)
            assert figures.measures[name].mean == pytest.approx(mean, abs=1e-9)


IR_MEASURES = {
    "nDCG@10": ("nDCG", 10),
    "AP@100": ("AP", 100),
    "RR@10": ("RR", 10),
    "R@50": ("R", 50),
    "R@100": ("R", 100),
    "HitRate@10": ("Success", 10),
}


def test_fetching_three_modes(run, tmp_path):
    result = run(**EVERY)
    report = result.report
    assert list(report.modes) == ["lexical", "vector", "hybrid"]
    assert report.manifest.dataset.queries == 4
    assert report.manifest.dataset.documents == 8
    assert set(report.manifest.dataset.contents) == {"corpus", "topics", "qrels"}
    assert len(report.manifest.dataset.sha256) == 64
    assert set(report.manifest.index_snapshots) == {"lexical", "vector", "hybrid"}
    for mode, figures in report.modes.items():
        assert (tmp_path / "out" / "runs" / f"{mode}.run").is_file()
        assert figures.latency_ms.p50 <= figures.latency_ms.p95 <= figures.latency_ms.p99
        assert figures.run.source is None
        assert figures.measures["nDCG@10"].n == 4
    vector = report.modes["vector"].diagnostics
    assert (vector.shallow_queries, vector.status) == ([], "complete")
    # BM25 finds fewer than all eight documents: shallow, yet there is nothing more to find.
    lexical = report.modes["lexical"].diagnostics
    assert lexical.shallow_queries
    assert lexical.status == "complete"
    assert len(report.comparisons) == 3 * 6
    check_with_ir_measures(result, IR_MEASURES)


def test_the_same_run_gives_the_same_bytes_except_times(run):
    times = {"one": NOON, "two": NOON.replace(year=2026)}
    results = [run(folder=name, at=at, measures="nDCG@10,RR@10") for name, at in times.items()]
    texts = []
    for result in results:
        report = result.report.model_dump(mode="json")
        for name in ("created_at", "experiment_id"):
            report["manifest"].pop(name)
        for mode in report["modes"].values():
            mode.pop("latency_ms")
        texts.append(report)
    assert texts[0] == texts[1]
    one, two = (result.output_dir for result in results)
    names = sorted(str(path.relative_to(one)) for path in one.rglob("*") if path.is_file())
    assert names == sorted(str(path.relative_to(two)) for path in two.rglob("*") if path.is_file())
    for name in names:
        if not name.startswith(("Benchmark", "latency", "reports/", "SHA256SUMS")):
            assert (one / name).read_bytes() == (two / name).read_bytes(), name


def test_given_runs_are_compared_the_same_way(run, small):
    result = run({"good": PERFECT, "bad": BAD}, **EVERY)
    report = result.report
    assert report.modes["good"].latency_ms is None
    assert report.manifest.index_snapshots == {}
    source = report.modes["good"].run.source
    assert source.sha256 == hashlib.sha256((small.folder / "good.run").read_bytes()).hexdigest()
    assert report.best_mode["nDCG@10"] == "good"
    # Two results, and measures look down to rank 100.
    assert report.modes["bad"].diagnostics.status == "incomplete"
    assert report.modes["bad"].diagnostics.shallow_queries == ["q1", "q2", "q3", "q4"]
    check_with_ir_measures(result, IR_MEASURES)


def test_every_tool_reads_tied_runs_in_one_order(run, small):
    given = {}
    # Equal in 32 bits only, and equal altogether (but for the first document).
    for name, step in (("nearly", 1e-9), ("flat", 0.0)):
        scores = [2.0, *(1.0 - step * place for place in range(7))]
        lines = [
            f"{query_id} Q0 d{n} {n} {score!r} x\n"
            for query_id in PERFECT
            for n, score in enumerate(scores, 1)
        ]
        given[name] = str(small.folder / f"{name}.run")
        Path(given[name]).write_text("".join(lines))
    result = run(given, **EVERY)
    ties = {name: mode.run.ties for name, mode in result.report.modes.items()}
    assert (ties["nearly"].pairs, ties["nearly"].pairs_64) == (24, 0)
    assert (ties["flat"].pairs, ties["flat"].pairs_64) == (24, 24)
    check_with_ir_measures(result, IR_MEASURES)


def test_queries_that_fail_everywhere(run):
    runs = {"a": WORSE, "b": BAD}
    report = run(runs, measures="RR@3").report
    assert [query.query_id for query in report.failing_queries] == ["q3", "q4"]
    first = report.failing_queries[0]
    assert first.text == "mountains in winter"
    assert first.values == {"a": 0.0, "b": 0.0}
    assert first.first_relevant_rank == {"a": None, "b": None}
    report = run(runs, "two", measures=["RR@1"]).report
    assert [query.query_id for query in report.failing_queries] == ["q1", "q2", "q3", "q4"]
    assert report.failing_queries[0].first_relevant_rank == {"a": 2, "b": 2}
    assert not run(runs, "three", measures=["MinRank"]).report.failing_queries


def test_missing_queries_make_a_mode_incomplete(run):
    runs = {"a": PERFECT, "b": {query: PERFECT[query] for query in ("q1", "q3", "q4")}}
    report = run(runs, measures=["RR@2"]).report
    assert report.modes["a"].diagnostics.status == "complete"
    assert report.modes["b"].diagnostics.missing_queries == ["q2"]
    assert report.modes["b"].diagnostics.status == "incomplete"
    assert report.modes["b"].measures["RR@2"].mean == pytest.approx(0.75)
    with pytest.raises(IncomparableError):
        run(runs, "drop", measures=["RR@2"], missing="drop")


def test_fetching_to_less_than_a_cutoff_is_incomplete(run):
    report = run(modes=["vector"], depth=3, measures=["R@5"]).report
    assert report.modes["vector"].diagnostics.status == "incomplete"
    assert report.best_mode == {"R@5": None}
    assert report.comparisons == []


def test_undefined_figures_are_null(run):
    nothing = {query_id: ["d9"] for query_id in PERFECT}
    nothing["q1"] = ["d2"]  # judged, not relevant: else nothing is judged at all
    report = run({"a": PERFECT, "b": nothing}, measures=["MinRank", "RR"]).report
    figures = report.modes["b"].measures["MinRank"]
    assert (figures.n, figures.mean, figures.median, figures.std) == (0, None, None, None)
    assert figures.ci is None
    assert report.best_mode["MinRank"] == "a"


def test_the_report_satisfies_its_schema_and_reads_back(run, tmp_path):
    result = run(**EVERY)
    path = tmp_path / "out" / "BenchmarkReport.json"
    schema = report_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    document = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(document)
    assert load_report(path) == result.report
    assert document["schema_version"] == "1.1"
    assert hash_config(document["manifest"]["config"]) == document["manifest"]["config_hash"]


def test_reading_something_else_is_an_input_error(tmp_path):
    path = tmp_path / "x.json"
    for text in ("{", "[]", '{"schema_version": "9.0"}'):
        path.write_text(text)
        with pytest.raises(InputError, match=r"x\.json"):
            load_report(path)
    with pytest.raises(InputError):
        load_report(tmp_path / "none.json")


def test_a_later_report_with_further_keys_is_read(run):
    report = run({"a": PERFECT}).report
    document = report.model_dump(mode="json")
    document["something_new"] = 1
    document["modes"]["a"]["something_new"] = 1
    assert BenchmarkReport.model_validate(document) == report


def test_exclude_self_drops_the_querys_own_document(run, small):
    topics = small.folder / "own.tsv"
    topics.write_text("d1\ta red fox runs through the snow\n")
    qrels = small.folder / "own.txt"
    qrels.write_text("d1 0 d3 1\nd1 0 d2 0\n")
    options = {"topics": str(topics), "qrels": str(qrels)}
    for exclude, expected in ((False, True), (True, False)):
        result = run(folder=str(exclude), exclude_self=exclude, **options)
        for table in result.runs.values():
            assert ("d1" in table.frame["doc_id"].to_list()) is expected


def unfindable(small):
    """Topics of which no word is in the corpus."""
    path = small.folder / "unfindable.tsv"
    path.write_text("q1\tzeppelin\nq2\tquux\n")
    return {"topics": str(path), "measures": "nDCG@10,RR@10"}


def test_a_mode_that_finds_nothing_is_reported(run, small, tmp_path):
    result = run(**unfindable(small))
    report = load_report(tmp_path / "out" / "BenchmarkReport.json")
    lexical, vector = report.modes["lexical"], report.modes["vector"]
    assert (lexical.status, vector.status) == ("empty", "ok")
    assert (lexical.run.path, lexical.run.sha256, lexical.run.results) == (None, None, 0)
    assert lexical.measures["nDCG@10"].mean == 0
    assert lexical.measures["nDCG@10"].n == 4
    assert lexical.diagnostics.status == "incomplete"
    assert lexical.diagnostics.notes == ["no results for 4 of 4 queries"]
    assert lexical.diagnostics.judged == {"Judged@10": None}
    assert lexical.latency_ms is not None
    assert "lexical" not in set(report.best_mode.values())
    assert {path.name for path in (tmp_path / "out" / "runs").iterdir()} == {
        "vector.run",
        "hybrid.run",
    }
    assert "nothing-found" in {item.sign for item in report.diagnosis if item.mode == "lexical"}
    jsonschema.validate(report.model_dump(mode="json"), report_json_schema())
    assert result.runs["lexical"].frame.is_empty()


def test_when_no_mode_finds_anything_none_is_best(run, small):
    options = {**unfindable(small), "modes": ["lexical"]}
    report = run(**options).report
    assert report.modes["lexical"].status == "empty"
    assert set(report.best_mode.values()) == {None}
    with pytest.raises(IncomparableError, match="missing=zero"):
        run(folder="drop", missing="drop", **options)


def test_a_fetched_run_without_judged_documents_is_refused(run, small):
    qrels = small.folder / "far.txt"
    qrels.write_text("q4 0 d2 1\n")
    topics = small.folder / "far.tsv"
    topics.write_text("q4\tfurniture\n")
    with pytest.raises(FindingsError, match="P105"):
        run(topics=str(topics), qrels=str(qrels), modes=["lexical"])
    with pytest.raises(FindingsError, match="P105"):
        run({"a": {"q4": ["d7"]}}, qrels=str(qrels))


def test_a_failed_benchmark_leaves_an_earlier_one_as_it_was(run, small, tmp_path, monkeypatch):
    out = tmp_path / "out"
    run(modes=["lexical"])
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    bad = Path(small.write_run("bad", PERFECT))
    bad.write_text(bad.read_text() + "q1 Q0 d1 3 1.0 a\n")
    good = small.write_run("good", PERFECT)
    with pytest.raises(FindingsError):
        run({"lexical": good, "b": str(bad)})
    result = run_benchmark(
        load_config(options={**FAST, "runs": {"a": good}, "qrels": small.qrels, "output_dir": out})
    )
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full_disk)
        with pytest.raises(InputError) as caught:
            write_reports(result, plots=False)
    assert caught.value.where == str(out / "per_query.parquet")
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    assert {path.name for path in out.iterdir()} == {
        path.relative_to(out).parts[0] for path in before
    }
    with pytest.raises(UsageError, match="already"):
        write_reports(result, plots=False)


def full_disk(descriptor):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("topics", "x1\tfox\n", r"topics: x1; qrels: q1.*other\.txt and "),
        ("qrels", "q1 0 x1 1\n", r"in both corpus and qrels .*other\.txt"),
    ],
)
def test_data_without_common_ids_are_refused_before_any_search(
    run, small, tmp_path, name, text, words
):
    path = small.folder / "other.txt"
    path.write_text(text)
    with pytest.raises(CheckFailedError, match=words):
        run(**{name: str(path)})
    assert not (tmp_path / "out").exists()


def test_findings_on_a_folders_qrels_keep_their_lines(run, small):
    qrels = Path(small.qrels)
    good = qrels.read_text()
    qrels.write_text(good + "q1 0 d1 2\n")
    folder = {"dataset": str(small.folder), "modes": ["lexical"]}
    report = run(**folder).report
    (found,) = [item for item in report.manifest.dataset.findings if item.severity == "warning"]
    assert found.line == good.count("\n") + 1
    assert report.manifest.dataset.files["qrels"].path == str(qrels)
    qrels.write_text(good + "q1 0 d1 0\n")
    with pytest.raises(FindingsError, match=rf"Q\d+ .*qrels\.txt:{good.count(chr(10)) + 1}"):
        run(folder="two", **folder)
