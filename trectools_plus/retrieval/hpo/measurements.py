"""Find values of quantities in a query, and the terms of those that are not normal.

A measurement is a quantity with a value and a unit (*Hb 7.2 g/dl*), a percentile (*height below the
3rd centile*) or standard deviations (*OFC +3 SD*). ``data/quantities.tsv`` has the names of
quantities in five languages, their units, the limits of normal values, and the terms beyond them.
The limits are wide, because a normal value has no term: those of adults, or of the age at which the
quantity is usually measured. Values that depend on the age (*height 110 cm*) have no limits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

from trectools_plus.retrieval.hpo.glossary import fold_letters
from trectools_plus.retrieval.hpo.tables import read_rows

Limits = tuple[tuple[float, str], ...]
"""Limits, each with the term of values beyond it, the mildest first."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity with the limits of its normal values.

    Attributes:
        units: The factor of each unit, by which a value is multiplied.
        default: The unit of a value without one; ``None`` if it would be ambiguous.
        low: Limits of values.
        high: Limits of values.
        sd_low: Limits in standard deviations.
        sd_high: Limits in standard deviations.
    """

    units: Mapping[str, float]
    default: str | None
    low: Limits
    high: Limits
    sd_low: Limits
    sd_high: Limits


@dataclass(frozen=True, slots=True)
class Measurement:
    """A value of a quantity.

    Attributes:
        term_id: Its term, the most severe one; empty if the value is normal, or its meaning is not
            clear.
        is_normal: Whether the value is certainly normal.
        text: The part of the query, in ASCII spelling.
    """

    term_id: str
    is_normal: bool
    text: str


_NUMBER = r"\d{1,3}(?:[ ,'’]\d{3})+(?![.,]?\d)|\d+(?:[.,]\d+)?"
_BELOW = (
    "<|≤|(?:below|under|less than|lower than|unter(?:halb)?|kleiner als|inferieure? a|sous|"
    "au-dessous d[ue]|moins de|por debajo del?|menor (?:que|de|a)|inferior al?|onder|lager dan)\\b"
)
_ABOVE = (
    ">|≥|(?:above|over|greater than|more than|higher than|exceeds|ueber|oberhalb|groesser als|"
    "superieure? a|au-dessus d[ue]|plus de|por encima del?|mayor (?:que|de|a)|superior al?|boven|"
    "hoger dan)\\b"
)
_SIGN = (
    rf"(?:(?P<below>{_BELOW})|(?P<above>{_ABOVE}))?\s*=?\s*"
    r"(?:(?:the|der|die|dem|das|le|la|el|de|het)\s+)?"
)
_PERCENTILE = "(?:(?:per)?centiles?|perzentilen?|percentil(?:es|en)?|percentiel(?:en)?)\\b|%ile"
_DECIMAL = r"\d+(?:[.,]\d+)?"
_ORDINAL = r"(?:st|nd|rd|th|e|er|eme|º|°|\.)?"
_RANGE = rf"(?:{_DECIMAL}\s*{_ORDINAL}\s*(?:-|to|and|bis|und|et|a|y|en|tot)\s*)?"
"""The start of a range: *10th to* 25th centile."""
_SD = r"SDS?|DS|DE|z-?scores?|standard deviations?|standardabweichungen"
_UNIT = (
    r"(?:[x×*]\s*)?10\s?(?:\^|\*\*?|e)?\s?[39⁹³]\s?/\s?[uµμ]?l\b|%|°\s?[cf]\b|mm ?hg\b|"
    r"(?:/|per )\s?(?:min|[uµμ]l|mm3|mm³|nl)\b|[a-zµμ]+(?:/[a-zµμ]+[23²³]?)?\b"
)
_GAP = r"[^\d;.<>≤≥+-]{0,30}?"
"""Between a quantity and its value: *of*, *was*, *:*."""
_DEVIATIONS = (
    rf"{_SIGN}(?P<deviation>[+-]?\s*{_DECIMAL})\s*(?:{_SD})\b(?:\s+(?P<under>{_BELOW}))?",
    rf"{_SIGN}z(?:[- ]?score)?\s*(?:of|=|:|is)?\s*(?P<deviation>[+-]?\s*{_DECIMAL})\b",
    rf"{_SIGN}{_RANGE}(?P<percentile>{_DECIMAL})\s*{_ORDINAL}\s*(?:{_PERCENTILE})",
    rf"{_SIGN}(?:(?:{_PERCENTILE})\s*|P\s?)(?P<percentile>{_DECIMAL})\b",
)
_VALUE = rf"{_SIGN}(?P<value>{_NUMBER})(?:\s?/\s?(?P<second>\d+))?\s*(?P<unit>{_UNIT})?"
_AFTER = [re.compile(_GAP + pattern, re.IGNORECASE) for pattern in (*_DEVIATIONS, _VALUE)]
_AFTER_VALUE = [
    re.compile(rf"{_GAP}{_DECIMAL}\s?(?:c?m|mm|k?g)\b{_GAP}{pattern}", re.IGNORECASE)
    for pattern in _DEVIATIONS
]
"""A value without limits before its percentile: *98 cm (3rd centile)*."""
_BEFORE = [re.compile(f"{pattern}{_GAP}$", re.IGNORECASE) for pattern in _DEVIATIONS]
_LONGEST_ABBREVIATION = 4
"""Letter case counts in shorter names of quantities: *K*, *Na*."""
_PLAUSIBLE = 20.0
"""A value without a unit is at most this factor away from a limit."""
_UNIT_NAMES = [
    (re.compile(pattern), name)
    for pattern, name in (
        (r"\s", ""),
        ("°", ""),
        ("[µμ]|mc(?=[gl]\\b)", "u"),
        ("⁹", "9"),
        ("³", "3"),
        ("²", "2"),
        (r"^[x×*]?10(?:\^|\*\*?|e)?([39])", r"e\1"),
        ("^bpm$|^permin$", "/min"),
        ("^per|^/mm3$", "/"),
        ("^/$", "/ul"),
        ("^(m?)(?:iu|ui)/", r"\1u/"),
        ("^uu/ml$", "mu/l"),
        ("/hr?$", "/h"),
        ("^msec$", "ms"),
    )
]
_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-"))


def prepare(text: str) -> str:
    """Return a text in the spelling of :attr:`Measurement.text`."""
    return fold_letters(text.translate(_DASHES), keep_case=True)


def find_measurements(text: str) -> list[Measurement]:
    """Return the values in a text, in its order."""
    prepared = prepare(text)
    names = list(_names().finditer(prepared))
    found = []
    for index, name in enumerate(names):
        quantity = _quantities()[_name_key(name[0])]
        start = names[index - 1].end() if index else 0
        end = names[index + 1].start() if index + 1 < len(names) else len(prepared)
        patterns = _AFTER if quantity.low or quantity.high else [*_AFTER_VALUE, *_AFTER]
        matches = [pattern.match(prepared, name.end(), end) for pattern in patterns]
        if quantity.sd_low or quantity.sd_high:
            matches += [pattern.search(prepared, start, name.start()) for pattern in _BEFORE]
        value = next(filter(None, matches), None)
        if value is not None:
            term_id, is_normal = _judge(value, quantity)
            first, last = min(name.start(), value.start()), max(name.end(), value.end())
            found.append(Measurement(term_id, is_normal, prepared[first:last]))
    return found


def _judge(match: re.Match[str], quantity: Quantity) -> tuple[str, bool]:
    """Return the term of a value, or an empty text, and whether the value is normal."""
    parts = match.groupdict()
    below, above = bool(parts["below"]), bool(parts["above"])
    low, high = quantity.sd_low, quantity.sd_high
    if parts.get("value") is not None:
        low, high = quantity.low, quantity.high
        value = _value_of(parts["value"], parts["unit"], quantity)
    else:
        value = _deviation_of(parts)
    if value is None or not (low or high):
        return "", False
    if parts.get("deviation") is not None:
        # "more than 2 SD below the mean" is a distance.
        below, above = value < 0 and (below or bool(parts.get("under"))), above and value > 0
    # A limit is abnormal itself where the text says "below", and in standard deviations.
    is_included = parts.get("value") is None or below or above
    lower = [term for limit, term in low if value < limit or (is_included and value == limit)]
    upper = [term for limit, term in high if value > limit or (is_included and value == limit)]
    terms = (not above and lower) or (not below and upper)
    if not terms and parts.get("second"):
        limits = _quantities()["diastolic blood pressure"].high
        terms = [term for limit, term in limits if float(parts["second"]) > limit]
    return (terms[-1], False) if terms else ("", not (below or above))


def _deviation_of(parts: Mapping[str, str | None]) -> float | None:
    """Return a value in standard deviations from the mean; ``None`` if it is infinite."""
    if parts.get("percentile"):
        percentile = float((parts["percentile"] or "").replace(",", "."))
        return NormalDist().inv_cdf(percentile / 100) if 0 < percentile < 100 else None
    value = float(re.sub(r"\s", "", parts["deviation"] or "").replace(",", "."))
    return -abs(value) if parts.get("under") else value


def _value_of(number: str, unit: str | None, quantity: Quantity) -> float | None:
    """Return a value in the first unit; ``None`` if its unit is missing or another one."""
    value = _parse_number(number)
    name = (unit or "").casefold()
    for pattern, spelling in _UNIT_NAMES:
        name = pattern.sub(spelling, name)
    if name == "f" and "c" in quantity.units:
        return (value - 32) / 1.8
    if name in quantity.units:
        return value * quantity.units[name]
    is_other = name and any(name in other.units for other in _quantities().values())
    if is_other or quantity.default is None:
        return None
    limits = [limit for limit, _ in (*quantity.low, *quantity.high)]
    value *= quantity.units[quantity.default]
    is_plausible = min(limits) / _PLAUSIBLE <= value <= max(limits) * _PLAUSIBLE
    return value if is_plausible else None


def _parse_number(text: str) -> float:
    groups = re.split(r"[ ,.'’]", text)
    if len(groups) > 1 and groups[0] != "0" and all(len(group) == 3 for group in groups[1:]):
        return float("".join(groups))
    return float(text.replace(",", "."))


@cache
def _quantities() -> dict[str, Quantity]:
    """Return the quantities by their names."""
    found = {}
    for names, units, *limits in read_rows("quantities.tsv"):
        pairs = [unit.split("=") for unit in units.split()]
        default = next((unit.rstrip("*") for unit, _ in pairs if unit.endswith("*")), None)
        factors = {unit.rstrip("*"): float(factor) for unit, factor in pairs}
        pairs_of = ([one.partition(":")[::2] for one in text.split()] for text in limits)
        read = (tuple((float(limit), term_id) for limit, term_id in pairs) for pairs in pairs_of)
        quantity = Quantity(factors, default, *read)
        for name in names.split("|"):
            found[_name_key(fold_letters(name, keep_case=True))] = quantity
    return found


def _name_key(name: str) -> str:
    return name if len(name) <= _LONGEST_ABBREVIATION else name.casefold()


@cache
def _names() -> re.Pattern[str]:
    """Return a pattern of the names of all quantities, the longest first."""
    ordered = sorted(_quantities(), key=len, reverse=True)
    spelled = [
        re.escape(one) if len(one) <= _LONGEST_ABBREVIATION else f"(?i:{re.escape(one)})"
        for one in ordered
    ]
    return re.compile(rf"(?<![\w-])(?:{'|'.join(spelled)})(?![\w-])")
