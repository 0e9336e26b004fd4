"""Assertions in German, French, Spanish and Dutch, written for these tests.

``A`` is affirmed, ``N`` negated, ``U`` uncertain, ``O`` of another person. The findings are in
braces.
"""

import re

import pytest

from trectools_plus.extraction.assertion import assert_mentions
from trectools_plus.extraction.inputs.predictions import Mention

FINDING = re.compile(r"\{(.*?)\}")
LETTERS = {"affirmed": "A", "negated": "N", "uncertain": "U", "other_person": "O"}

SENTENCES = {
    "de": [
        ("NN", "Kein {Strabismus}, keine {Ptosis}."),
        ("N", "{Diabetes mellitus} wurde ausgeschlossen."),
        ("O", "Bei der Mutter besteht ein {Diabetes mellitus}."),
        ("N", "Ein {Nystagmus} war nicht nachweisbar."),
        ("N", "{Krampfanfälle} sind bislang nicht aufgetreten."),
        ("N", "{Fieberkrämpfe} traten nie auf."),
        ("NA", "Ohne {Hepatomegalie}, aber mit {Splenomegalie}."),
        ("NN", "Weder {Gaumenspalte} noch {Lippenspalte}."),
        ("U", "Verdacht auf {Epilepsie}."),
        ("U", "V. a. {Epilepsie} seit dem 3. Lebensjahr."),
        ("U", "Eine {Kardiomyopathie} kann nicht ausgeschlossen werden."),
        ("N", "Eine {Kardiomyopathie} konnte ausgeschlossen werden."),
        ("N", "Die Mutter verneint {Krampfanfälle}."),
        ("A", "Die Mutter berichtet über häufige {Stürze}."),
        ("A", "Laut der Eltern bestehen {Schlafstörungen}."),
        ("O", "Sein Bruder leidet an {Epilepsie}."),
        ("O", "{Taubheit} in der Familie."),
        ("O", "{Skoliose} bei der Großmutter väterlicherseits."),
        ("OA", "Der Vater hat eine {Myopie}. Der Patient zeigt eine {Hyperopie}."),
        ("N", "{Hernie}: keine."),
        ("NN", "Nicht vorhanden: {Katarakt}, {Glaukom}."),
        ("N", "Kein Anhalt für {Herzfehler}."),
        ("N", "Es besteht keine {Kleinwüchsigkeit}."),
        ("A", "Es besteht eine {Kleinwüchsigkeit}."),
        ("NA", "Keine {Anfälle}. {Hypotonie} besteht seit Geburt."),
        ("A", "Gesunde Eltern, das Kind hat eine {Mikrozephalie}."),
        ("A", "Der Junge hat immer noch eine {Ptosis}."),
        ("A", "Im Alter von 2 J. Auftreten von {Ataxie}."),
        ("N", "Sie hat nie {Krampfanfälle} gehabt."),
        ("OO", "Familienanamnese: {Epilepsie} beim Onkel, {Diabetes}."),
        ("A", "Familienanamnese unauffällig. {Polydaktylie} rechts."),
        ("A", "{Ptosis} nicht selten mit Kopfschmerz."),
        ("N", "Es fanden sich keine Hinweise auf eine {Hydronephrose}."),
        ("U", "Bei Auftreten von {Fieber} Vorstellung in der Klinik."),
        ("N", "{Zyanose} wurde nicht beobachtet."),
        ("N", "Eine {Spastik} liegt nicht vor."),
        ("N", "Nicht beobachtet wurde eine {Zyanose}."),
        ("NN", "Es bestehen weder {Taubheit} noch {Blindheit}."),
    ],
    "fr": [
        ("N", "Il n'a pas de {nystagmus}."),
        ("N", "Elle ne présente pas de {strabisme}."),
        ("NN", "Pas de {fente palatine} ni de {fente labiale}."),
        ("N", "Absence d'{épilepsie}."),
        ("N", "Aucune {malformation cardiaque} n'a été retrouvée."),
        ("NA", "Sans {hépatomégalie} mais avec une {splénomégalie}."),
        ("N", "La {surdité} a été exclue."),
        ("N", "Les {crises} n'ont jamais été observées."),
        ("N", "{Cyanose} : absente."),
        ("NN", "Non retrouvés : {cataracte}, {glaucome}."),
        ("U", "Suspicion d'{épilepsie}."),
        ("U", "Une {cardiomyopathie} ne peut pas être exclue."),
        ("U", "{Cardiopathie} à exclure."),
        ("O", "Sa mère souffre d'un {diabète}."),
        ("O", "{Surdité} chez le père."),
        ("O", "Antécédents familiaux de {scoliose}."),
        ("OA", "Son frère a une {myopie}. Le patient présente une {hypermétropie}."),
        ("A", "Selon la mère, il existe des {troubles du sommeil}."),
        ("A", "La mère rapporte des {chutes} fréquentes."),
        ("A", "On note une {microcéphalie}."),
        ("A", "L'enfant a une {hypotonie}."),
        ("A", "Parents sains, fillette avec une {polydactylie}."),
        ("A", "Il a toujours une {ptose}."),
        ("N", "La patiente nie toute {céphalée}."),
        ("U", "Consulter en cas de {fièvre}."),
        ("N", "Examen cardiaque sans {souffle}."),
        ("N", "Il n'a pas été retrouvé de {scoliose}."),
        ("U", "La {cardiopathie} n'a pas été exclue."),
        ("NA", "Pas de {fièvre}. {Toux} depuis un mois."),
    ],
    "es": [
        ("N", "No tiene {nistagmo}."),
        ("NN", "Sin {estrabismo} ni {ptosis}."),
        ("N", "Se descartó {diabetes mellitus}."),
        ("N", "La {cardiopatía} fue descartada."),
        ("N", "Niega {convulsiones}."),
        ("N", "Ausencia de {paladar hendido}."),
        ("N", "Nunca ha tenido {crisis}."),
        ("N", "Las {convulsiones} nunca han ocurrido."),
        ("N", "{Cianosis}: no."),
        ("NN", "No observados: {catarata}, {glaucoma}."),
        ("NA", "No presenta {hepatomegalia}, pero tiene {esplenomegalia}."),
        ("U", "Sospecha de {epilepsia}."),
        ("U", "No se puede descartar {miocardiopatía}."),
        ("O", "Su madre padece {diabetes}."),
        ("O", "{Sordera} en el padre."),
        ("O", "Antecedentes familiares de {escoliosis}."),
        ("OA", "El hermano tiene {miopía}. El paciente presenta {hipermetropía}."),
        ("A", "Según la madre presenta {trastorno del sueño}."),
        ("A", "La madre refiere {caídas} frecuentes."),
        ("A", "Se observa {microcefalia}."),
        ("A", "El niño tiene {hipotonía}."),
        ("A", "Padres sanos; niña con {polidactilia}."),
        ("N", "No se han detectado {anomalías renales}."),
        ("U", "Acudir en caso de {fiebre}."),
        ("A", "Presenta, sin embargo, {ataxia}."),
    ],
    "nl": [
        ("N", "Hij heeft geen {nystagmus}."),
        ("NN", "Geen {strabismus} of {ptosis}."),
        ("NN", "Zonder {hepatomegalie} en zonder {splenomegalie}."),
        ("N", "{Diabetes mellitus} werd uitgesloten."),
        ("N", "{Epilepsie} is nooit opgetreden."),
        ("N", "Een {hartafwijking} werd niet gezien."),
        ("N", "{Cyanose}: nee."),
        ("NN", "Afwezig: {cataract}, {glaucoom}."),
        ("NA", "Geen {koorts}, maar wel {hoesten}."),
        ("U", "Verdenking op {epilepsie}."),
        ("U", "Een {cardiomyopathie} kan niet worden uitgesloten."),
        ("O", "Zijn moeder heeft {diabetes}."),
        ("O", "{Doofheid} bij de vader."),
        ("O", "Familieanamnese: {scoliose}."),
        ("OA", "De broer heeft {myopie}. De patiënt heeft {hypermetropie}."),
        ("A", "Volgens de moeder heeft hij {slaapproblemen}."),
        ("A", "Moeder meldt frequent {vallen}."),
        ("A", "Er is een {microcefalie}."),
        ("A", "Gezonde ouders, het kind heeft {polydactylie}."),
        ("A", "Hij heeft nog steeds {hypotonie}."),
        ("N", "Geen aanwijzingen voor {scoliose}."),
        ("U", "Contact opnemen bij verdenking op {sepsis}."),
    ],
}


@pytest.mark.parametrize(
    ("language", "expected", "sentence"),
    [(language, *case) for language, cases in SENTENCES.items() for case in cases],
)
def test_a_sentence_in_another_language(language, expected, sentence):
    text = FINDING.sub(r"\1", sentence)
    mentions, removed = [], 0
    for number, match in enumerate(FINDING.finditer(sentence)):
        start = match.start() - removed
        end = start + len(match[1])
        removed += 2
        mentions.append(Mention(f"X:{number}", start, end, frozenset({start}), 1.0))
    found = assert_mentions(text, mentions, language)
    assert "".join(LETTERS[one.assertion] for one in found) == expected
