"""Short texts, and texts in languages without known negations, written for these tests."""

import pytest

ABSENT = """
Pas de strabismus. | Kein Strabismus | Sin ptosis | Geen nystagmus | No nystagmus | Strabismus: non
Nystagmus: nein | Ptosis: nee | Ni ptosis ni nystagmus | Weder Ptosis noch Nystagmus
Aucun nystagmus
Zonder ptosis | Ohne Nystagmus | Absence de scoliosis | Ptosis ausgeschlossen | Strabismus ausente
Nystagmus niet aanwezig | Keine Scoliosis | non ha nystagmus, ptosis | Senza strabismus o ptosis
Nessun nystagmus | Nega strabismus e ptosis | Non presenta nystagmus né ptosis
Não tem nystagmus nem ptosis | Sem strabismus, sem ptosis | Nenhum strabismus
Nie ma nystagmus ani ptosis | Bez strabismus | Pacjent nie ma nystagmus | Ingen ptosis
Ingen nystagmus eller ptosis | Har inte nystagmus | Inga tecken till strabismus | Utan ptosis
Nystagmus yok | Strabismus ve ptosis yoktur | Hastada nystagmus saptanmadi | Nu are nystagmus
Nemá nystagmus ani ptosis | Ikke nystagmus | Nincs nystagmus | Tidak ada nystagmus
Il paziente non ha mai avuto nystagmus o ptosis | Barnet har ingen strabismus och ingen ptosis
"""
PRESENT = """
Strabismus, ptosis | Nystagmus | Bilateral ptosis | Tetralogy of Fallot | He has strabismus.
Horizontal nystagmus since birth | Noted strabismus | Congenital ptosis, short stature
Cutis marmorata | Ataxia telangiectasia | MRI: cerebellar hypoplasia | Marked hypotonia
Seizures from age 3
"""


def sentences_of(text: str) -> list[str]:
    return [sentence.strip() for sentence in text.strip().replace("\n", "|").split("|")]


@pytest.fixture(scope="module")
def extractor(extractors):
    return extractors["abstract"]


@pytest.mark.parametrize("sentence", sentences_of(ABSENT))
def test_a_finding_that_is_absent_is_never_present(extractor, sentence):
    assert "affirmed" not in {mention.assertion for mention in extractor.mentions(sentence)}


@pytest.mark.parametrize("sentence", sentences_of(PRESENT))
def test_a_short_text_is_read(extractor, sentence):
    assert {mention.assertion for mention in extractor.mentions(sentence)} == {"affirmed"}


@pytest.mark.parametrize("sentence", ["Senza strabismus o ptosis", "Bez strabismus"])
def test_a_language_without_negations_is_not_extracted(extractor, sentence):
    assert not extractor.languages_of(sentence)
    assert not extractor.mentions(sentence)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Kein Strabismus, keine Ptosis.", {"Strabismus": "negated", "Ptosis": "negated"}),
        ("Bei der Mutter besteht ein Diabetes mellitus.", {"Diabetes mellitus": "other_person"}),
        ("No seizures. mild ataxia.", {"Seizure": "negated", "Ataxia": "affirmed"}),
        ("Pacjent nie ma oczopląsu. Rozpoznano Nystagmus.", {}),
        (
            "Absence of seizures. Absence of reflexes.",
            {"Seizure": "negated", "Areflexia": "affirmed"},
        ),
    ],
)
def test_assertions_of_languages(extractor, text, terms):
    found = extractor.extract(text)
    assert {one.label: one.assertion for one in found} == terms
