import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.extraction.assertion import assert_mentions
from trectools_plus.extraction.inputs.assertion_fields import ASSERTIONS
from trectools_plus.extraction.inputs.predictions import Mention


def mention(text, word):
    start = text.index(word)
    return Mention("X", start, start + len(word), frozenset([start]), 1.0)


@pytest.mark.parametrize(
    ("text", "assertion"),
    [
        ("He has FINDING.", "affirmed"),
        ("No FINDING.", "negated"),
        ("No fever, rash, or FINDING.", "negated"),
        ("There was no evidence of FINDING.", "negated"),
        ("The patient denies FINDING.", "negated"),
        ("FINDING was not seen.", "negated"),
        ("FINDING was ruled out.", "negated"),
        ("No fever but FINDING.", "affirmed"),
        ("No fever. FINDING.", "affirmed"),
        ("No fever; FINDING.", "affirmed"),
        ("Not only FINDING.", "affirmed"),
        ("With or without FINDING.", "affirmed"),
        ("She does not walk and at the age of ten FINDING.", "affirmed"),
        ("Without treatment FINDING may occur.", "affirmed"),
        ("May include FINDING.", "affirmed"),
        ("Possible FINDING.", "uncertain"),
        ("FINDING cannot be excluded.", "uncertain"),
        ("FINDING is suspected.", "uncertain"),
        ("His mother had FINDING.", "other_person"),
        ("His mother with FINDING died.", "other_person"),
        ("Family history of FINDING.", "other_person"),
        ("FINDING in his father.", "other_person"),
        ("Familial FINDING.", "affirmed"),
        ("No family history of FINDING.", "other_person"),
        ("Nothing of NOTE; FINDING", "affirmed"),
    ],
)
def test_what_sentences_say(text, assertion):
    assert [one.assertion for one in assert_mentions(text, [mention(text, "FINDING")])] == [
        assertion
    ]


FINDINGS = re.compile(
    "seizures|hypotonia|microcephaly|epilepsy|diabetes|ataxia|fever|rash|migraine"
)


def said_of_findings(text: str) -> str:
    """Return the assertions of the findings of a text, in order."""
    places = list(FINDINGS.finditer(text.lower()))
    mentions = [Mention("X", m.start(), m.end(), frozenset([m.start()]), 1.0) for m in places]
    return " ".join(one.assertion for one in assert_mentions(text, mentions))


@pytest.mark.parametrize(
    ("text", "assertions"),
    [
        ("His mother has seizures.", "other_person"),
        ("The father, who had seizures as a child, is well.", "other_person"),
        ("Mother had seizures.", "other_person"),
        ("His father has seizures.", "other_person"),
        ("Her brother has microcephaly.", "other_person"),
        ("The patient's sister was diagnosed with seizures.", "other_person"),
        ("A maternal grandmother with epilepsy.", "other_person"),
        ("He has a cousin who has seizures.", "other_person"),
        ("She has a cousin who had seizures.", "other_person"),
        ("Family history: epilepsy.", "other_person"),
        ("Family history is positive for epilepsy.", "other_person"),
        ("The family history is remarkable for seizures.", "other_person"),
        ("Family history was significant for seizures and migraine.", "other_person other_person"),
        ("Family history is notable for a brother with seizures.", "other_person"),
        ("There is a family history of seizures.", "other_person"),
        ("Seizures in the mother.", "other_person"),
        ("Both parents have seizures.", "other_person"),
        ("A sibling had seizures.", "other_person"),
        ("One sibling has seizures.", "other_person"),
        ("His aunt has seizures.", "other_person"),
        ("Two uncles had seizures.", "other_person"),
        ("The mother's seizures started at 20.", "other_person"),
        ("His mother has seizures but the patient has hypotonia.", "other_person affirmed"),
        ("His mother has seizures but he has hypotonia.", "other_person affirmed"),
        ("Her mother has seizures, and she has hypotonia.", "other_person affirmed"),
        ("His mother has seizures and the patient's hypotonia is severe.", "other_person affirmed"),
        ("The mother brought him because of seizures.", "affirmed"),
        ("Mother reports seizures.", "affirmed"),
        ("According to his mother he has seizures.", "affirmed"),
        ("According to the mother, seizures began at 3.", "affirmed"),
        ("His mother noticed hypotonia.", "affirmed"),
        ("The mother denies seizures.", "negated"),
        ("Unlike his brother, he has microcephaly.", "affirmed"),
        ("Unlike his brother, the boy has microcephaly.", "affirmed"),
        ("He was born to a healthy mother with hypotonia.", "affirmed"),
        ("She was born to a mother with diabetes.", "other_person"),
        ("He was born to a 30-year-old mother and had hypotonia.", "affirmed"),
        ("He was born to healthy consanguineous parents and has seizures.", "affirmed"),
        ("Seizures have been reported in his mother.", "other_person"),
        ("Epilepsy was diagnosed in her maternal aunt.", "other_person"),
        ("Mother with seizures.", "other_person"),
        ("Mother: seizures.", "other_person"),
        ("The mother had no seizures.", "other_person"),
        ("The mother of the patient had seizures.", "other_person"),
        ("The proband and his brother have hypotonia.", "affirmed"),
        ("His brother was reported to have seizures.", "other_person"),
        ("The parents are healthy and hypotonia was noted.", "affirmed"),
        ("His mother, who has seizures, reports hypotonia.", "other_person affirmed"),
        ("Parents report that their son has seizures.", "affirmed"),
        ("The parents were concerned about hypotonia.", "affirmed"),
        ("Mother and father report seizures.", "affirmed"),
        ("His mother has seizures but no hypotonia.", "other_person other_person"),
        ("Like his mother, he has seizures.", "affirmed"),
        ("Similar to his father, seizures began early.", "affirmed"),
        ("Although his mother has seizures, he has hypotonia.", "other_person affirmed"),
        ("He has hypotonia; his mother has seizures.", "affirmed other_person"),
        ("He has hypotonia and his mother has seizures.", "affirmed other_person"),
        ("In the mother, seizures began at 20.", "other_person"),
        ("Twin brother has seizures.", "other_person"),
        (
            "His maternal uncle and two cousins had seizures and hypotonia.",
            "other_person other_person",
        ),
        ("No family history of seizures.", "other_person"),
        ("Several relatives have epilepsy.", "other_person"),
        ("Seizures run in the family.", "other_person"),
        ("Epilepsy runs in the family.", "other_person"),
        ("Paternal grandfather died of seizures.", "other_person"),
        ("His parents, both with seizures, live abroad.", "other_person"),
        ("He lives with his mother and has seizures.", "affirmed"),
        ("Family history is unremarkable, hypotonia was present.", "affirmed"),
        ("A 3-year-old boy, son of healthy parents, with hypotonia.", "affirmed"),
        ("The mother gave birth to a boy with hypotonia.", "affirmed"),
        ("Mother states he has seizures.", "affirmed"),
        ("Mother stated that seizures started at birth.", "affirmed"),
        ("His mother had noticed hypotonia.", "affirmed"),
        ("The mother did not notice seizures.", "negated"),
        ("His sister, aged 5, has hypotonia and seizures.", "other_person other_person"),
        (
            "Sister: hypotonia, brother: seizures, patient: ataxia.",
            "other_person other_person affirmed",
        ),
        ("Her daughter has seizures.", "other_person"),
        ("His grandmother's epilepsy was treated.", "other_person"),
        ("The parents' seizures were mild.", "other_person"),
        ("His mother suffers from seizures.", "other_person"),
        ("His father is affected by seizures.", "other_person"),
        ("Seizures were reported by the mother.", "affirmed"),
        ("Seizures were noticed by his parents.", "affirmed"),
        ("His brother had microcephaly, while he had seizures.", "other_person affirmed"),
        ("Her mother and grandmother have migraine; she has ataxia.", "other_person affirmed"),
        ("The mother is a carrier and has seizures.", "other_person"),
        ("Maternal history is significant for seizures.", "other_person"),
        ("Mother has a history of epilepsy.", "other_person"),
        ("History of epilepsy in a paternal cousin.", "other_person"),
        ("Seizures in his older brother.", "other_person"),
        ("Hypotonia in the boy's mother.", "other_person"),
        ("The boy's mother has seizures.", "other_person"),
        ("His 5-year-old brother has hypotonia.", "other_person"),
        ("Seizures in the patient, hypotonia in the mother.", "affirmed other_person"),
        ("His mother takes valproate for seizures.", "other_person"),
        ("His mother has confirmed epilepsy.", "other_person"),
        ("Parents deny seizures.", "negated"),
        ("Mother has noticed seizures.", "affirmed"),
        ("The patient has seizures, as does his mother.", "affirmed"),
        ("His mother, of note, had seizures.", "other_person"),
        ("A brother and a sister with hypotonia.", "other_person"),
        (
            "He has hypotonia. His mother has seizures. He has ataxia.",
            "affirmed other_person affirmed",
        ),
        ("Her mother took her to clinic because of seizures.", "affirmed"),
        ("The proband's father had seizures.", "other_person"),
        ("Seizures in siblings.", "other_person"),
        ("Seizures in both parents.", "other_person"),
        ("Neither parent has seizures.", "other_person"),
        ("None of his relatives has seizures.", "other_person"),
        ("The parents have no seizures, he does.", "other_person"),
        ("Father is healthy; mother has migraine.", "other_person"),
        ("Father is healthy, mother has migraine.", "other_person"),
        ("His older brother also has seizures.", "other_person"),
        ("One of his brothers has seizures.", "other_person"),
        ("The brother of the proband had seizures.", "other_person"),
        ("The father's mother had seizures.", "other_person"),
    ],
)
def test_whose_findings_they_are(text, assertions):
    assert said_of_findings(text) == assertions


@pytest.mark.parametrize(
    ("text", "assertions"),
    [
        ("Hypotonia: none.", "negated"),
        ("Seizures: absent.", "negated"),
        ("Seizures: negative.", "negated"),
        ("Seizures: no.", "negated"),
        ("Seizures: denied.", "negated"),
        ("Seizures: not present.", "negated"),
        ("Seizures: none. Hypotonia: present.", "negated affirmed"),
        ("Hypotonia: none. Seizures: yes.", "negated affirmed"),
        ("hypotonia: none. seizures: yes.", "negated affirmed"),
        ("hypotonia: no, seizures: yes", "negated affirmed"),
        ("Hypotonia: no\nSeizures: yes", "negated affirmed"),
        ("Hypotonia: yes, seizures: no.", "affirmed negated"),
        ("Hypotonia: present, seizures: absent.", "affirmed negated"),
        ("Hypotonia - none.", "negated"),
        ("Hypotonia (absent).", "negated"),
        ("Seizures, hypotonia (absent).", "affirmed negated"),
        ("Hypotonia (-)", "negated"),
        ("There is no evidence of seizures.", "negated"),
        ("Rule out seizures.", "negated"),
        ("Seizures were ruled out.", "negated"),
        ("Seizures ruled out.", "negated"),
        ("Without seizures.", "negated"),
        ("He denies seizures.", "negated"),
        ("No history of seizures.", "negated"),
        ("He does not have seizures.", "negated"),
        ("She did not have seizures.", "negated"),
        ("She never had seizures.", "negated"),
        ("He has not had seizures.", "negated"),
        ("He doesn't have seizures.", "negated"),
        ("He hasn’t had any seizures.", "negated"),
        ("Seizures were present and hypotonia was absent.", "affirmed negated"),
        ("He denied seizures or hypotonia but has ataxia.", "negated negated affirmed"),
        ("There was no fever, rash, or hypotonia.", "negated negated negated"),
        ("Seizures: none reported.", "negated"),
        ("Hypotonia: None", "negated"),
        ("Hypotonia: not observed", "negated"),
        ("Neurological: no seizures, hypotonia.", "negated negated"),
        ("Negative for seizures.", "negated"),
        ("Seizures have never been observed.", "negated"),
    ],
)
def test_what_is_negated(text, assertions):
    assert said_of_findings(text) == assertions


def test_a_trigger_inside_a_mention_is_part_of_its_name():
    text = "Absent speech, seizures."
    found = assert_mentions(text, [mention(text, "Absent speech"), mention(text, "seizures")])
    assert [one.assertion for one in found] == ["affirmed", "affirmed"]


@given(st.text(alphabet="no tabsenf.,; \nwithout", max_size=80), st.data())
def test_every_mention_comes_back_once(text, data):
    words = [place for place, letter in enumerate(text) if letter.isalnum()]
    chosen = data.draw(st.lists(st.sampled_from(words), unique=True)) if words else []
    given_mentions = [Mention("X", at, at + 1, frozenset([at]), 1.0) for at in chosen]
    found = assert_mentions(text, given_mentions)
    assert sorted(one.start for one in found) == sorted(chosen)
    assert {one.assertion for one in found} <= set(ASSERTIONS)
