"""Commands on files: their JSON documents, exit codes and output files are the frozen ones."""

from __future__ import annotations

import json

import pytest
from harness.cases import GROUPS
from harness.malformed import describe_malformed, in_short

pytestmark = pytest.mark.process


@pytest.mark.every(2)
@pytest.mark.parametrize("case", GROUPS["files"], ids=lambda case: case.name)
def test_documents_codes_and_files(case, observed, compare):
    document, _ = observed(case.name)
    compare(case.name, document, loose=case.fresh)


@pytest.mark.parametrize("folder", ["malformed", "malformed_topics"])
def test_every_malformed_file(folder, shared_data, program, compare, tmp_path):
    """Code, severity, line and count of every finding, and the bytes that --fix writes."""
    listed = json.loads((shared_data / folder / "manifest.json").read_text("utf-8"))
    document = describe_malformed(program, shared_data / folder, tmp_path)
    assert len(document) == len(listed)
    compare(folder, document)


def test_real_topics(shared_data, program, compare, tmp_path):
    (tmp_path / "files").symlink_to(shared_data / "real_topics")
    listed = json.loads((shared_data / "real_topics/manifest.json").read_text("utf-8"))
    entries = listed if isinstance(listed, list) else listed["files"]
    names = sorted(entry["file"] for entry in entries)
    files = " ".join(f"files/{name}" for name in names)
    done = program(f"trectools-plus topics validate {files} --format json", tmp_path)
    document = {"exit": done.code, "files": {}}
    for file in json.loads(done.stdout)["files"]:
        document["files"][file["path"]] = {
            "rows": file["rows"],
            "queries": file["queries"],
            "findings": [in_short(finding) for finding in file["findings"]],
        }
    assert len(document["files"]) == len(names)
    compare("real_topics", document)


@pytest.mark.parametrize(
    ("flags", "run", "official"),
    [
        ("", "results.test", "out.test"),
        ("-m all_trec -q", "results.test", "out.test.aq"),
        ("-m all_trec -q -c -M100", "results.trunc", "out.test.aqcM"),
    ],
)
def test_official_trec_eval_outputs(flags, run, official, shared_data, program, compare, tmp_path):
    """Version 10 to the byte; version 9, which rounds otherwise in a few rows, as frozen."""
    folder = shared_data / "trec_eval"
    files = f"{flags} {folder}/qrels.test {folder}/{run}"
    done = program(f"trectools-plus trec-eval --trec-eval-version 10 {files}", tmp_path)
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout == (folder / official).read_bytes()
    done = program(f"trectools-plus trec-eval {files}", tmp_path)
    assert done.code == 0
    compare(f"trec-eval-9-{official}", done.stdout.decode().splitlines())
