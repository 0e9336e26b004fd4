"""Reports of strangers: nothing that they name is run, requested, or read outside of the folder."""

import json
import os
import select
import shutil
import socket
from contextlib import suppress
from pathlib import Path
from typing import get_type_hints

import pytest
from harness.forging import JSON, edit_json, reseal
from harness.observe import ROOT

from trectools_plus.benchmark import (
    BenchmarkConfig,
    BenchmarkReport,
    GateRules,
    ReportFolder,
    list_reports,
    verify_report,
)
from trectools_plus.benchmark.gate import run_gate
from trectools_plus.benchmark.report_folder import FILES
from trectools_plus.benchmark.run.config import FileName
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.service.review.material import load_material

CODE = "from pathlib import Path\nPath('ran').touch()\n"
MEASURE = '''
from trectools_plus.measures import BaseMeasure

class First(BaseMeasure):
    """Confirmed by an independent audit."""

    def score_query(self, ranked_doc_ids, qrels_of_query):
        return float(qrels_of_query.get(ranked_doc_ids[0], 0) > 0)
'''


@pytest.fixture
def folder(given, tmp_path, monkeypatch):
    """A copy, in which a module of strangers can be imported."""
    copy = Path(shutil.copytree(given, tmp_path / "out"))
    (copy / "evil_report.py").write_text(CODE)
    monkeypatch.chdir(copy)
    return copy


def use_everywhere(folder, honest):
    """Read the report with every function that reads reports."""
    uses = [
        lambda: verify_report(folder),
        lambda: run_gate(folder, honest, GateRules(measures=("R@10",))),
        lambda: run_gate(honest, folder, GateRules(measures=("R@10",))),
        lambda: load_material(folder),
        lambda: list_reports(folder),
        lambda: ReportFolder(folder).config,
    ]
    for use in uses:
        with suppress(TrectoolsPlusError):
            use()


def set_config(**settings):
    return edit_json(lambda document: document["manifest"]["config"].update(settings))


def name_headline(document):
    document["headline_measures"] = ["evil_report:Measure"]
    document["primary_measure"] = ""
    document["verdict"] = None


OF_CODE = {
    "measures": set_config(measures=["evil_report:Measure", "R@10"]),
    "a nested class": set_config(measures=["evil_report:Measure.x@10"]),
    "the primary measure": set_config(primary_measure="evil_report:Measure"),
    "headlines": set_config(headline_measures=["evil_report:Measure"]),
    "targets": set_config(targets={"evil_report:Measure": None}),
    "headlines of the report": edit_json(name_headline),
    "retriever": set_config(runs=None, corpus="c", topics="t", retriever={"a": "evil_report:f"}),
    "backend": set_config(backend="evil_report"),
}


@pytest.mark.parametrize("name", OF_CODE)
def test_a_report_runs_no_code(folder, given, name):
    OF_CODE[name](folder)
    reseal(folder)
    use_everywhere(folder, given)
    assert not (folder / "ran").exists()


@pytest.fixture
def listener():
    """A socket whose backlog shows whether it is called."""
    with socket.create_server(("127.0.0.1", 0)) as opened:
        yield opened


def set_file(document, kind, path):
    manifest = document["manifest"]
    if kind == "runs":
        manifest["config"]["runs"]["a"] = path
        document["modes"]["a"]["run"]["source"] = {"path": path, "sha256": "0" * 64}
    else:
        manifest["config"][kind] = path
        manifest["dataset"]["files"][kind] = {"path": path, "sha256": "0" * 64}


@pytest.mark.every(3)
@pytest.mark.parametrize("kind", [*FILES, "dataset", "runs"])
def test_a_report_requests_no_address(folder, given, listener, kind):
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/x"
    for measure in ("R@10", "MaxOntSim@10", f"MaxOntSim(ontology='{address}')@10"):
        edit_json(lambda document: set_file(document, kind, address))(folder)
        set_config(measures=[measure])(folder)
        reseal(folder)
        use_everywhere(folder, given)
    assert select.select([listener], [], [], 0) == ([], [], [])


@pytest.mark.every(3)
@pytest.mark.parametrize("path", ["/proc/kmsg", "/dev/zero", "-", "pipe", "link", "irds:x"])
@pytest.mark.parametrize("kind", ["qrels", "ontology", "exclude", "runs"])
def test_a_report_opens_no_device(folder, given, kind, path):
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to("/dev/zero")
    edit_json(lambda document: set_file(document, kind, path))(folder)
    reseal_without(folder, "pipe", "link")
    use_everywhere(folder, given)


def reseal_without(folder, *names):
    for name in names:
        (folder / name).rename(folder.parent / name)
    reseal(folder)
    for name in names:
        (folder.parent / name).rename(folder / name)


def add_mode(document, name):
    document["modes"][name] = document["modes"]["b"]


NAMES = ["../../x", "/tmp/x", "..", "a/b", "a\nb", "a\\..\\x", "", ".x", "x" * 300, "A"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_a_report_is_no_path(folder, given, name):
    victims = [folder.parent / "x.run", folder.parent / "x.json"]
    for victim in victims:
        victim.write_text("mine")
    edit_json(lambda document: add_mode(document, name))(folder)
    reseal(folder)
    with pytest.raises(TrectoolsPlusError):
        verify_report(folder)
    use_everywhere(folder, given)
    assert [victim.read_text() for victim in victims] == ["mine", "mine"]


@pytest.mark.parametrize("path", ["../x.run", "/etc/passwd", "/dev/zero", "runs/../../x", "a\0b"])
def test_a_run_of_a_report_is_in_the_folder(folder, given, path):
    edit_json(lambda document: document["modes"]["a"]["run"].update(path=path))(folder)
    with pytest.raises(TrectoolsPlusError):
        verify_report(folder)
    use_everywhere(folder, given)


FILES_BESIDE = [
    JSON,
    "SHA256SUMS",
    "qrels.txt",
    "runs/a.run",
    "per_query.parquet",
]


@pytest.mark.parametrize("name", [*FILES_BESIDE, "BenchmarkReport.html", "reports/a.json"])
@pytest.mark.parametrize("kind", ["pipe", "link", "loop"])
def test_files_of_a_report_are_regular_and_inside(folder, given, name, kind):
    (folder / name).unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(folder / name)
    else:
        (folder / name).symlink_to(name.rpartition("/")[2] if kind == "loop" else given / name)
    with suppress(TrectoolsPlusError):
        assert verify_report(folder).problems
    use_everywhere(folder, given)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, "", "\0", "[1]", "null", "1e999"]
)
def test_a_document_that_is_no_report_is_refused(folder, given, text):
    (folder / JSON).write_text(text)
    with pytest.raises(TrectoolsPlusError):
        verify_report(folder)
    use_everywhere(folder, given)


@pytest.mark.parametrize(
    "settings",
    [{"resamples": 10**12}, {"qrels": {"q": {"d": 1}}}, {"runs": ["a"]}, {"runs": {"a": {}}},
     {"seed": "x"}, {"confidence": None}, {"headline_measures": 3}],
)  # fmt: skip
def test_settings_of_another_kind_are_refused(folder, given, settings, monkeypatch):
    monkeypatch.setenv("TRECTOOLS_PLUS_CACHE", str(folder.parent / "cache"))
    set_config(**settings)(folder)
    reseal(folder)
    with pytest.raises(TrectoolsPlusError):
        verify_report(folder)
    use_everywhere(folder, given)
    assert not (folder.parent / "cache").exists()


def test_a_table_with_too_many_rows_is_refused(folder, monkeypatch):
    monkeypatch.setattr("trectools_plus.formats.files.guards.MAX_ROWS", 10)
    with pytest.raises(TrectoolsPlusError):
        _ = ReportFolder(folder).per_query


def test_verification_writes_nothing(folder):
    before = {path: sha256_file(path) for path in folder.rglob("*") if path.is_file()}
    verify_report(folder)
    assert before == {path: sha256_file(path) for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def with_class(small, tmp_path, monkeypatch, write_benchmark):
    """An honest report with a measure of its writer, whose code the reader does not have."""
    (tmp_path / "own_of_writer.py").write_text(MEASURE)
    monkeypatch.syspath_prepend(tmp_path)
    run = small.write_run("a", {"q1": ["d2"], "q2": ["d2"], "q3": ["d4"], "q4": ["d7"]})
    other = small.write_run("b", {"q1": ["d1"], "q2": ["d2"], "q3": ["d4"], "q4": ["d6"]})
    options = {"runs": {"a": run, "b": other}, "topics": small.topics, "qrels": small.qrels}
    write_benchmark(tmp_path / "out", measures="RR,own_of_writer:First@1", **options)
    (tmp_path / "own_of_writer.py").unlink()
    return tmp_path / "out"


def test_a_measure_of_the_writer_is_not_computed(with_class, tmp_path):
    with pytest.raises(TrectoolsPlusError, match="own_of_writer:First"):
        verify_report(with_class)
    rules = GateRules(("RR",))
    copy = Path(shutil.copytree(with_class, tmp_path / "copy"))
    assert run_gate(with_class, copy, rules).passed


def test_a_report_over_an_absent_ontology_is_not_verified(tmp_path, write_benchmark):
    sources = ("fixtures/ontology/toy.obo", "tests/contract/inputs/testsets/toy.json")
    ontology, test_file = (shutil.copy(ROOT / path, tmp_path) for path in sources)
    options = {"dataset": "hpo", "modes": "lexical,vector,hybrid", "measures": "RR,MaxOntSim@3"}
    files = {"ontology": str(ontology), "test_file": str(test_file)}
    write_benchmark(tmp_path / "out", **options, **files)
    assert verify_report(tmp_path / "out").problems == []
    for kind in files:
        Path(files[kind]).unlink()
    with pytest.raises(TrectoolsPlusError, match="ontology"):
        verify_report(tmp_path / "out")


@pytest.mark.parametrize("change", ["nothing", "other text", "absent"])
def test_a_report_with_excluded_documents_is_verified(small, tmp_path, write_benchmark, change):
    excluded = tmp_path / "exclude.txt"
    excluded.write_text("q1 d1\n")
    run = small.write_run("a", {"q1": ["d1", "d2"], "q2": ["d2"], "q3": ["d4"], "q4": ["d7"]})
    options = {"runs": {"a": run}, "qrels": small.qrels, "measures": "RR"}
    write_benchmark(tmp_path / "out", exclude=str(excluded), **options)
    if change == "other text":
        excluded.write_text("q2 d2\n")
    elif change == "absent":
        excluded.unlink()
    changed = [str(excluded)] if change == "other text" else []
    problems = verify_report(tmp_path / "out").problems
    assert [problem.partition(": ")[0] for problem in problems] == changed
    dataset, reason = ReportFolder(tmp_path / "out").load_original()
    assert (dataset is not None) == (change == "nothing"), reason


OPENED = {
    # Inside the folder.
    "RunFile.path",
    # Only with the content that the report names.
    "SourceFile.path",
    # Validated as a configuration; see below.
    "Manifest.config",
}  # fmt: skip
TEXTS = """
    BenchmarkReport.best_mode BenchmarkReport.best_mode_significant BenchmarkReport.groups
    BenchmarkReport.headline_measures BenchmarkReport.modes BenchmarkReport.notes
    BenchmarkReport.primary_measure BenchmarkReport.strata BenchmarkReport.unranked
    BenchmarkReport.unscored BestOverall.mode
    Comparison.baseline Comparison.contrast Comparison.correction
    Comparison.family Comparison.measure Comparison.test ConfidenceInterval.method
    ConfidenceInterval.note DatasetInfo.contents DatasetInfo.files DatasetInfo.id
    DatasetInfo.sha256 DatasetInfo.version Diagnosis.mode Diagnosis.observed Diagnosis.sign
    Diagnosis.suggests Diagnostics.cut_short Diagnostics.judged Diagnostics.missing_queries
    Diagnostics.notes Diagnostics.queries_without_relevant Diagnostics.shallow_queries
    FailingQuery.first_relevant_rank FailingQuery.measure FailingQuery.query_id
    FailingQuery.text FailingQuery.values FindingRecord.code FindingRecord.doc_id
    FindingRecord.message FindingRecord.name FindingRecord.query_id
    FindingRecord.fix FindingRecord.remedy Manifest.command Manifest.config_hash Manifest.created_at
    Manifest.experiment_id Manifest.index_snapshots Manifest.models Manifest.packages
    Manifest.platform Manifest.python MeasureDefinition.alias MeasureDefinition.averaged_over
    MeasureDefinition.denominator MeasureDefinition.formula MeasureDefinition.gain
    MeasureDefinition.name MeasureDefinition.provider MeasureDefinition.ties
    MeasureDefinition.trec_eval_call ModeResult.label ModeResult.measures
    RunFile.sha256 SourceFile.sha256 Ties.straddling
    UnscoredMode.failed_queries UnscoredMode.label UnscoredMode.reason UpliftResult.baseline
    Verdict.best    Verdict.measure Verdict.next_steps Verdict.second Verdict.text Comparison.reason
"""


def iter_texts(schema):
    """Yield the fields of a schema that can have any text, also as a key or in a list."""
    for model, definition in {**schema["$defs"], "BenchmarkReport": schema}.items():
        for name, field in definition.get("properties", {}).items():
            text = json.dumps(field)
            is_text = '"type": "string"' in text and '"enum"' not in text
            if is_text or '"additionalProperties"' in text:
                yield f"{model}.{name}"


def test_every_text_of_a_report_is_known_to_be_safe():
    """A new field must be added here: what is not in ``OPENED`` is compared or shown only."""
    assert {*iter_texts(BenchmarkReport.model_json_schema())} == {*OPENED, *TEXTS.split()}


def test_every_setting_that_names_a_file_is_guarded():
    """A new setting with a file must be one of ``FILES``, which are opened only if unchanged."""
    hints = get_type_hints(BenchmarkConfig, include_extras=True)
    reader = repr(FileName.__metadata__[0].func)
    named = {name for name, hint in hints.items() if reader in repr(hint)}
    assert named == {*FILES, "dataset", "runs", "output_dir"}
