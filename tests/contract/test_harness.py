"""The normaliser: what it ignores, and that it notices everything else."""

from __future__ import annotations

import pytest
from harness.normal import differences, normalise, read_document, write_document

DOCUMENT = {
    "manifest": {"created_at": "2026-01-31T12:00:00Z", "packages": {"numpy": "2.0"}, "seed": 42},
    "experiment": "20260131-120000-0f3a9c21",
    "findings": [{"code": "R131", "line": 3, "message": "twice", "remedy": None}],
    "mean": 0.25,
    "notes": ["one"],
    "status": None,
}


@pytest.mark.parametrize(
    "change",
    [
        {"manifest": {**DOCUMENT["manifest"], "created_at": "2027-01-01T00:00:00Z"}},
        {"manifest": {**DOCUMENT["manifest"], "packages": {"numpy": "3.0", "more": "1"}}},
        {"experiment": "20270101-000000-0f3a9c21"},
        {"findings": [{**DOCUMENT["findings"][0], "message": "other words"}]},
        {"notes": ["another"]},
        {"mean": 0.25 + 1e-12},
    ],
)
def test_times_versions_texts_and_last_bits_are_ignored(change):
    assert not list(differences(normalise(DOCUMENT), normalise({**DOCUMENT, **change})))


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"manifest": {**DOCUMENT["manifest"], "seed": 43}}, "/manifest/seed: 42, now 43"),
        ({"manifest": {"seed": 42}}, '/manifest/created_at: missing (was "…")'),
        ({"experiment": "20260131-120000-ffffffff"}, "/experiment: "),
        (
            {"findings": [{**DOCUMENT["findings"][0], "line": None}]},
            "/findings/0/line: 3, now null",
        ),
        (
            {"findings": [{**DOCUMENT["findings"][0], "remedy": "x"}]},
            "/findings/0/remedy: null, now",
        ),
        ({"findings": []}, "/findings: 1 items, now 0"),
        ({"mean": 0.250001}, "/mean: 0.25, now 0.250001"),
        ({"mean": None}, "/mean: 0.25, now null"),
        ({"notes": ["one", "two"]}, "/notes: 1 items, now 2"),
        ({"new": False}, "/new: new (false)"),
        ({"status": False}, "/status: null, now false"),
    ],
)
def test_everything_else_is_a_difference(change, found):
    lines = list(differences(normalise(DOCUMENT), normalise({**DOCUMENT, **change})))
    assert any(line.startswith(found) for line in lines), lines


def test_texts_of_collections_are_left_out():
    document = {"failing": [{"query_id": "1", "text": "a query of somebody's"}]}
    assert normalise(document, private=True) == {"failing": [{"query_id": "1", "text": "…"}]}


def test_a_frozen_document_reads_back(tmp_path):
    document = normalise({**DOCUMENT, "rows": [[1, "ä\n"], {}, []], "long": ["x" * 60] * 9})
    write_document(tmp_path / "a.json", document)
    assert read_document(tmp_path / "a.json") == document
