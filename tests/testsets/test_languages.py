"""Sets with texts in one language and descriptions in another."""

import json

import pytest

from trectools_plus import load_test_set
from trectools_plus.errors import FormatError, InputError
from trectools_plus.testsets import split_languages
from trectools_plus.testsets.loading import languages_in


def test_a_missing_description_is_named():
    with pytest.raises(FormatError, match="hpo-001"):
        load_test_set("hpo-en-tiny", text_field="description")


def test_names_that_are_no_sets_list_those_there_are(tmp_path, monkeypatch):
    with pytest.raises(InputError):
        load_test_set("hpo-xx-tiny")
    with pytest.raises(InputError, match=r"none\.json"):
        load_test_set("none.json")
    monkeypatch.chdir(tmp_path)
    own = [{"query_id": "1", "text": "a", "relevant": {"d": 1}}]
    (tmp_path / "hpo-en-tiny").write_text(json.dumps(own))
    assert len(load_test_set("hpo-en-tiny").queries) == 9
    assert len(load_test_set("./hpo-en-tiny").queries) == 1


MIXED = [
    {"text": "seizures", "hpo_ids": ["HP:0001250"], "language": "en"},
    {"text": "Krampfanfälle", "hpo_ids": ["HP:0001250"], "language": "de"},
    {"text": "short stature", "hpo_ids": ["HP:0004322"], "language": "en-GB"},
]


def test_one_set_per_language(tmp_path):
    path = tmp_path / "mixed.json"
    path.write_text(json.dumps(MIXED), "utf-8")
    test_set = load_test_set(path)
    assert languages_in(test_set) == {"en": 2, "de": 1}
    parts = split_languages(test_set, "mixed.json")
    assert {
        code: (
            one.metadata.dataset_id,
            one.metadata.language,
            [query.text for query in one.queries],
        )
        for code, one in parts.items()
    } == {
        "en": ("mixed-en", "en", ["seizures", "short stature"]),
        "de": ("mixed-de", "de", ["Krampfanfälle"]),
    }
    assert [query.query_id for query in parts["en"].queries] == ["case-001", "case-003"]


def test_queries_without_a_language_cannot_be_split(tmp_path):
    path = tmp_path / "mixed.json"
    path.write_text(json.dumps([*MIXED, {"text": "x", "hpo_ids": ["HP:0001250"]}]), "utf-8")
    with pytest.raises(FormatError, match=r"1.*mixed\.json"):
        split_languages(load_test_set(path), "mixed.json")


def test_a_folder_implies_the_language_of_its_sets(tmp_path, monkeypatch):
    case = {"text": "Kleinwuchs", "expected_hpo_ids": ["HP:0004322"]}
    (tmp_path / "german").mkdir()
    path = tmp_path / "german" / "cases.json"
    path.write_text(json.dumps([case]), "utf-8")
    assert load_test_set(path).metadata.language == "de"
    monkeypatch.chdir(tmp_path / "german")
    assert load_test_set("cases.json").metadata.language == "de"
    assert load_test_set("cases.json", language="nl").metadata.language == "nl"
    # The file decides if it declares a language.
    path.write_text(json.dumps([{**case, "language": "en"}]), "utf-8")
    assert languages_in(load_test_set(path)) == {"en": 1}
