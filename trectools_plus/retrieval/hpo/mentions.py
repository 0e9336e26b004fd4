"""Find terms that a text mentions in other words: lay words, abbreviations, and values.

A measurement is a quantity with a value and a unit (*Hb 7.2 g/dl*), a percentile (*height below the
3rd centile*) or standard deviations (*OFC +3 SD*). ``data/quantities.tsv`` has the names of
quantities in five languages, their units, the limits of normal values, and the terms beyond them.
The limits are wide, because a normal value has no term: those of adults, or of the age at which the
quantity is usually measured. Values that depend on the age (*height 110 cm*) have no limits.

``data/lay_terms.tsv`` has a phrase, a term and a language in each row. A phrase is found in a text
if the text contains its words, inflected or in another order, close to each other: *wets the bed*
in *she still wet her bed at night*. Abbreviations count only in the letter case of the table: *ID*
is not *id*.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from statistics import NormalDist

from trectools_plus.retrieval.hpo.glossary import fold_letters, read_rows
from trectools_plus.text import split_list
from trectools_plus.validation.texts import KNOWN_LANGUAGES

Limits = tuple[tuple[float, str], ...]
"""Limits, each with the term of values beyond it, the mildest first."""


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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
_AFTER = [_GAP + pattern for pattern in (*_DEVIATIONS, _VALUE)]
_AFTER_VALUE = [rf"{_GAP}{_DECIMAL}\s?(?:c?m|mm|k?g)\b{after}" for after in _AFTER[:-1]]
"""A value without limits before its percentile: *98 cm (3rd centile)*."""
_BEFORE = [f"{pattern}{_GAP}$" for pattern in _DEVIATIONS]
_LONGEST_ABBREVIATION = 4
"""Letter case counts in shorter names of quantities: *K*, *Na*."""
_PLAUSIBLE = 20.0
"""A value without a unit is at most this factor away from a limit."""
_UNIT_NAMES = (
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
_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-"))


def prepare(text: str) -> str:
    """Return a text in the spelling of :attr:`Measurement.text`."""
    return fold_letters(text.translate(_DASHES), keep_case=True)


def find_measurements(text: str) -> list[Measurement]:
    """Return the values in a text, in its order."""
    prepared = prepare(text)
    # Compiling the pattern of names takes longer than a search.
    names = list(_names().finditer(prepared)) if re.search(r"\d", prepared) else []
    measurements = []
    for index, name in enumerate(names):
        quantity = _quantities()[_name_key(name[0])]
        start = names[index - 1].end() if index else 0
        end = names[index + 1].start() if index + 1 < len(names) else len(prepared)
        patterns = _AFTER if quantity.low or quantity.high else [*_AFTER_VALUE, *_AFTER]
        matches = [
            re.compile(pattern, re.IGNORECASE).match(prepared, name.end(), end)
            for pattern in patterns
        ]
        if quantity.sd_low or quantity.sd_high:
            matches += [
                re.compile(pattern, re.IGNORECASE).search(prepared, start, name.start())
                for pattern in _BEFORE
            ]
        value = next(filter(None, matches), None)
        if value is not None:
            term_id, is_normal = _judge(value, quantity)
            first, last = min(name.start(), value.start()), max(name.end(), value.end())
            measurements.append(Measurement(term_id, is_normal, prepared[first:last]))
    return measurements


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
        name = re.sub(pattern, spelling, name)
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
    quantities = {}
    for names, units, *limits in read_rows("quantities.tsv"):
        pairs = [unit.split("=") for unit in units.split()]
        default = next((unit.rstrip("*") for unit, _ in pairs if unit.endswith("*")), None)
        factors = {unit.rstrip("*"): float(factor) for unit, factor in pairs}
        pairs_of = ([pair.partition(":")[::2] for pair in text.split()] for text in limits)
        read = (tuple((float(limit), term_id) for limit, term_id in pairs) for pairs in pairs_of)
        quantity = Quantity(factors, default, *read)
        for name in names.split("|"):
            quantities[_name_key(fold_letters(name, keep_case=True))] = quantity
    return quantities


def _name_key(name: str) -> str:
    return name if len(name) <= _LONGEST_ABBREVIATION else name.casefold()


@cache
def _names() -> re.Pattern[str]:
    """Return a pattern of the names of all quantities, the longest first."""
    ordered = sorted(_quantities(), key=len, reverse=True)
    spelled = [
        re.escape(name) if len(name) <= _LONGEST_ABBREVIATION else f"(?i:{re.escape(name)})"
        for name in ordered
    ]
    return re.compile(rf"(?<![\w-])(?:{'|'.join(spelled)})(?![\w-])")


_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_TOKEN = re.compile(r"[^\s,;:()\"]+")
_MAX_ABBREVIATION = 6
AMBIGUOUS = frozenset(split_list("TOF,UTI,UTIs,ID,MR,OA,PE,CHD,RTA,DD"))
"""Abbreviations with other meanings than the term of the table."""
_MAX_GAP = 2
"""Other words between those of a phrase."""
_LONGEST_ENDING = 4
"""A stemmer that removes more letters is wrong: it makes *over* of *overeating*."""
_FUNCTION_WORDS = frozenset(
    split_list(
        "a,an,the,his,her,my,our,their,its,your,he,she,it,they,i,we,you,him,them,me,us,this,that,"
        "these,those,is,are,was,were,be,been,being,am,has,have,had,having,do,does,did,of,in,on,at,"
        "to,from,with,by,for,and,or,as,i'm,he's,she's,it's,i've,there's"
    )
)
_LIGHT_WORDS = frozenset(
    split_list(
        "very,so,too,quite,rather,really,always,often,sometimes,all,most,some,any,again,just,also,"
        "still,then,when,while,baby,child,son,daughter,boy,girl,patient,kid,infant,newborn,man,"
        "woman,there,keep,keeps,get,gets,got,getting,go,goes,going,year,years,old,month,months,day,"
        "days,since,after,because"
    )
)
"""Words that do not count in the share of a text that a phrase covers."""


@dataclass(frozen=True)
class LayMatch:
    """A phrase of the table in a text.

    Attributes:
        term_id: Its term.
        share: The fraction of the text's words that belong to the phrase, above 0 and at most 1.
        words: The stems of the phrase.
    """

    term_id: str
    share: float
    words: frozenset[str]


@cache
def lay_rows() -> tuple[tuple[str, str, str], ...]:
    """Return the rows of the table: phrase, term id, and language, which is ``en`` by default."""
    return tuple(
        (phrase, term_id, language or "en")
        for phrase, term_id, _, language in read_rows("lay_terms.tsv")
    )


def lay_words() -> frozenset[str]:
    """Return the words of the English phrases, in ASCII spelling and lower case."""
    phrases = (phrase for phrase, _, language in lay_rows() if language == "en")
    return frozenset(_WORD.findall(" ".join(map(fold_letters, phrases))))


def is_abbreviation(phrase: str) -> bool:
    """Return whether letter case counts: a short word with at least two capitals."""
    return len(phrase) <= _MAX_ABBREVIATION and sum(map(str.isupper, phrase)) > 1


_SEPARATORS = re.compile(r"[\s_\-\u2010-\u2015\u2212]+")
_QUOTES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc", "'"))


def normalise_name(name: str) -> str:
    """Return a name in the form in which names are compared."""
    folded = (
        name.lower()
        if name.isascii()
        else unicodedata.normalize("NFKC", name).casefold().translate(_QUOTES)
    )
    return _SEPARATORS.sub(" ", folded).strip(" .?!'\"\u201c\u201d")


def terms_of_phrase(text: str, language: str | None = None) -> list[str]:
    """Return the terms of which a whole text is a lay word or abbreviation.

    Args:
        text: The text.
        language: The language of the lay words; any if ``None``.
    """
    rows = _by_phrase().get(normalise_name(text), ())
    same_case = text.strip(" .?!'\"")
    return list(
        dict.fromkeys(
            term_id
            for phrase, term_id, of_phrase in rows
            if language in (None, of_phrase)
            and (not is_abbreviation(phrase) or phrase == same_case)
        )
    )


@cache
def _by_phrase() -> dict[str, list[tuple[str, str, str]]]:
    by_phrase: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for row in lay_rows():
        by_phrase[normalise_name(row[0])].append(row)
    return by_phrase


class LayTerms:
    """The phrases of a language, for finding them in texts.

    Args:
        language: The language, as ISO 639-1 code.
    """

    def __init__(self, language: str) -> None:
        import Stemmer

        self._stemmer = Stemmer.Stemmer(KNOWN_LANGUAGES.get(language, "ENGLISH").lower())
        self._stem = lru_cache(1 << 16)(self._stem_of)
        self._language = language
        self._light = frozenset(map(self._stem, _LIGHT_WORDS))
        self._by_word: dict[str, list[tuple[frozenset[str], str]]] = defaultdict(list)
        self._abbreviations: dict[str, list[str]] = defaultdict(list)
        for phrase, term_id, of_phrase in lay_rows():
            if is_abbreviation(phrase):
                self._abbreviations[phrase].append(term_id)
            elif of_phrase == language:
                words = frozenset(self._words(phrase))
                if words:
                    self._by_word[min(words)].append((words, term_id))

    def find(self, text: str) -> list[LayMatch]:
        """Return the phrases in a text, without those whose words are part of another one."""
        words = self._words(text)
        total = self._count(words)
        known = frozenset(words)
        matches = [
            LayMatch(term_id, min(1.0, self._count(phrase) / total), phrase)
            for word in dict.fromkeys(words)
            for phrase, term_id in self._by_word.get(word, ())
            if phrase <= known and _are_near(phrase, words)
        ]
        matches += [
            LayMatch(term_id, min(1.0, 1 / total), frozenset({token}))
            for token in _TOKEN.findall(text)
            for term_id in self._abbreviations.get(token.rstrip("."), ())
        ]
        # Words that occur twice, and abbreviations of several words, are found only as a whole.
        matches += [
            LayMatch(term_id, 1.0, known) for term_id in terms_of_phrase(text, self._language)
        ]
        return [
            match for match in matches if not any(match.words < other.words for other in matches)
        ]

    def _count(self, words: Sequence[str] | frozenset[str]) -> float:
        heavy = sum(word not in self._light for word in words)
        return heavy or max(1, len(words)) / 2

    def _words(self, text: str) -> list[str]:
        """Return the stems of a text without function words, unless there are no others."""
        words = [word.replace("’", "'").casefold() for word in _WORD.findall(text)]
        content = [word for word in words if self._language != "en" or word not in _FUNCTION_WORDS]
        return [self._stem(word) for word in content or words]

    def _stem_of(self, word: str) -> str:
        stem: str = self._stemmer.stemWord(word)
        return fold_letters(word if len(stem) < len(word) - _LONGEST_ENDING else stem)


def _are_near(phrase: frozenset[str], words: Sequence[str]) -> bool:
    """Return whether a few neighbouring words contain all words of a phrase."""
    size = len(phrase) + _MAX_GAP
    starts = range(max(1, len(words) - size + 1))
    return any(phrase <= frozenset(words[start : start + size]) for start in starts)
