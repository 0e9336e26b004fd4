"""The normaliser: what it ignores, and that it notices everything else."""

from __future__ import annotations

import pytest
from harness.normal import differences, normalise, read_document, write_document

FINDING = {"code": "R131", "line": 3, "count": 1, "message": "twice", "remedy": None}
DOCUMENT = {
    "manifest": {"created_at": "2026-01-31T12:00:00Z", "packages": {"numpy": "2.0"}, "seed": 42},
    "experiment": "20260131-120000-0f3a9c21",
    "findings": [FINDING],
    "mean": 0.25,
    "values": [1, 2],
    "notes": ["one"],
    "verdict": "hybrid is best",
    "status": None,
}


@pytest.mark.parametrize(
    "change",
    [
        {"manifest": {**DOCUMENT["manifest"], "created_at": "2027-01-01T00:00:00Z"}},
        {"manifest": {**DOCUMENT["manifest"], "packages": {"numpy": "3.0", "more": "1"}}},
        {"experiment": "20270101-000000-0f3a9c21"},
        {"findings": [{**FINDING, "message": "other words"}]},
        {"findings": [{**FINDING, "remedy": "to be fixed"}]},
        {"notes": ["another"]},
        {"notes": ["one", "two"]},
        {"verdict": "no run is better"},
        {"mean": 0.25 + 1e-13},
    ],
)
def test_times_versions_texts_and_last_bits_are_ignored(change):
    assert not list(differences(normalise(DOCUMENT), normalise({**DOCUMENT, **change})))


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"manifest": {**DOCUMENT["manifest"], "seed": 43}}, "/manifest/seed: 42, now 43"),
        ({"manifest": {"seed": 42}}, '/manifest/created_at: "…", now missing'),
        ({"experiment": "20260131-120000-ffffffff"}, "/experiment: "),
        ({"findings": [{**FINDING, "line": None}]}, "/findings/R131 3: {"),
        ({"findings": [{**FINDING, "line": None}]}, "/findings/R131 None: new, now {"),
        ({"findings": [{**FINDING, "count": 2}]}, "/findings/R131 3/count: 1, now 2"),
        ({"findings": []}, "/findings: {"),
        ({"findings": [FINDING, {**FINDING, "line": 4}]}, "/findings/R131 4: new, now {"),
        ({"mean": 0.2500000001}, "/mean: 0.25, now 0.2500000001"),
        ({"mean": None}, "/mean: 0.25, now null"),
        ({"values": [1, 2, 3]}, "/values/2: new, now 3"),
        ({"new": False}, "/new: new, now false"),
        ({"status": False}, "/status: null, now false"),
    ],
)
def test_everything_else_is_a_difference(change, found):
    lines = [*map(str, differences(normalise(DOCUMENT), normalise({**DOCUMENT, **change})))]
    assert any(line.startswith(found) for line in lines), lines


def test_the_order_of_items_is_a_difference():
    documents = [normalise([{"name": name} for name in order]) for order in ("ab", "ba")]
    assert [one.path for one in differences(*documents)] == ["/(order)"]


def test_texts_of_collections_are_left_out():
    document = {"failing": [{"grade": 1, "text": "words"}]}
    assert normalise(document, private=True) == {"failing": [{"grade": 1, "text": "…"}]}


def test_a_frozen_document_reads_back(tmp_path):
    document = normalise({**DOCUMENT, "rows": [[1, "ä\n"], {}, []], "long": ["x" * 60] * 9})
    write_document(tmp_path / "a.json", document)
    assert read_document(tmp_path / "a.json") == document
