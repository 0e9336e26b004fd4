"""Find values in a query that are not normal, and their terms.

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
from functools import lru_cache
from statistics import NormalDist

from trectools_plus.retrieval.rewording.glossary import fold_letters
from trectools_plus.retrieval.rewording.tables import read_rows

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
    """A value that is not normal.

    Attributes:
        term_id: Its term, the most severe one.
        text: The part of the query, in ASCII spelling.
    """

    term_id: str
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
_SD = r"SDS?|DS|DE|z-?scores?|standard deviations?|standardabweichungen"
_UNIT = (
    r"(?:[x×*]\s*)?10\s?(?:\^|\*\*?|e)?\s?[39⁹³]\s?/\s?[uµμ]?l\b|%|°\s?c\b|mm ?hg\b|"
    r"(?:/|per )\s?(?:min|[uµμ]l|mm3|mm³|nl)\b|[a-zµμ]+(?:/[a-zµμ]+[23²³]?)?\b"
)
_GAP = r"[^\d;.<>≤≥+-]{0,30}?"
"""Between a quantity and its value: *of*, *was*, *:*."""
_DEVIATIONS = (
    rf"{_SIGN}(?P<deviation>[+-]?\s*{_DECIMAL})\s*(?:{_SD})\b(?:\s+(?P<under>{_BELOW}))?",
    rf"{_SIGN}z(?:[- ]?score)?\s*(?:of|=|:|is)?\s*(?P<deviation>[+-]?\s*{_DECIMAL})\b",
    rf"{_SIGN}(?P<percentile>{_DECIMAL})\s*(?:st|nd|rd|th|e|er|eme|º|°|\.)?\s*(?:{_PERCENTILE})",
    rf"{_SIGN}(?:(?:{_PERCENTILE})\s*|P\s?)(?P<percentile>{_DECIMAL})\b",
)
_VALUE = rf"{_SIGN}(?P<value>{_NUMBER})(?:\s?/\s?\d+)?\s*(?P<unit>{_UNIT})?"
_AFTER = [re.compile(_GAP + one, re.IGNORECASE) for one in (*_DEVIATIONS, _VALUE)]
_BEFORE = [re.compile(f"{one}{_GAP}$", re.IGNORECASE) for one in _DEVIATIONS]
_LONGEST_ABBREVIATION = 4
"""Letter case counts in shorter names of quantities: *K*, *Na*."""
_PLAUSIBLE = 20.0
"""A value without a unit is at most this factor away from a limit."""
_UNIT_NAMES = [
    (re.compile(pattern), name)
    for pattern, name in (
        (r"\s", ""),
        ("[µμ]|mc(?=[gl]\\b)|°(?=c)", "u"),
        ("^uc$", "c"),
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


def find_measurements(text: str) -> list[Measurement]:
    """Return the values in a text that are not normal, in the order of the text."""
    prepared = fold_letters(text.translate(_DASHES), keep_case=True)
    names = list(_names().finditer(prepared))
    found = []
    for index, name in enumerate(names):
        quantity = _quantities()[_name_key(name[0])]
        start = names[index - 1].end() if index else 0
        end = names[index + 1].start() if index + 1 < len(names) else len(prepared)
        matches = [one.match(prepared, name.end(), end) for one in _AFTER]
        if quantity.sd_low or quantity.sd_high:
            matches += [one.search(prepared, start, name.start()) for one in _BEFORE]
        value = next(filter(None, matches), None)
        term_id = None if value is None else _term_of(value, quantity)
        if value is not None and term_id is not None:
            first, last = min(name.start(), value.start()), max(name.end(), value.end())
            found.append(Measurement(term_id, prepared[first:last]))
    return found


def _term_of(match: re.Match[str], quantity: Quantity) -> str | None:
    """Return the term of a value; ``None`` if it is normal, or its meaning is not clear."""
    parts = match.groupdict()
    low, high = quantity.sd_low, quantity.sd_high
    below, above = bool(parts["below"]), bool(parts["above"])
    if parts.get("value") is not None:
        low, high = quantity.low, quantity.high
        value = _value_of(parts["value"], parts["unit"], quantity)
        if value is None:
            return None
    elif parts.get("percentile") is not None:
        percentile = float(parts["percentile"].replace(",", "."))
        if not 0 < percentile < 100:
            return None
        value = NormalDist().inv_cdf(percentile / 100)
    else:
        value = float(re.sub(r"\s", "", parts["deviation"]).replace(",", "."))
        if parts.get("under"):
            value, below, above = -abs(value), True, False
        below, above = below and value < 0, above and value > 0
    # A limit is abnormal itself where the text says "below", and in standard deviations.
    is_included = parts.get("value") is None or below or above
    lower = [term for limit, term in low if value < limit or (is_included and value == limit)]
    upper = [term for limit, term in high if value > limit or (is_included and value == limit)]
    if lower and not above:
        return lower[-1]
    return upper[-1] if upper and not below else None


def _value_of(number: str, unit: str | None, quantity: Quantity) -> float | None:
    """Return a value in the first unit; ``None`` if its unit is missing or another one."""
    value = _parse_number(number)
    name = (unit or "").casefold()
    for pattern, spelling in _UNIT_NAMES:
        name = pattern.sub(spelling, name)
    if name in quantity.units:
        return value * quantity.units[name]
    if name in _all_units() or quantity.default is None:
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


@lru_cache(maxsize=1)
def _quantities() -> dict[str, Quantity]:
    """Return the quantities by their names."""
    found = {}
    for names, units, *limits in read_rows("quantities.tsv"):
        pairs = [unit.split("=") for unit in units.split()]
        default = next((unit.rstrip("*") for unit, _ in pairs if unit.endswith("*")), None)
        factors = {unit.rstrip("*"): float(factor) for unit, factor in pairs}
        quantity = Quantity(factors, default, *map(_read_limits, limits))
        for name in names.split("|"):
            found[_name_key(fold_letters(name, keep_case=True))] = quantity
    return found


def _read_limits(text: str) -> Limits:
    return tuple(
        (float(limit), term_id)
        for limit, _, term_id in (one.partition(":") for one in text.split())
    )


@lru_cache(maxsize=1)
def _all_units() -> frozenset[str]:
    return frozenset(unit for one in _quantities().values() for unit in one.units if unit)


def _name_key(name: str) -> str:
    return name if len(name) <= _LONGEST_ABBREVIATION else name.casefold()


@lru_cache(maxsize=1)
def _names() -> re.Pattern[str]:
    """Return a pattern of the names of all quantities, the longest first."""
    ordered = sorted(_quantities(), key=len, reverse=True)
    spelled = [
        re.escape(one) if len(one) <= _LONGEST_ABBREVIATION else f"(?i:{re.escape(one)})"
        for one in ordered
    ]
    return re.compile(rf"(?<![\w-])(?:{'|'.join(spelled)})(?![\w-])")
