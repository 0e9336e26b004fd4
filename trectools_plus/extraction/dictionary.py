"""Find the names of terms in a text: the same content words, in any order and with any ending.

Each name is indexed by its rarest stem. For every word of a clause, the names indexed by its stem,
or by the stem of a learnt variation, are candidates. A candidate matches if its stems are those of
neighbouring content words.

A clause is read in several ways, because words may stand between those of a name, or be left out:

* without words that only specify a finding (*both*, *mild*, *left*);
* with the words that a part of a coordination shares with another part (*short hands and feet*).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from trectools_plus.extraction.inputs.predictions import Mention, longest_only
from trectools_plus.extraction.names import Key, Name, WordReplacements, other_forms
from trectools_plus.extraction.segmentation import (
    CONJUNCTIONS,
    Word,
    chunk,
    fold,
    words_of,
)

_MIN_STEM_LENGTH = 3
_MIN_TRUST = 0.3
"""Variations with a lower trust are not tried."""
_TRUST_IN_ENDINGS = 0.9
_MIN_TRUST_SHARED = 0.8
"""The minimum trust in a variation whose words stand in two parts of a coordination."""
_MAX_SHARED_WORDS = 3
_MAX_GAP = 3
"""The number of words of a part that another part may replace."""
_MAX_PARTS = 4
"""The number of parts of a coordination over which words are shared."""
_COMMON_STEMS = frozenset(
    {"alon", "arrang", "collect", "corn", "cut", "fall", "hop", "int", "inter", "jump", "order"}
    | {"prop", "sort", "tear", "tire", "intel"}
)
"""Words of general English, which only in its very form are the name of a term (*falls*)."""
_DEFINITION = re.compile(r"\b(\w)[\w-]*(?: [\w-]+){1,6} \((?P<short>\1[a-z]{1,7})\)", re.IGNORECASE)
"""An abbreviation after the words it stands for: *autism spectrum disorder (ASD)*."""
_SEPARATING = frozenset({"with"})
"""Words between those of a name that keep their order."""
_ABSENCE_OF = re.compile(r"\babsen(?:ces?|t)\s+of\b", re.IGNORECASE)
_KIND_OF_ABSENCE = re.compile(r"\babsences?\b(?! of)", re.IGNORECASE)
"""*Absence* in a name that is a kind, as in *absence seizure*: *absence of seizures* is none."""
_QUANTIFIERS = frozenset(
    {"all", "any", "both", "each", "either", "every", "like", "many", "most", "multiple"}
    | {"often", "other", "several", "some", "such", "very"}
    | {"serum", "plasma", "circulating", "levels", "level"}
)


@dataclass(frozen=True, slots=True)
class _Match:
    """A mention, and the trust that its words are a name: 1 without a learnt variation."""

    mention: Mention
    trust: float
    is_shared: bool = False
    """True if the mention shares words with another part of a coordination."""


class Dictionary:
    """The names of terms, indexed for search.

    Args:
        names: The names.
        further: Names that are searched too, but from which no variation is learnt.
        shortest_abbreviation: Abbreviations with fewer letters are ignored.
        modifiers: Words in lower case that may stand between the words of a name.
        variations: Learn from the names which words and endings can replace each other.
    """

    def __init__(
        self,
        names: Sequence[Name],
        *,
        further: Sequence[Name] = (),
        shortest_abbreviation: int = 3,
        modifiers: Iterable[str] = (),
        variations: bool = True,
    ) -> None:
        self._modifiers = _QUANTIFIERS.union(modifiers)
        self._stems = {
            word: stem for name in names for word, stem in zip(name.words, name.stems, strict=True)
        }
        self._replacements = WordReplacements(names if variations else ())
        self._vary = variations
        self._abbreviations: dict[str, list[Name]] = defaultdict(list)
        self._names: dict[Key, list[Name]] = defaultdict(list)
        for name in (*names, *further):
            if name.is_abbreviation:
                if len(name.text.strip()) >= shortest_abbreviation:
                    self._abbreviations[name.text.strip()].append(name)
                continue
            key = tuple(sorted(name.stems))
            if len(key) > 1 or (key and len(key[0]) >= _MIN_STEM_LENGTH):
                self._names[key].append(name)
        frequency = Counter(stem for key in self._names for stem in set(key))
        self._by_rarest: dict[str, list[Key]] = defaultdict(list)
        for key in self._names:
            self._by_rarest[min(key, key=lambda stem: (frequency[stem], stem))].append(key)

    def find(self, text: str) -> list[Mention]:
        """Return the longest mentions in a text, in the order of the text.

        The confidence of a mention is 1 divided by the number of terms to which its words can
        refer: terms with this label; if there are none, terms with this exact synonym; if there are
        none either, terms with another synonym. It is multiplied by the trust in a variation.
        """
        found = list[_Match]()
        defined = {match["short"] for match in _DEFINITION.finditer(text)}
        for clause in chunk(text, "clause"):
            words = words_of(text, clause.start, clause.end)
            for word in words:
                named = () if word.text in defined else self._abbreviations.get(word.text, ())
                found += (_Match(one, 1.0) for one in _mentions([word], named, 1.0))
            found += self._find_in_clause(text, words)
        return sorted(_select(found), key=lambda m: (m.start, m.end, m.term_id))

    def _find_in_clause(self, text: str, words: Sequence[Word]) -> list[_Match]:
        found = list(self._matches(text, words))
        specific = [word for word in words if not self._is_modifier(word)]
        if len(specific) < len(words):
            found += self._matches(text, specific)
        complete = {place for one in found if one.trust == 1 for place in one.mention.words}
        for left, right, own in self._shared(_parts(text, words)):
            own_places = {word.start for word in own} - complete
            for one in self._matches_of([*left, *right]):
                if one.mention.words & own_places and not one.mention.words <= own_places:
                    found.append(one)
        return found

    def _matches(self, text: str, words: Sequence[Word]) -> Iterator[_Match]:
        """Yield the mentions in neighbouring words."""
        content = [word for word in words if word.stem]
        starts = [word.start for word in words]
        for window, key, order, trust in self._windows(content):
            begin = bisect_left(starts, window[0].start)
            between = words[begin : bisect_left(starts, window[-1].end)]
            names = _matching_names(text, between, order, self._names[key])
            trust = self._single_word_trust(window, key, trust, names)
            yield from (_Match(one, trust) for one in _mentions(window, names, trust))

    def _matches_of(self, content: Sequence[Word]) -> Iterator[_Match]:
        """Yield the mentions in words of two parts of a coordination.

        A variation must be reliable, and have the order of the name.
        """
        for window, key, order, trust in self._windows(content):
            if trust < _MIN_TRUST_SHARED:
                continue
            names = [one for one in self._names[key] if trust == 1 or one.stems == order]
            ordered = sorted(window, key=lambda word: word.start)
            for one in _mentions(ordered, names, trust):
                yield _Match(one, trust, is_shared=True)

    def _windows(
        self, content: Sequence[Word]
    ) -> Iterator[tuple[Sequence[Word], Key, tuple[str, ...], float]]:
        """Yield sequences of words that match a key, with their stems in order and the trust."""
        readings = [self._readings(word) for word in content]
        for index, stems in enumerate(readings):
            for stem in stems:
                for key in self._by_rarest.get(stem, ()):
                    size = len(key)
                    for first in range(max(0, index - size + 1), index + 1):
                        if first + size > len(content):
                            break
                        matched = _match(readings[first : first + size], key)
                        if matched is not None:
                            yield content[first : first + size], key, *matched

    def _single_word_trust(
        self, window: Sequence[Word], key: Key, trust: float, names: Sequence[Name]
    ) -> float:
        """Return the trust in a name of one word, whose ending is not confirmed by other words."""
        if len(key) > 1 or not names:
            return trust
        word = fold(window[0].text)
        forms = {word} if window[0].stem in _COMMON_STEMS else {word, *other_forms(word)}
        return trust if any(name.words[0] in forms for name in names) else 0.0

    def _is_modifier(self, word: Word) -> bool:
        """Return true if a word can stand between those of a name: a modifier, or an adverb."""
        folded = fold(word.text)
        is_adverb = folded.endswith("ly") and folded not in self._stems
        return is_adverb or folded in self._modifiers

    def _readings(self, word: Word) -> Mapping[str, float]:
        """Return the stems that a word can stand for, with the trust in each."""
        if not self._vary:
            return {word.stem: 1.0}
        found = dict(self._replacements.replacements(word.stem))
        for form in other_forms(fold(word.text)) & self._stems.keys():
            found[self._stems[form]] = _TRUST_IN_ENDINGS
        return {stem: t for stem, t in found.items() if t >= _MIN_TRUST} | {word.stem: 1.0}

    def _shared(
        self, parts: Sequence[_Part]
    ) -> Iterator[tuple[Sequence[Word], Sequence[Word], Sequence[Word]]]:
        """Yield words of two parts of a coordination, and those of the incomplete part.

        The part can miss its end (*retinal and optic nerve coloboma*, *low-set, rotated ears*,
        *mild to severe pain*) or its start (*parathyroid adenoma or hyperplasia*).
        """
        for index, part in enumerate(parts):
            for other in range(max(0, index - _MAX_PARTS), min(len(parts), index + _MAX_PARTS + 1)):
                low, high = sorted((index, other))
                between = [one.before for one in parts[low + 1 : high + 1]]
                if "to" in between and not (other > index and self._is_range(part, between)):
                    continue
                whole, own = parts[other].words, part.words
                for gap in range(1, _MAX_GAP + 1):
                    if other > index:
                        own = own[-_MAX_SHARED_WORDS:]
                        yield own, whole[gap : gap + _MAX_SHARED_WORDS], own
                    elif other < index and "and" in (one.before for one in parts[low + 1 :]):
                        own = own[:_MAX_SHARED_WORDS]
                        yield whole[:-gap][-_MAX_SHARED_WORDS:], own, own

    def _is_range(self, part: _Part, separators: Sequence[str]) -> bool:
        """Return true for the start of *mild to severe*: a modifier before a single *to*."""
        return len(separators) == 1 and bool(part.words) and self._is_modifier(part.words[-1])


def _match(
    readings: Sequence[Mapping[str, float]], key: Key
) -> tuple[tuple[str, ...], float] | None:
    """Return the stems that make words a name, in their order, and the trust.

    At most one word varies. ``None`` if the words are not the name.
    """
    needed = Counter(key)
    order, trust, varied = list[str](), 1.0, 0
    for stems in readings:
        possible = [(t, stem) for stem, t in stems.items() if needed[stem] > 0]
        if not possible:
            return None
        best, stem = max(possible)
        trust *= best
        varied += best < 1
        needed[stem] -= 1
        order.append(stem)
    if varied > 1:
        return None
    return tuple(order), trust


def _matching_names(
    text: str, between: Sequence[Word], order: tuple[str, ...], names: list[Name]
) -> list[Name]:
    """Return the names that match neighbouring content words.

    ``between`` contains all words of the text from the first to the last word.
    """
    has_comma = "," in text[between[0].start : between[-1].end]
    joined = "/" in text[between[0].start : between[-1].end] or any(
        word.text.lower() in CONJUNCTIONS for word in between
    )
    if _SEPARATING.isdisjoint(word.text.lower() for word in between):
        kept = names
    else:  # "infancy with failure to thrive" is not "failure to thrive in infancy"
        kept = [name for name in names if name.stems == order]
    if _ABSENCE_OF.search(text, between[0].start, between[-1].end):
        kept = [name for name in kept if not _KIND_OF_ABSENCE.search(name.text)]
    if not (has_comma or joined):
        return kept
    # There is a comma or "and" between the words: the name must contain it too.
    return [
        name
        for name in kept
        if name.stems == order
        and (name.has_comma or not has_comma)
        and (name.has_conjunction or not joined)
    ]


@dataclass(frozen=True, slots=True)
class _Part:
    """The content words of a part of a coordination, and the separator before it."""

    before: str
    words: list[Word]


def _parts(text: str, words: Sequence[Word]) -> list[_Part]:
    """Return the parts of a coordination; the separator is ``and``, ``to`` or a comma."""
    parts = [_Part("", [])]
    end = words[0].start if words else 0
    for word in words:
        between, lowered = text[end : word.start], word.text.lower()
        separator = "," if "," in between else ""
        if lowered in CONJUNCTIONS or "/" in between:
            separator = "and"
        elif lowered == "to":
            separator = "to"
        if separator and (parts[-1].words or separator == "and"):
            parts.append(_Part(separator, []))
        if word.stem:
            parts[-1].words.append(word)
        end = word.end
    return parts


def _mentions(window: Sequence[Word], names: Sequence[Name], trust: float) -> Iterator[Mention]:
    """Yield a mention for each term whose name has the best rank."""
    best_rank = min((name.rank for name in names), default=0)
    terms = dict.fromkeys(name.term_id for name in names if name.rank == best_rank)
    start, end = window[0].start, window[-1].end
    places = frozenset(word.start for word in window)
    for term_id in terms:
        yield Mention(term_id, start, end, places, trust / len(terms))


def _select(found: Iterable[_Match]) -> list[Mention]:
    """Return the longest mentions; a variation counts only where there is no mention without one.

    Of several variations of the same words, the most trusted ones count.
    """
    found = list(found)
    exact = {one.mention for one in found if one.trust == 1}
    best: dict[frozenset[int], float] = {}
    for one in found:
        places = one.mention.words
        best[places] = max(one.trust, best.get(places, 0.0))
    varied = {
        one.mention
        for one in found
        if one.trust < 1
        and one.trust == best[one.mention.words]
        and (one.is_shared or not any(_conflict(one.mention, other) for other in exact))
    }
    return longest_only(exact) + longest_only(varied)


def _conflict(varied: Mention, exact: Mention) -> bool:
    """Return true if two mentions have words in common, unless the exact one is the shorter one."""
    return not (exact.words < varied.words or exact.words.isdisjoint(varied.words))
