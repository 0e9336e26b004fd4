"""Values in queries that are not normal, and their terms."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.retrieval.hpo.mentions import find_measurements

SHORT, TALL = "HP:0004322", "HP:0000098"
SMALL_HEAD, LARGE_HEAD = "HP:0000252", "HP:0000256"
LIGHT = "HP:0004325"
ANEMIA, FEW_PLATELETS, MANY_PLATELETS = "HP:0001903", "HP:0001873", "HP:0001894"


def terms(text: str) -> list[str]:
    return [value.term_id for value in find_measurements(text) if value.term_id]


@pytest.mark.parametrize(
    ("text", "term_id"),
    [
        ("height < 3rd percentile", SHORT),
        ("height below the 3rd centile", SHORT),
        ("below the 3rd centile for height", SHORT),
        ("Height at the 1st percentile", SHORT),
        ("height > 97th percentile", TALL),
        ("height -3 SD", SHORT),
        ("height \u22122.5 SDS", SHORT),
        ("height 2 SD below the mean", SHORT),
        ("height is more than 2 standard deviations below the mean", SHORT),
        ("height z-score of -2.4", SHORT),
        ("height -4.5 SD", "HP:0003510"),
        ("OFC +3 SD", LARGE_HEAD),
        ("OFC P97", LARGE_HEAD),
        ("head circumference 99th centile", LARGE_HEAD),
        ("HC -2.5 SDS", SMALL_HEAD),
        ("2 SD below the mean for weight", LIGHT),
        ("Größe unter der 3. Perzentile", SHORT),
        ("Kopfumfang < 3. Perzentile", SMALL_HEAD),
        ("Größe 98 cm (< 3. Perzentile)", SHORT),
        ("height 98 cm, weight 14.2 kg (-2.5 SD)", LIGHT),
        ("taille 98 cm (-3 DS)", SHORT),
        ("taille < 3e percentile", SHORT),
        ("périmètre crânien à -3 DS", SMALL_HEAD),
        ("talla por debajo del percentil 3", SHORT),
        ("lengte onder P3", SHORT),
        ("Hb 7.2 g/dl", ANEMIA),
        ("hemoglobin of 7.2 g/dL", ANEMIA),
        ("Hämoglobin 7,2 g/dl", ANEMIA),
        ("Hb 72 g/l", ANEMIA),
        ("Hb 7.2", ANEMIA),
        ("platelets 45 000/µl", FEW_PLATELETS),
        ("platelets 45,000/\u03bcL", FEW_PLATELETS),
        ("Thrombozyten 45.000/µl", FEW_PLATELETS),
        ("platelet count 45 x 10^9/L", FEW_PLATELETS),
        ("plaquettes 45 G/l", FEW_PLATELETS),
        ("platelets < 150 G/l", FEW_PLATELETS),
        ("platelets 812 000/µl", MANY_PLATELETS),
        ("sodium 125 mmol/l", "HP:0002902"),
        ("Na 125", "HP:0002902"),
        ("K 6.8 mmol/l", "HP:0002153"),
        ("glucose 30 mg/dl", "HP:0001943"),
        ("glucose 2.1 mmol/l", "HP:0001943"),
        ("TSH 25 mU/l", "HP:0002925"),
        ("TSH < 0.01 µU/ml", "HP:0031098"),
        ("QTc 510 ms", "HP:0005184"),
        ("QTc 0.51 s", "HP:0005184"),
        ("HbA1c 11%", "HP:0040217"),
        ("IQ of 62", "HP:0001256"),
        ("IQ 45", "HP:0002342"),
        ("BMI 34 kg/m²", "HP:0001513"),
        ("blood pressure 180/110 mmHg", "HP:0000822"),
        ("temperature 39.5 °C", "HP:0001945"),
        ("birth weight 1500 g", "HP:0001518"),
        ("birth weight below the 10th centile", "HP:0001518"),
    ],
)
def test_abnormal_values(text: str, term_id: str) -> None:
    assert terms(text) == [term_id]
    assert terms(f"Examination: {text}, otherwise well") == [term_id]


@pytest.mark.parametrize(
    "text",
    [
        "height 110 cm",  # depends on the age
        "weight 12 kg",
        "height at the 50th percentile",
        "height 110 cm (50th percentile)",
        "height > 3rd percentile",
        "height < 97th percentile",
        "OFC +1 SD",
        "Hb 14 g/dl",
        "Hb 14 mg/dl",  # another unit
        "Hb 7200",  # not plausible without a unit
        "glucose 30",  # mg/dl or mmol/l
        "platelets 250 000/µl",
        "ferritin < 1000 ng/ml",  # may be normal
        "Hb > 7 g/dl",
        "sodium 140 mmol/l",
        "hb",
        "na 125",  # abbreviations have their letter case
        "45 years old, height not measured",
        "P3",
        "type 2 diabetes",
        "",
    ],
)
def test_values_that_are_normal_or_unclear(text: str) -> None:
    assert terms(text) == []


def test_several_values_are_found_in_their_order() -> None:
    assert terms("HC P98, height P1; Hb 8.1 g/dL, sodium 140 mmol/l, ferritin 3 µg/L") == [
        LARGE_HEAD,
        SHORT,
        ANEMIA,
        "HP:0012343",
    ]


@given(st.floats(0.1, 60))
def test_each_value_of_a_quantity_is_low_normal_or_high(value: float) -> None:
    shown = f"{value:.1f}"
    found = terms(f"Hb {shown} g/dl")
    expected = [ANEMIA] if float(shown) < 11 else ["HP:0001900"] if float(shown) > 18 else []
    assert found == expected
    assert terms(f"Hb {shown.replace('.', ',')} g/dl") == expected


@given(st.floats(-9, 9))
def test_deviations_have_the_sign_of_their_term(value: float) -> None:
    shown = f"{value:+.1f}"
    found = terms(f"OFC {shown} SD")
    if abs(float(shown)) < 1.8:
        assert found == []
    if abs(float(shown)) >= 2:
        assert len(found) == 1
        assert (found[0] == LARGE_HEAD) == (float(shown) > 0)


NORMAL = [
    "height 50th centile",
    "height between the 10th and 25th centile",
    "height on 25th-50th centile",
    "Größe auf der 50. Perzentile",
    "taille au 50e percentile",
    "talla en el percentil 50",
    "lengte op P50",
    "weight 0 SD",
    "50th centile for weight",
    "OFC +0.3 SD",
    "Kopfumfang -0,5 SD",
    "head circumference at birth 35 cm",
    "birth weight 3400 g",
    "birth weight 3.4 kg",
    "birth weight 3,400 g",
    "Geburtsgewicht 3.400 g",
    "poids de naissance 3,2 kg",
    "birth weight 7.5 lb",
    "birth length 51 cm",
    "IQ 100",
    "IQ of 95-105",
    "blood pressure 120/80 mmHg",
    "BP 115/75",
    "QTc 410 ms",
    "QTc 0.41 s",
    "Hb 14 g/dl",
    "Hb 140 g/l",
    "Hb 8.7 mmol/l",
    "glucose 5 mmol/l",
    "creatinine 80 µmol/l",
    "sodium 140",
    "temperature 98.6 °F",
    "temperature 36,8 °C",
    "TSH 2.1 mU/l",
    "platelets 250 000/µl",
]


@pytest.mark.parametrize("text", NORMAL)
def test_normal_values_have_no_term(text: str) -> None:
    (value,) = find_measurements(text)
    assert (value.term_id, value.is_normal) == ("", True)


@pytest.mark.parametrize("text", ["height 110 cm", "Hb 14 mg/dl", "glucose 30", "Hb > 7 g/dl"])
def test_the_meaning_of_other_values_is_not_clear(text: str) -> None:
    (value,) = find_measurements(text)
    assert (value.term_id, value.is_normal) == ("", False)


def test_the_second_value_of_a_blood_pressure_counts() -> None:
    assert terms("blood pressure 130/95 mmHg") == ["HP:0005117"]


@given(st.text(max_size=80))
def test_any_text_is_read(text: str) -> None:
    for value in find_measurements(text):
        assert re.fullmatch(r"HP:\d{7}|", value.term_id)
        assert value.text
