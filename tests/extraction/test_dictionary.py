import pytest

from trectools_plus.errors import UsageError
from trectools_plus.extraction.dictionary import Dictionary
from trectools_plus.extraction.words import eligible_terms, names_of


@pytest.fixture(scope="module")
def names(ontology):
    return names_of(ontology, eligible_terms(ontology))


def found(names, text, **settings):
    return {
        (mention.term_id, text[mention.start : mention.end])
        for mention in Dictionary(names, **settings).find(text)
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A retinal coloboma.", {("X:2", "retinal coloboma")}),
        ("colobomas of the retina", {("X:2", "colobomas of the retina")}),
        ("Ocular abnormalities", {("X:1", "Ocular abnormalities")}),
        ("Severe anaemia", {("X:8", "Severe anaemia")}),  # and not the anemia inside it
        ("severe pain, anemia", {("X:7", "anemia")}),
        ("severe. Anemia", {("X:7", "Anemia")}),
        ("severe, anemia", {("X:7", "anemia")}),  # no name is written with this comma
        ("nausea and vomiting", {("X:9", "nausea and vomiting")}),
        ("a VSD was seen", {("X:6", "VSD")}),
        ("a vsd was seen", set()),
        ("AB", set()),
        ("retinoblastoma", set()),
    ],
)
def test_names_are_found_in_other_order_and_form(names, text, expected):
    assert found(names, text) == expected


def test_coordinated_names_leave_out_a_word(names):
    text = "retinal and optic nerve coloboma"
    assert {term for term, _ in found(names, text)} == {"X:2", "X:3"}
    assert found(names, "retinal detachment coloboma") == set()


def test_lay_words_have_short_abbreviations(names):
    assert [one.term_id for one in Dictionary((), further=names).find("AB")] == ["X:6"]


def test_confidence_falls_with_the_number_of_terms_meant(names):
    mentions = Dictionary(names).find("A fit.")
    assert {(one.term_id, one.confidence) for one in mentions} == {("X:4", 0.5), ("X:7", 0.5)}


def test_terms_below_a_root(ontology):
    assert eligible_terms(ontology, "X:1") == {"X:2", "X:3"}
    with pytest.raises(UsageError, match="X:99"):
        eligible_terms(ontology, "X:99")


def test_an_abbreviation_that_the_text_defines_otherwise_is_no_name(names):
    assert found(names, "Violent sleep disorder (VSD). VSD improved.") == set()
    assert {term for term, _ in found(names, "a cardiac defect (VSD)")} == {"X:6"}
