"""Sets with texts in one language and descriptions in another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trectools_plus import load_test_set
from trectools_plus.errors import FormatError, InputError, UsageError


@pytest.mark.parametrize("name", ["tiny_v1", "70cases_gemini_v1"])
def test_both_columns_of_real_sets(shared_data: Path, name: str) -> None:
    path = shared_data / "phentrieve" / "german" / f"{name}.json"
    cases = json.loads(path.read_text("utf-8"))
    german = load_test_set(path, language="de")
    english = load_test_set(path, text_field="description", language="en")
    assert [query.text for query in german.queries] == [case["text"] for case in cases]
    assert [query.text for query in english.queries] == [case["description"] for case in cases]
    assert {query.language for query in english.queries} == {"en"}
    assert {query.description for query in english.queries} == {None}
    assert (german.metadata.language, english.metadata.language) == ("de", "en")
    assert german.metadata.dataset_id != english.metadata.dataset_id
    for one, other in zip(german.queries, english.queries, strict=True):
        assert (one.query_id, one.relevant) == (other.query_id, other.relevant)


def test_what_a_set_says_of_its_language_holds() -> None:
    assert load_test_set("hpo-de-tiny", language="de-AT").metadata.language == "de-AT"
    with pytest.raises(UsageError, match="the set declares the language de, not en — hpo-de-tiny"):
        load_test_set("hpo-de-tiny", language="en")


def test_descriptions_without_a_language_declare_none() -> None:
    test_set = load_test_set("hpo-de-tiny", text_field="description")
    assert test_set.metadata.language == ""
    assert {query.language for query in test_set.queries} == {None}


def test_a_missing_description_is_named() -> None:
    with pytest.raises(FormatError, match="query en-001 has no description"):
        load_test_set("hpo-en-tiny", text_field="description")


def test_names_that_are_no_sets_list_those_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"one of hpo-de-comprehensive, .*hpo-nl-tiny"):
        load_test_set("hpo-xx-tiny")
    with pytest.raises(InputError, match=r"none\.json"):
        load_test_set("none.json")
    monkeypatch.chdir(tmp_path)
    own = [{"query_id": "1", "text": "a", "relevant": {"d": 1}}]
    (tmp_path / "hpo-en-tiny").write_text(json.dumps(own))
    assert len(load_test_set("hpo-en-tiny").queries) == 9
    assert len(load_test_set("./hpo-en-tiny").queries) == 1
