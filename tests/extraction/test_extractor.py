import pytest
from harness.retrievers import Stand

from trectools_plus.errors import UsageError
from trectools_plus.extraction.extractor import Extractor
from trectools_plus.extraction.report import make_extraction_settings


def extractor(ontology, retriever=None, **values):
    values.setdefault("method", "both" if retriever else "dictionary")
    return Extractor(ontology, make_extraction_settings(values), retriever=retriever)


def test_assertions_are_aggregated_over_mentions(ontology):
    found = extractor(ontology).extract("No seizures at first. Seizures later. No VSD.")
    by_term = {one.term_id: one for one in found}
    assert (by_term["X:4"].assertion, by_term["X:4"].count) == ("affirmed", 1)
    assert by_term["X:4"].spans == ((22, 30),)
    assert by_term["X:6"].assertion == "negated"


def test_any_retriever_over_terms_or_names_can_be_given(ontology):
    retriever = Stand("fixed", ["X:2", "X:4#7", "unknown"], [0.9, 0.8, 0.7])
    found = extractor(ontology, retriever, verify=False, method="retrieval").extract("Some text.")
    assert [(one.term_id, round(one.score, 3)) for one in found] == [("X:2", 0.9), ("X:4", 0.8)]
    assert [texts for texts, _ in retriever.asked] == [("Some text.",)]


def test_thresholds(ontology):
    retriever = Stand("fixed", ["X:2", "X:4", "X:7"], [0.9, 0.8, 0.3])

    def terms(**values):
        given = {"verify": False, "method": "retrieval", "min_confidence": 0.0} | values
        return [one.term_id for one in extractor(ontology, retriever, **given).extract("Text.")]

    assert terms(chunk_threshold=0) == ["X:2", "X:4", "X:7"]
    assert terms(chunk_threshold=0.5) == ["X:2", "X:4"]
    assert terms(chunk_threshold=0, num_results=1) == ["X:2"]
    assert terms(chunk_threshold=0, top_term_only=True) == ["X:2"]
    assert terms(chunk_threshold=0, min_confidence=0.85) == ["X:2"]


def test_retrieval_adds_to_the_dictionary_and_never_replaces(ontology):
    text = "severe anemia and colobomas of the retina"
    retriever = Stand("fixed", ["X:2", "X:7"], [0.99, 0.98])
    both = extractor(ontology, retriever).extract(text)
    assert {one.term_id for one in both} == {"X:2", "X:8"}
    drowned = extractor(ontology, retriever, verify=False, method="retrieval").extract(text)
    assert {one.term_id for one in drowned} == {"X:2", "X:7"}


def test_verified_retrieval_wants_the_words(ontology):
    retriever = Stand("fixed", ["X:2", "X:4"], [0.99, 0.98])
    found = extractor(ontology, retriever, method="retrieval").extract("coloboma, retinal coloboma")
    assert [(one.term_id, one.spans) for one in found] == [("X:2", ((10, 26),))]


def test_another_confidence_gives_what_a_new_extractor_would(ontology):
    text = "A fit. Severe anemia."
    first = Extractor(ontology, make_extraction_settings({"method": "dictionary"}))
    first.extract(text)
    for least in (0.0, 0.5, 0.6):
        fresh = extractor(ontology, min_confidence=least)
        first.settings = fresh.settings
        assert first.extract(text) == fresh.extract(text)


def test_the_vector_retriever_is_built_over_names(ontology):
    found = Extractor(ontology).extract("Retinal colobomas, ocular abnormality.")
    assert {one.term_id for one in found} == {"X:1", "X:2"}
    alone = extractor(ontology, method="retrieval").extract("Retinal colobomas.")
    assert [one.term_id for one in alone] == ["X:2"]


@pytest.mark.parametrize("values", [{"nonsense": 1}, {"num_results": 0}, {"min_confidence": 2}])
def test_wrong_settings_are_refused(values):
    with pytest.raises(UsageError):
        make_extraction_settings(values)
