"""Sentences as in clinical texts: the assertions of their findings, in order.

``A`` is affirmed, ``N`` negated, ``U`` uncertain, ``O`` of another person. The findings are in
braces.
"""

import re

import pytest

from trectools_plus.extraction.assertion import assert_mentions
from trectools_plus.extraction.predictions import Mention

FINDING = re.compile(r"\{(.*?)\}")
LETTERS = {"affirmed": "A", "negated": "N", "uncertain": "U", "other_person": "O"}

PATIENTS_WHO_ARE_SIBLINGS = [
    ("AA", "These are two siblings with {seizures} and {ataxia}."),
    ("A", "Patient 1 and 2 are two sisters with {hypotonia}."),
    ("A", "Patients 1 and 2 are brothers who presented with {deafness}."),
    ("AA", "We report two brothers with {microcephaly} and {short stature}."),
    ("A", "We describe three affected siblings with {cleft palate}."),
    ("A", "Here we present two sisters who have {scoliosis}."),
    ("A", "The patients are monozygotic twins, twin sisters with {polydactyly}."),
    ("AA", "We studied two siblings. Both siblings had {hypotonia} and {seizures}."),
    ("A", "The two sibs presented at birth with {jaundice}."),
    ("A", "This report concerns a brother and sister with {retinitis pigmentosa}."),
    ("A", "Patient 2, the younger brother of patient 1, had {seizures}."),
    ("A", "Patient 2 is the sister of patient 1 and has {ataxia}."),
    ("A", "Both affected siblings have {intellectual disability}."),
    ("A", "Proband 1 and her affected sister (patient 2) had {hypotonia}."),
    ("O", "Her older sister died of {cardiomyopathy} at 2 months."),
    ("O", "One of his sisters had {cleft palate}."),
    ("O", "He has two siblings with {asthma}."),
    ("A", "Two cousins, patients 3 and 4, showed {macrocephaly}."),
]
RELATIVE_BUT_NOT_A_PERSON = [
    ("A", "{Decreased height} with relative sparing of the head."),
    ("A", "There was relative {decreased height}."),
    ("A", "He has relative {macrocephaly}."),
    ("A", "A relative {lymphopenia} was found."),
    ("A", "The relative risk was high; {hypertension} was present."),
    ("A", "{Weight loss} relative to his peers."),
    ("O", "A relative had {epilepsy}."),
    ("O", "A distant relative with {epilepsy} was mentioned."),
    ("A", "He was adopted; foster mother noticed {clumsiness}."),
    ("A", "The child was breastfed by the mother and had {failure to thrive}."),
    ("A", "She is the mother of two children and has {migraine}."),
    ("A", "Daughter cells were normal, but {anemia} was present."),
]
LISTS = [
    ("AA", "He had {hypotonia}, {seizures} and absent eye contact."),
    ("AA", "Findings: {microcephaly}, {ataxia}, absent tears."),
    ("NA", "{Fever} was absent, and {rash} was seen on the trunk."),
    ("NNN", "No {fever}, {cough} or {rash}."),
    ("NNN", "Denies {chest pain}, {dyspnea}, or {palpitations}."),
    ("NN", "Negative for {nausea} and {vomiting}."),
    ("NNN", "There were no {tremor}, {dystonia}, or {chorea} on examination."),
    ("NN", "Neither {cataract} nor {glaucoma} was found."),
    ("NN", "Without {edema} or {cyanosis}."),
    ("NNA", "No {edema}, no {cyanosis}, but {clubbing} of the fingers."),
    ("AN", "{Hepatomegaly} without {splenomegaly}."),
    ("ANN", "{Headache} without {nausea} or {vomiting}."),
    ("NN", "{Cataract} and {glaucoma} were not seen."),
    ("NNN", "{Cyanosis}, {clubbing} and {edema} absent."),
    ("NN", "The abdomen was soft with no {hepatomegaly} or {ascites}."),
    ("NNNA", "ROS: no {fever}, no {chills}, no {weight loss}; positive for {fatigue}."),
    ("NNN", "HEENT: negative for {hearing loss}, {tinnitus}, {vertigo}."),
    ("NN", "Unremarkable for {rash} or {petechiae}."),
    ("AAN", "Positive for {cough} and {fever}, negative for {dyspnea}."),
    ("NN", "Cranial nerves intact, no {nystagmus}, no {ptosis}."),
]
NEW_VERBS = [
    ("NA", "The newborn did not {pass meconium} and developed {jaundice}."),
    ("NA", "He did not have {fever} and presented with {seizures}."),
    ("NA", "She had no {fever} and was noted to have a {rash}."),
    ("NA", "There was no {fever}, and the liver was palpable with {ascites}."),
    ("NA", "He denied {headache} and complained of {vertigo}."),
    ("NA", "No {hepatomegaly} was noted, and examination showed {scoliosis}."),
    ("NA", "She never developed {speech} and suffers from {constipation}."),
    ("NA", "He has no {hearing loss} and wears glasses for {myopia}."),
    ("NA", "MRI did not show {atrophy} and revealed {polymicrogyria}."),
    ("NA", "There were no {seizures}, she then lost weight and became {anemic}."),
    ("A", "She does not tolerate milk and vomits because of {gastroesophageal reflux}."),
    ("A", "He cannot walk unaided and uses a wheelchair for {spasticity}."),
    ("NA", "{Seizures} were excluded and he was treated for {constipation}."),
]
CONTRASTS = [
    ("NA", "No {fever} although {rash} was present."),
    ("NA", "No {seizures}; however, {hypotonia} persisted."),
    ("AN", "{Hypotonia} is present, although {weakness} is absent."),
    ("A", "Normal examination without abnormalities except for {clinodactyly}."),
    ("A", "No dysmorphic features apart from {low-set ears}."),
    ("A", "He has no complaints other than {fatigue}."),
    ("A", "The examination was unremarkable except {hypertelorism}."),
    ("NA", "He has no {ataxia}, yet his {tremor} is severe."),
    ("NA", "Without {hearing loss} despite {microtia}."),
    ("NA", "He had no {wheezing} but marked {stridor}."),
    ("A", "There was nothing abnormal except mild {ptosis}."),
    ("A", "Aside from {obesity}, no abnormalities were found."),
    ("AN", "With the exception of {strabismus}, there was no {eye abnormality}."),
]
PREGNANCY = [
    ("O", "During pregnancy, the mother had {hypertension}."),
    ("OO", "The pregnancy was complicated by {gestational diabetes} and {preeclampsia}."),
    ("O", "Her pregnancy with him was complicated by {hypertension}."),
    ("O", "The mother developed {preeclampsia} at 32 weeks of gestation."),
    ("O", "{Hypothyroidism} in the mother was treated during pregnancy."),
    ("O", "{Fever} in the mother during the third trimester."),
    ("O", "The mother was treated for {depression} while pregnant."),
    ("OA", "The pregnancy was complicated by {preeclampsia}; the baby had {hypotonia}."),
    ("A", "The pregnancy was complicated by {polyhydramnios}."),
    ("A", "Prenatal ultrasound showed {ventriculomegaly}."),
    ("A", "He was born after an uneventful pregnancy and had {cyanosis}."),
    ("O", "Delivery was by caesarean section because of maternal {hypertension}."),
    ("O", "The mother, who suffered from {hyperemesis}, was 30 years old."),
    ("O", "Maternal {preeclampsia} led to premature delivery."),
]
DOUBLE_NEGATION = [
    ("A", "There was no absence of {reflexes}."),
    ("U", "We cannot rule out {epilepsy}."),
    ("U", "A {cardiac defect} could not be ruled out."),
    ("U", "{Autism} has not been ruled out."),
    ("A", "He is not without {pain}."),
    ("A", "She was never free of {seizures}."),
    ("A", "He did not deny {headaches}."),
    ("A", "There has been no resolution of his {hypotonia}."),
    ("A", "Examination was not negative for {rash}."),
    ("A", "{Seizures} have not resolved."),
    ("A", "The {tremor} never disappeared."),
    ("A", "He does not lack {strength problems}."),
    ("A", "The patient has not been free from {fever}."),
    ("U", "EEG did not exclude {epilepsy}."),
    ("U", "Cannot exclude {pneumonia}."),
    ("U", "{Myopathy} is not excluded."),
    ("A", "There is no denying that she has {ataxia}."),
    ("A", "It is not true that he has no {seizures}."),
    ("A", "Hardly a day without {seizures}."),
    ("A", "No day passed without {vomiting}."),
    ("A", "The {rash} did not go away."),
    ("A", "There was no remission of {proteinuria}."),
    ("A", "{Diarrhea} was not absent."),
    ("A", "She no longer denies {headache}."),
    ("A", "{Jaundice} did not clear."),
    ("A", "No relief of {pain} was achieved."),
]
CONDITIONS = [
    ("U", "Should {seizures} occur, give diazepam."),
    ("U", "If he develops {fever}, bring him to the hospital."),
    ("U", "In case of {fever}, paracetamol is recommended."),
    ("UU", "Return if {fever} or {vomiting} occurs."),
    ("U", "The doctor is to be called if {rash} appears."),
    ("U", "Monitor for {hypoglycemia}."),
    ("U", "Call the clinic if there is any {bleeding}."),
    ("U", "Parents were told to watch for {lethargy}."),
    ("U", "Seek medical attention in the event of {dyspnea}."),
    ("U", "He will be screened for {diabetes} every year."),
    ("U", "Annual screening for {nephroblastoma} is recommended."),
    ("U", "Surveillance for {hearing loss} was planned."),
    ("U", "She is at risk of {arrhythmia}."),
    ("U", "Unless {fever} develops, no antibiotics are needed."),
    ("U", "When {seizures} occur, rectal diazepam should be given."),
    ("U", "Evaluate for {scoliosis} at each visit."),
    ("U", "Follow up for possible {cataract}."),
    ("U", "Precautions against {aspiration} were discussed."),
    ("AU", "He has {hypotonia}; return if {seizures} start."),
    ("AU", "{Fever} was present; if {rash} develops, stop the drug."),
    ("U", "Please return to the emergency department for {chest pain}."),
    ("U", "She should be tested for {celiac disease}."),
    ("U", "If {ataxia} is confirmed, MRI will be done."),
    ("A", "Parents asked if his {deafness} is inherited."),
    ("U", "Provided that no {fever} occurs, vaccination is possible."),
]
UNCERTAINTY = [
    ("U", "Suspected {mitochondrial disease}."),
    ("U", "Possible {absence seizures} were described."),
    ("U", "The picture is consistent with possible {dystonia}."),
    ("U", "Findings are concerning for {leukodystrophy}."),
    ("U", "There is a question of {hearing loss}."),
    ("U", "{Craniosynostosis} was considered."),
    ("U", "{Autism} is likely."),
    ("U", "He probably has {asthma}."),
    ("U", "She may have {sleep apnea}."),
    ("U", "It is unclear whether he has {epilepsy}."),
    ("U", "Presumed {sepsis}."),
    ("U", "Question of {coarctation}."),
    ("U", "Equivocal {splenomegaly}."),
    ("U", "Apparent {life-threatening event} is suspected."),
]
ENDED = [
    ("N", "{Sepsis} was ruled out."),
    ("A", "History of {febrile seizures}."),
    ("A", "She has a history of {constipation}."),
    ("A", "Past medical history is significant for {asthma}."),
    ("N", "{Diaphragmatic hernia} was not seen on ultrasound."),
    ("N", "{Clonus} could not be elicited."),
    ("N", "{Nystagmus} was not appreciated."),
    ("N", "He is without {fever}."),
    ("N", "He is afebrile and has no {cough}."),
    ("N", "EEG showed no {epileptiform discharges}."),
    ("N", "Tests were negative for {thrombophilia}."),
    ("N", "Work-up excluded {hypothyroidism}."),
    ("N", "There has been no {regression}."),
    ("N", "He had not experienced {syncope}."),
    ("N", "{Seizures} have never been reported."),
    ("N", "No {hearing loss} to date."),
    ("N", "The spine showed no {scoliosis} or other abnormality."),
    ("N", "Not known to have {diabetes}."),
    ("N", "{Fever}: no."),
    ("N", "Failed to demonstrate {hydronephrosis}."),
    ("N", "He is not {obese}."),
    ("N", "Nor did he have {cataract}."),
    ("N", "{Cleft palate} (-)."),
]
FAMILY = [
    ("O", "Family history of {breast cancer}."),
    ("O", "Family history is notable for {sudden death}."),
    ("OO", "FH: father {hypertension}, mother {asthma}."),
    ("O", "His father died of {myocardial infarction} at 40."),
    ("O", "There is {deafness} on the paternal side."),
    ("AO", "He has {seizures}, as well as a sister with {seizures}."),
    ("A", "His mother says he has {insomnia}."),
    ("A", "Parents report {constipation} since birth."),
    ("A", "His parents are healthy; he has {ataxia}."),
    ("A", "{Fever} was reported by the father."),
    ("O", "The maternal grandfather has {Parkinson disease}."),
    ("OA", "Her father has {myopia}; she has {astigmatism}."),
]
SENTENCES = [
    *PATIENTS_WHO_ARE_SIBLINGS,
    *RELATIVE_BUT_NOT_A_PERSON,
    *LISTS,
    *NEW_VERBS,
    *CONTRASTS,
    *PREGNANCY,
    *DOUBLE_NEGATION,
    *CONDITIONS,
    *UNCERTAINTY,
    *ENDED,
    *FAMILY,
]


@pytest.mark.parametrize(("assertions", "marked"), SENTENCES)
def test_findings_in_clinical_sentences(assertions, marked):
    text, mentions, end = "", [], 0
    for match in FINDING.finditer(marked):
        text += marked[end : match.start()]
        places = frozenset([len(text)])
        mentions.append(Mention("X", len(text), len(text + match[1]), places, 1.0, "dictionary"))
        text += match[1]
        end = match.end()
    text += marked[end:]
    found = assert_mentions(text, mentions)
    assert "".join(LETTERS[one.assertion] for one in found) == assertions
