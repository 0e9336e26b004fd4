"""SARIF against its schema: the part of it that is written, with all else refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from trectools_plus.validation import FileReport, validate_qrels, validate_run
from trectools_plus.validation.catalogue import CATALOGUE
from trectools_plus.validation.rendering import render
from trectools_plus.validation.rendering.places import file_uri

SCHEMA = json.loads(Path(__file__).with_name("sarif-2.1.0-used.schema.json").read_text("utf-8"))
FAULTY = Path(__file__).resolve().parents[3] / "fixtures/runs-faulty"


def checked(reports: list[FileReport]) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(render(reports, "sarif"))
    jsonschema.Draft7Validator(SCHEMA).validate(log)
    (run,) = log["runs"]
    return dict(run)


def test_every_faulty_file_gives_a_valid_log() -> None:
    runs = sorted(FAULTY.iterdir())
    assert runs
    run = checked([validate_run(path) for path in runs] + [validate_qrels(runs[0])])
    rules = run["tool"]["driver"]["rules"]
    assert len(run["results"]) >= len(runs)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"].startswith("file:///")


def test_every_line_is_a_result_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_text("".join(f"1 0 d{n} {n} {9 - n} t\n" for n in range(1, 9)))
    run = checked([validate_run(path, every_line=True)])
    assert [result["ruleId"] for result in run["results"]] == ["R107"] * 8
    starts = [
        result["locations"][0]["physicalLocation"]["region"]["startLine"]
        for result in run["results"]
    ]
    assert starts == list(range(1, 9))
    assert run["results"][7]["message"]["text"].startswith("second column: 1 0 d8 8 1 t.")


def test_rules_explain_themselves() -> None:
    rules = checked([])["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [rule.code for rule in CATALOGUE]
    duplicate = next(rule for rule in rules if rule["id"] == "R131")
    assert duplicate["name"] == "DuplicateDocument"
    assert "trec_eval stops" in duplicate["fullDescription"]["text"]
    assert "error R131" in duplicate["help"]["markdown"]


def test_rules_link_to_their_anchor_once_the_documentation_has_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = checked([])["tool"]["driver"]["rules"]
    assert all("helpUri" not in rule or rule["helpUri"] for rule in rules)
    metadata = tmp_path / "trectools_plus-99.0.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(
        "Metadata-Version: 2.1\nName: trectools-plus\nVersion: 99.0\n"
        "Project-URL: Documentation, https://docs.example.org/tp/\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    rules = checked([])["tool"]["driver"]["rules"]
    assert rules[0]["helpUri"] == "https://docs.example.org/tp/rules/#F101"


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("a.run", "a.run"),
        ("./runs/a.run", "runs/a.run"),
        ("a b%é.run", "a%20b%25%C3%A9.run"),
        ("a:b.run", "a%3Ab.run"),
        ("new\nline.run", "new%0Aline.run"),
        ("/runs/a b.run", "file:///runs/a%20b.run"),
        ("latin\udce9.run", "latin%E9.run"),
        ("-", "-"),
    ],
)
def test_paths_become_uris(path: str, uri: str) -> None:
    assert file_uri(path) == uri
