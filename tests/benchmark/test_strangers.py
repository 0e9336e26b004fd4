"""Reports of strangers: nothing that they name is run, requested, or read outside of the folder."""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import BaseModel
from test_forgeries import JSON, edit_json, reseal

from trectools_plus.benchmark import run_benchmark, verify_report
from trectools_plus.benchmark.compare.reproduction import compare_experiments
from trectools_plus.benchmark.gate import GateRules, run_gate
from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.report.folder import FILES, ReportFolder
from trectools_plus.benchmark.report.listing import list_reports
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.config_file import load_config
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.reporting.files import write_reports
from trectools_plus.service.review.material import load_material

CODE = "from pathlib import Path\nPath('ran').touch()\n"
MEASURE = '''
from trectools_plus.measures import BaseMeasure

class First(BaseMeasure):
    """Confirmed by an independent audit."""

    def score_query(self, ranked_doc_ids, qrels_of_query):
        return float(qrels_of_query.get(ranked_doc_ids[0], 0) > 0)
'''


@pytest.fixture(scope="module")
def given(module_bench: Any) -> Path:
    folder: Path = module_bench.make("given", {"a": {n: n % 4 for n in range(60)}, "b": {8: 0}})
    return folder


@pytest.fixture
def folder(given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy, in which ``evil.py`` can be imported."""
    copy = Path(shutil.copytree(given, tmp_path / "out"))
    (copy / "evil_report.py").write_text(CODE)
    monkeypatch.chdir(copy)
    return copy


def use_everywhere(folder: Path, honest: Path) -> None:
    """Read the report with every function that reads reports."""
    uses: list[Callable[[], Any]] = [
        lambda: verify_report(folder),
        lambda: run_gate(folder, honest, GateRules(measures=("R@10",))),
        lambda: run_gate(honest, folder, GateRules(measures=("R@10",))),
        lambda: compare_experiments(folder, honest),
        lambda: compare_experiments(honest, folder),
        lambda: load_material(folder),
        lambda: list_reports(folder),
        lambda: ReportFolder(folder).config,
    ]
    for use in uses:
        try:
            use()
        except TrectoolsPlusError:
            continue


def set_config(**settings: Any) -> Callable[[Path], None]:
    return edit_json(lambda document: document["manifest"]["config"].update(settings))


def name_headline(document: dict[str, Any]) -> None:
    document["headline_measures"] = ["evil_report:Measure"]
    document["primary_measure"] = ""
    document["verdict"] = None


OF_CODE: dict[str, Callable[[Path], None]] = {
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
def test_a_report_runs_no_code(folder: Path, given: Path, name: str) -> None:
    OF_CODE[name](folder)
    reseal(folder)
    use_everywhere(folder, given)
    assert not (folder / "ran").exists()


@pytest.fixture
def server() -> Iterator[tuple[str, list[bytes]]]:
    """A server that records whether it is called."""
    called: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            called.append(b"called")
            connection.close()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/x", called
    listener.close()


def set_file(document: dict[str, Any], kind: str, path: str) -> None:
    manifest = document["manifest"]
    if kind == "runs":
        manifest["config"]["runs"]["a"] = path
        document["modes"]["a"]["run"]["source"] = {"path": path, "sha256": "0" * 64}
    else:
        manifest["config"][kind] = path
        manifest["dataset"]["files"][kind] = {"path": path, "sha256": "0" * 64}


@pytest.mark.parametrize("kind", [*FILES, "dataset", "runs"])
def test_a_report_requests_no_address(
    folder: Path, given: Path, server: tuple[str, list[bytes]], kind: str
) -> None:
    address, called = server
    for measure in ("R@10", "MaxOntSim@10", f"MaxOntSim(ontology='{address}')@10"):
        edit_json(lambda document: set_file(document, kind, address))(folder)
        set_config(measures=[measure])(folder)
        reseal(folder)
        use_everywhere(folder, given)
    assert called == []


@pytest.mark.parametrize("path", ["/proc/kmsg", "/dev/zero", "-", "pipe", "link", "irds:x"])
@pytest.mark.parametrize("kind", ["qrels", "ontology", "runs"])
def test_a_report_opens_no_device(folder: Path, given: Path, kind: str, path: str) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to("/dev/zero")
    edit_json(lambda document: set_file(document, kind, path))(folder)
    reseal_without(folder, "pipe", "link")
    use_everywhere(folder, given)


def reseal_without(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).rename(folder.parent / name)
    reseal(folder)
    for name in names:
        (folder.parent / name).rename(folder / name)


def merge(document: dict[str, Any], name: str) -> None:
    document["manifest"]["merged"] = [{"name": name, "path": "x.run", "sha256": "0" * 64}]
    document["modes"][name] = document["modes"]["b"]


NAMES = ["../../x", "/tmp/x", "..", "a/b", "a\nb", "a\\..\\x", "", ".x", "x" * 300, "A"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_a_report_is_no_path(folder: Path, given: Path, name: str) -> None:
    victims = [folder.parent / "x.run", folder.parent / "x.json"]
    for victim in victims:
        victim.write_text("mine")
    edit_json(lambda document: merge(document, name))(folder)
    reseal(folder)
    with pytest.raises(TrectoolsPlusError):
        verify_report(folder)
    use_everywhere(folder, given)
    assert [victim.read_text() for victim in victims] == ["mine", "mine"]


@pytest.mark.parametrize("path", ["../x.run", "/etc/passwd", "/dev/zero", "runs/../../x", "a\0b"])
def test_a_run_of_a_report_is_in_the_folder(folder: Path, given: Path, path: str) -> None:
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
    "topics.parquet",
]


@pytest.mark.parametrize("name", [*FILES_BESIDE, "BenchmarkReport.html", "reports/a.json"])
@pytest.mark.parametrize("kind", ["pipe", "link", "loop"])
def test_files_of_a_report_are_regular_and_inside(
    folder: Path, given: Path, name: str, kind: str
) -> None:
    (folder / name).unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(folder / name)
    else:
        (folder / name).symlink_to(name.rpartition("/")[2] if kind == "loop" else given / name)
    try:
        assert verify_report(folder).problems
    except TrectoolsPlusError:
        pass
    use_everywhere(folder, given)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, "", "\0", "[1]", "null", "1e999"]
)
def test_a_document_that_is_no_report_is_refused(folder: Path, given: Path, text: str) -> None:
    (folder / JSON).write_text(text)
    with pytest.raises(TrectoolsPlusError):
        verify_report(folder)
    use_everywhere(folder, given)


@pytest.mark.parametrize(
    "settings",
    [{"resamples": 10**12}, {"qrels": {"q": {"d": 1}}}, {"runs": ["a"]}, {"runs": {"a": {}}},
     {"seed": "x"}, {"confidence": None}, {"headline_measures": 3}],
)  # fmt: skip
def test_settings_of_another_kind_are_refused(
    folder: Path, given: Path, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRECTOOLS_PLUS_CACHE", str(folder.parent / "cache"))
    set_config(**settings)(folder)
    reseal(folder)
    with pytest.raises(TrectoolsPlusError):
        verify_report(folder)
    use_everywhere(folder, given)
    assert not (folder.parent / "cache").exists()


def test_a_table_with_too_many_rows_is_refused(folder: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("trectools_plus.formats.files.closed.MAX_ROWS", 10)
    with pytest.raises(TrectoolsPlusError):
        _ = ReportFolder(folder).per_query


def test_verification_writes_nothing(folder: Path) -> None:
    before = {path: sha256_file(path) for path in folder.rglob("*") if path.is_file()}
    verify_report(folder)
    after = {path: sha256_file(path) for path in folder.rglob("*") if path.is_file()}
    assert before == after


@pytest.fixture
def with_class(small: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An honest report with a measure of its writer, whose code the reader does not have."""
    (tmp_path / "own_of_writer.py").write_text(MEASURE)
    monkeypatch.syspath_prepend(tmp_path)
    run = small.write_run("a", {"q1": ["d2"], "q2": ["d2"], "q3": ["d4"], "q4": ["d7"]})
    other = small.write_run("b", {"q1": ["d1"], "q2": ["d2"], "q3": ["d4"], "q4": ["d6"]})
    folder = tmp_path / "out"
    options = {"runs": {"a": run, "b": other}, "topics": small.topics, "qrels": small.qrels}
    options |= {"measures": "RR,own_of_writer:First@1", "resamples": 100}
    write_reports(run_benchmark(load_config(options={**options, "output_dir": str(folder)})))
    (tmp_path / "own_of_writer.py").unlink()
    return folder


def test_values_of_measures_of_the_writer_are_not_computed_again(with_class: Path) -> None:
    found = verify_report(with_class)
    assert found.problems == []
    assert any("First@1" in one for one in found.unproven)


def test_figures_from_values_of_the_writer_are_verified(with_class: Path) -> None:
    def forge(document: dict[str, Any]) -> None:
        document["modes"]["a"]["measures"]["First@1"]["mean"] = 0.9

    edit_json(forge)(with_class)
    reseal(with_class)
    assert any("First@1.mean" in one for one in verify_report(with_class).problems)


def test_a_measure_of_the_writer_adds_no_sentence(with_class: Path) -> None:
    def forge(document: dict[str, Any]) -> None:
        for mode in document["modes"].values():
            mode["measures"]["First@1"]["definition"]["formula"] = "the official measure"

    assert "audit" not in (with_class / JSON).read_text()
    edit_json(forge)(with_class)
    reseal(with_class)
    assert any("definition.formula" in one for one in verify_report(with_class).problems)


def test_a_measure_of_the_writer_has_no_name_of_a_standard_measure(with_class: Path) -> None:
    text = (with_class / JSON).read_text().replace('"First@1"', '"nDCG@10"')
    (with_class / JSON).write_text(text)
    table = pl.read_parquet(with_class / "per_query.parquet")
    table = table.with_columns(pl.col("measure").replace("First@1", "nDCG@10"))
    table.write_parquet(with_class / "per_query.parquet")
    reseal(with_class)
    with pytest.raises(TrectoolsPlusError):
        verify_report(with_class)


SAFE = {
    # Shown, compared with what is made again, or listed as reported by the writer; never opened.
    "manifest.command", "manifest.python", "manifest.platform", "manifest.dataset.id",
    "manifest.models.path", "manifest.index_snapshots",
    # Opened only if unchanged.
    "manifest.dataset.files.path", "manifest.merged.path", "modes.run.source.path",
    "components.run.source.path",
    # Plain names of files inside the folder.
    "modes.run.path", "components.run.path", "manifest.merged.name",
}  # fmt: skip


def iter_paths(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Yield the fields of a model, and of the models in it, that can name a file."""
    for name, field in model.model_fields.items():
        place = f"{prefix}{name}"
        text = str(field.annotation)
        inner = [one for one in all_models() if f".{one.__name__}" in text.replace("'", "")]
        inner = [one for one in inner if f"{one.__module__}.{one.__name__}" in text]
        if (
            name in ("path", "command", "python", "platform", "index_snapshots")
            or (prefix == "manifest.merged." and name == "name")
            or place == "manifest.dataset.id"
        ):
            yield place
        for one in inner:
            yield from iter_paths(one, f"{place}.")


def all_models(base: type[BaseModel] = BaseModel) -> list[type[BaseModel]]:
    found = list(base.__subclasses__())
    return [*found, *(inner for one in found for inner in all_models(one))]


def test_every_path_of_a_report_is_known_to_be_safe() -> None:
    assert {*iter_paths(BenchmarkReport)} == SAFE


def test_every_setting_that_names_a_file_is_guarded() -> None:
    """A new setting with a file must be one of ``FILES``, which are opened only if unchanged."""
    from trectools_plus.benchmark.run.config import FileName

    named = {
        name
        for name, field in BenchmarkConfig.model_fields.items()
        if str(FileName.__metadata__[0]) in str(field)  # type: ignore[attr-defined]
    }
    assert named == {*FILES, "dataset", "runs", "output_dir"}
