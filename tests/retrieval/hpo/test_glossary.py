"""Glossaries: words are split into stems, and texts are translated word by word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.retrieval.hpo.glossary import Glossary, included_glossary
from trectools_plus.retrieval.hpo.ontology_terms import GLOSSARY_LANGUAGES

ENTRIES = {
    "gaumen": "palate",
    "spalte": "cleft",
    "zahn": "tooth",
    "zaehne": "teeth",
    "schmerz": "pain",
    "herz": "heart",
    "herzfehler": "heart defect",
    "fehler": "defect",
    "muskel": "muscle",
    "schwaeche": "weakness",
    "fortschreitend": "progressive",
    "grauer star": "cataract",
    "der": "",
}
GERMAN = Glossary(ENTRIES, "de")
words = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=24)
stems = st.sampled_from([stem for stem, english in ENTRIES.items() if english and " " not in stem])


@given(stems, stems, st.sampled_from(["", "s", "n", "en", "er", "es"]))
def test_compounds_are_split_whatever_links_them(first: str, second: str, link: str) -> None:
    translated = GERMAN.translate(first + link + second)
    assert translated.known == 1
    parts = [ENTRIES[first], ENTRIES[second]]
    assert sorted(translated.text.split()) == sorted(" ".join(parts).split())


@given(stems, st.sampled_from(["", "e", "n", "en", "er", "es", "s"]))
def test_endings_do_not_matter(stem: str, ending: str) -> None:
    assert GERMAN.translate(stem + ending).text == ENTRIES[stem]


@given(st.text(max_size=60))
def test_every_text_is_translated(text: str) -> None:
    translated = GERMAN.translate(text)
    assert 0 <= translated.known <= 1
    assert translated == GERMAN.translate(text)


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("Gaumenspalte", "palate cleft"),
        ("Gaumenspalten", "palate cleft"),
        ("GAUMENSPALTE", "palate cleft"),
        ("Zähne", "teeth"),
        ("Za\u0308hne", "teeth"),
        ("Zaehne", "teeth"),
        ("Zahnschmerzen", "tooth pain"),
        ("fortschreitende Muskelschwäche", "progressive muscle weakness"),
        ("Herzfehler", "heart defect"),  # the longest stem, not its parts
        ("der graue Star", "graue star"),  # a phrase is not inflected
        ("grauer Star", "cataract"),
        ("septumspalte", "septum cleft"),  # the rest of a word remains
        ("renale Spalte", "renal cleft"),  # with an English ending
        ("alveoläre Spalte", "alveolar cleft"),
        ("Typ 2", "typ 2"),
        ("", ""),
    ],
)
def test_translations(text: str, english: str) -> None:
    assert GERMAN.translate(text).text == english


def test_the_known_share_counts_letters() -> None:
    assert GERMAN.translate("gaumen qqqqqq").known == pytest.approx(0.5)
    assert GERMAN.translate("qqqqqq").known == 0
    assert GERMAN.translate("der gaumen").known == 1


def test_short_stems_count_only_in_words_that_are_known_completely() -> None:
    glossary = Glossary({"arm": "arm", "bein": "leg", "an": "at"}, "de")
    assert glossary.translate("armbein").text == "arm leg"
    assert glossary.translate("qqqarmqqq").text == "qqqarmqqq"
    assert glossary.translate("anbein").text == "anbein"
    assert glossary.translate("an bein").text == "at leg"


@pytest.mark.parametrize("language", ["fr", "es"])
def test_romance_languages_have_no_compounds(language: str) -> None:
    glossary = Glossary({"mano": "hand", "pie": "foot"}, language)
    assert glossary.translate("manopie").text == "manopie"
    assert glossary.translate("manos").text == "hand"


def test_spanish_stop_words_are_no_stems() -> None:
    assert Glossary({"una": "nail"}, "es").translate("una uña").text == "nail"


@pytest.mark.parametrize("language", GLOSSARY_LANGUAGES)
def test_the_included_glossaries_are_read(language: str) -> None:
    glossary = included_glossary(language)
    assert glossary.language == language
    assert included_glossary(language) is glossary


@pytest.mark.parametrize("language", ["en", "it", "", "../x"])
def test_other_languages_have_no_glossary(language: str) -> None:
    assert included_glossary(language) is None
