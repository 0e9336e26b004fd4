"""Reports on clean runs are those of the rules, byte for byte in every format."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests.formats.clean.run_texts import changed, regular_runs
from tests.formats.clean.test_judged import regular_qrels
from trectools_plus.cli.app import app
from trectools_plus.retrieval import describe_run
from trectools_plus.validation import (
    CATALOGUE,
    RENDERERS,
    clean_reports,
    describe_clean_run,
    load_run,
    validate_run,
)
from trectools_plus.validation.clean import NAMES
from trectools_plus.validation.clean_reports import load_judged_ids, validate_clean_run
from trectools_plus.validation.engine import open_qrels, open_run
from trectools_plus.validation.findings import FileReport
from trectools_plus.validation.rendering.text import iter_text
from trectools_plus.validation.views.runs import RunView


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("clean")


@pytest.fixture(params=[1, 200, 1 << 20], autouse=True, scope="module")
def chunk_bytes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Read chunks of a query, of a few queries, or the whole file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clean_reports, "_CHUNK_BYTES", request.param)
        yield


def test_names_are_those_of_the_rules():
    assert {code: CATALOGUE[code].name for code in NAMES} == NAMES


def report_of_rules(path: Path, max_depth: int, longest: int, qrels: Path | None) -> FileReport:
    """Return the report of the rules on the whole file."""
    view = open_run(path, max_depth)
    assert isinstance(view, RunView)
    other = None if qrels is None else open_qrels(qrels)
    return validate_run(view, qrels=other, max_tag_length=longest)


def rendered(report: FileReport) -> list[str]:
    return ["".join(iter_text([report])), *("".join(RENDERERS[one]([report])) for one in RENDERERS)]


def assert_same(
    path: Path, *, max_depth: int = 5, max_tag_length: int = 64, qrels: Path | None = None
) -> bool:
    """Compare the two reports; return whether the run is clean."""
    ids = None if qrels is None else load_judged_ids(qrels)
    if qrels is not None and ids is None:
        return False
    report = validate_clean_run(path, qrels=ids, max_depth=max_depth, max_tag_length=max_tag_length)
    if report is None:
        return False
    expected = report_of_rules(path, max_depth, max_tag_length, qrels)
    assert report == expected
    assert rendered(report) == rendered(expected)
    return True


@given(regular_runs(), st.integers(1, 12), st.sampled_from([3, 25, 64]))
def test_reports_on_regular_runs_are_those_of_the_rules(folder, text, max_depth, longest):
    path = folder / "run.txt"
    path.write_bytes(text.encode())
    assert_same(path, max_depth=max_depth, max_tag_length=longest)


@given(st.one_of(regular_runs(), changed(regular_runs())))
@example("1 Q0 a 1 2 t\n1 Q0 b 2 2 t\n1 Q0 c 3 1 t\n")
@example("1 Q0 b 0 16777217 t\n1 Q0 a 1 16777216 t\n1 Q0 c 2 16777216 t\n2 Q0 a 1 1 other\n")
def test_a_clean_run_is_described_as_by_tables(folder, text):
    path = folder / "described.txt"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    described = describe_clean_run(str(path))
    if described is not None:
        assert described == describe_run(load_run(path)).model_dump(mode="json")


def test_usual_runs_are_described_without_tables(tmp_path):
    (tmp_path / "run").write_text(a_run())
    assert describe_clean_run(str(tmp_path / "run")) is not None


@settings(max_examples=60)
@given(changed(regular_runs()), st.integers(1, 12))
def test_reports_on_changed_runs_are_those_of_the_rules(folder, text, max_depth):
    path = folder / "run.txt"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert_same(path, max_depth=max_depth)


@given(regular_runs(), regular_qrels())
@example("1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n", "1 0 A 1\n1 0 b 1\n")
@example("1 Q0 a 1 2 t\n2 Q0 b 1 1 t\n", "1 0 a 1\n")
@example("1 Q0 a 1 2 t\n", "1 0 a 1\n2 0 a 1\n")
def test_reports_with_qrels_are_those_of_the_rules(folder, run, qrels):
    path, judged = folder / "run.txt", folder / "qrels.txt"
    path.write_bytes(run.encode())
    judged.write_bytes(qrels.encode())
    assert_same(path, qrels=judged, max_depth=100)


def a_run(n_queries: int = 9, depth: int = 20, form: str = "{q} Q0 {d} {r} {s:.4f} tag") -> str:
    return "".join(
        form.format(q=100 + query, d=f"d{(query * 7 + rank) % 50}", r=rank, s=20 - rank / 7) + "\n"
        for query in range(n_queries)
        for rank in range(1, depth + 1)
    )


CLEAN = {
    "no findings": (a_run(), 100),
    "too deep": (a_run(), 7),
    "one query is too deep": (a_run() + a_run(1, 30).replace("100 ", "7 "), 25),
    "fragile documents": (a_run().replace(" d7 ", " NA ").replace(" d9 ", " 1e5 "), 100),
    "fragile queries": (a_run().replace("103 ", "0103 "), 100),
    "a query retrieves itself": (a_run().replace("105 Q0 d45 ", "105 Q0 105 "), 100),
    "all of these": (
        a_run().replace("103 ", "007 ").replace(" d7 ", " 007 ").replace(" d9 ", " null "),
        3,
    ),
}


@pytest.mark.parametrize(("text", "max_depth"), CLEAN.values(), ids=CLEAN)
def test_findings_on_ids_and_depth_are_those_of_the_rules(tmp_path, text, max_depth):
    path = tmp_path / "run.txt"
    path.write_text(text)
    assert assert_same(path, max_depth=max_depth)


def qrels_of(run: str, every: int = 1) -> str:
    rows = [line.split() for line in run.splitlines()]
    return "".join(f"{row[0]} 0 {row[2]} {int(row[3]) % 2}\n" for row in rows[::every])


@pytest.mark.parametrize(("every", "is_clean"), [(1, True), (2, True), (11, True), (180, False)])
def test_qrels_are_compared(tmp_path, every, is_clean):
    path, qrels = tmp_path / "run.txt", tmp_path / "qrels.txt"
    path.write_text(a_run())
    qrels.write_text(qrels_of(a_run(), every))
    assert assert_same(path, qrels=qrels, max_depth=100) is is_clean


OTHER = {
    "duplicate": a_run() + a_run(1, 1),
    "query in two places": a_run(2) + a_run(1).replace(" d", " e"),
    "crlf": a_run().replace("\n", "\r\n"),
    "two tags": a_run(2) + a_run(1).replace("100 ", "7 ").replace("tag", "other"),
    "tabs in one query": a_run(2) + a_run(1).replace("100 ", "7 ").replace(" ", "\t"),
    "no final newline": a_run()[:-1],
    "empty": "",
    "long score": a_run(1) + "7 Q0 d 1 1." + "0" * 70_000 + " tag\n",
}


@pytest.mark.parametrize("text", OTHER.values(), ids=OTHER)
def test_other_runs_are_left_to_the_rules(tmp_path, text):
    path = tmp_path / "run.txt"
    path.write_bytes(text.encode())
    assert validate_clean_run(path, max_depth=100, max_tag_length=64) is None


def test_files_that_cannot_be_read_are_left_to_the_rules(tmp_path, monkeypatch):
    path = tmp_path / "run.txt"
    path.write_text(a_run())
    packed = tmp_path / "run.txt.gz"
    packed.write_text(a_run())
    for other in (tmp_path, tmp_path / "missing", packed, "-", "s3://bucket/run"):
        assert validate_clean_run(other, max_depth=100, max_tag_length=64) is None
        assert load_judged_ids(other) is None
    monkeypatch.setattr(clean_reports, "max_content_bytes", lambda: 100)
    assert validate_clean_run(path, max_depth=100, max_tag_length=64) is None


def test_malformed_and_real_runs_have_the_reports_of_the_rules(shared_data, tmp_path):
    n_clean = 0
    malformed = shared_data / "malformed"
    for entry in json.loads((malformed / "manifest.json").read_text(encoding="utf-8")):
        if entry["kind"] == "run":
            qrels = malformed / entry["with"] if "with" in entry else None
            for max_depth in (2, 100):
                assert_same(malformed / entry["file"], qrels=qrels, max_depth=max_depth)
    for packed in sorted((shared_data / "robust03").glob("input.*.gz")):
        path = tmp_path / packed.stem
        path.write_bytes(gzip.decompress(packed.read_bytes()))
        n_clean += assert_same(path, max_depth=1000)
    qrels = tmp_path / "qrels.txt"
    qrels.write_bytes(gzip.decompress((shared_data / "robust03" / "qrels.txt.gz").read_bytes()))
    for path in sorted(tmp_path.glob("input.*")):
        assert_same(path, max_depth=1000, qrels=qrels)
    assert n_clean > 0


TEXTS = {**{name: text for name, (text, _) in CLEAN.items()}, **OTHER}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        pytest.param(
            name,
            options,
            marks=[]
            if not options or name in ("all of these", "duplicate")
            else pytest.mark.slow("the same options for another run"),
        )
        for options in ([], ["--qrels"], ["--max-depth", "10"], ["--all"])
        for name in TEXTS
    ],
)
def test_the_command_prints_the_same(tmp_path, monkeypatch, name, options):
    path, qrels = tmp_path / "run.txt", tmp_path / "qrels.txt"
    path.write_bytes(TEXTS[name].encode())
    qrels.write_text(qrels_of(a_run()))
    options = [*options, str(qrels)] if options == ["--qrels"] else options
    printed = []
    for is_off in (False, True):
        if is_off:
            for module in ("trectools_plus.validation", "trectools_plus.validation.engine"):
                monkeypatch.setattr(f"{module}.validate_clean_run", lambda *_, **__: None)
        for output in ("text", "json"):
            arguments = ["runs", "validate", str(path), "--format", output, *options]
            done = CliRunner().invoke(app, arguments)
            printed.append((done.exit_code, done.stdout, done.stderr))
    assert printed[:2] == printed[2:]
