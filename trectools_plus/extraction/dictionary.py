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
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

from trectools_plus.extraction.words import (
    CONJUNCTIONS,
    Chunk,
    Key,
    Mention,
    Name,
    Word,
    chunk,
    fold,
    learn_replacements,
    longest_only,
    other_forms,
    words_of,
)

_MIN_STEM_LENGTH = 3
"""Letters of the shortest abbreviation of the ontology, and stem of a name of one word."""
_MIN_LAY_LENGTH = 2
"""Letters of the shortest abbreviation that is a lay word."""
_MIN_TRUST = 0.3
"""Variations with a lower trust are not tried."""
_TRUST_IN_ENDINGS = 0.9
_MIN_TRUST_SHARED = 0.8
"""The minimum trust in a variation whose words stand in two parts of a coordination."""
_MAX_SHARED_WORDS = 3
"""The number of words of a part that it shares, and that another part may replace."""
_MAX_PARTS = 4
"""The number of parts of a coordination over which words are shared."""
_COMMON_STEMS = frozenset(
    [
        "alon",
        "arrang",
        "collect",
        "corn",
        "cut",
        "fall",
        "hop",
        "int",
        "inter",
        "jump",
        "order",
        "prop",
        "sort",
        "tear",
        "tire",
        "intel",
    ]
)
"""Words of general English, which only in its very form are the name of a term (*falls*)."""
_DEFINITION = re.compile(r"\b(\w)[\w-]*(?: [\w-]+){1,6} \((?P<short>\1[a-z]{1,7})\)", re.IGNORECASE)
"""An abbreviation after the words it stands for: *autism spectrum disorder (ASD)*."""
_ABSENCE_OF = re.compile(r"\babsen(?:ces?|t)\s+of\b", re.IGNORECASE)
_KIND_OF_ABSENCE = re.compile(r"\babsences?\b(?! of)", re.IGNORECASE)
"""*Absence* in a name that is a kind, as in *absence seizure*: *absence of seizures* is none."""
_QUANTIFIERS = """
all any both each either every like many most multiple often other several some such very serum
plasma circulating levels level
"""


class _Match(NamedTuple):
    """A mention, and the trust that its words are a name: 1 without a learnt variation."""

    mention: Mention
    trust: float
    is_shared: bool
    """True if the mention shares words with another part of a coordination."""


class Dictionary:
    """The names of terms, indexed for search.

    Args:
        names: The names, from which variations are learnt: words and endings that can replace each
            other.
        further: Names that are searched too, without learning from them. Lay words alone can be
            shorter abbreviations.
        modifiers: Words in lower case that may stand between the words of a name.
    """

    def __init__(
        self,
        names: Sequence[Name],
        *,
        further: Sequence[Name] = (),
        modifiers: Iterable[str] = (),
    ) -> None:
        self._modifiers = frozenset(_QUANTIFIERS.split()).union(modifiers)
        self._stems = {
            word: stem for name in names for word, stem in zip(name.words, name.stems, strict=True)
        }
        self._replacements = learn_replacements(names)
        self._abbreviations: dict[str, list[Name]] = defaultdict(list)
        self._names: dict[Key, list[Name]] = defaultdict(list)
        shortest = _MIN_STEM_LENGTH if names else _MIN_LAY_LENGTH
        for name in (*names, *further):
            text, key = name.text.strip(), name.key
            if name.is_abbreviation and len(text) >= shortest:
                self._abbreviations[text].append(name)
            elif not name.is_abbreviation and (key[1:] or len("".join(key)) >= _MIN_STEM_LENGTH):
                self._names[key].append(name)
        frequency = Counter(stem for key in self._names for stem in set(key))
        self._by_rarest: dict[str, list[Key]] = defaultdict(list)
        for key in self._names:
            self._by_rarest[min(key, key=lambda stem: (frequency[stem], stem))].append(key)

    def find(self, text: str, part: Chunk | None = None) -> list[Mention]:
        """Return the longest mentions in a text or a phrase of it, in the order of the text.

        The confidence of a mention is 1 divided by the number of terms to which its words can
        refer: terms with this label; if there are none, terms with this exact synonym; if there are
        none either, terms with another synonym. It is multiplied by the trust in a variation.
        """
        matches = list[_Match]()
        defined = {match["short"] for match in _DEFINITION.finditer(text)}
        for clause in [part] if part else chunk(text, "clause"):
            words = words_of(text, clause.start, clause.end)
            for word in words:
                named = () if word.text in defined else self._abbreviations.get(word.text, ())
                matches += _matches_of([word], named, 1.0)
            matches += self._find_in_clause(text, words)
        return sorted(_select(matches), key=lambda m: (m.start, m.end, m.term_id))

    def _find_in_clause(self, text: str, words: Sequence[Word]) -> list[_Match]:
        matches = list(self._matches(text, words))
        specific = [word for word in words if not self._is_modifier(word)]
        if len(specific) < len(words):
            matches += self._matches(text, specific)
        complete = {place for match in matches if match.trust == 1 for place in match.mention.words}
        for completed, own in self._shared(_parts(text, words)):
            own_places = {word.start for word in own} - complete
            for match in self._matches(text, completed, is_shared=True):
                if match.mention.words & own_places and not match.mention.words <= own_places:
                    matches.append(match)
        return matches

    def _matches(
        self, text: str, words: Sequence[Word], *, is_shared: bool = False
    ) -> Iterator[_Match]:
        """Yield the mentions in neighbouring words, or in those of two parts of a coordination.

        In a coordination, a variation must be reliable, and have the order of the name.
        """
        for window, key, order, trust in self._windows([word for word in words if word.stem]):
            names = self._names[key]
            if not is_shared:
                first, last = window[0].start, window[-1].start
                between = [word for word in words if first <= word.start <= last]
                names = _matching_names(text, between, order, names)
                # The ending of a name of one word is not confirmed by other words.
                word = fold(window[0].text)
                forms = {word} if window[0].stem in _COMMON_STEMS else {word, *other_forms(word)}
                if len(key) == 1 and not any(name.words[0] in forms for name in names):
                    trust = 0.0
            elif trust < 1:
                is_reliable = trust >= _MIN_TRUST_SHARED
                names = [name for name in names if is_reliable and name.stems == order]
            yield from _matches_of(window, names, trust, is_shared=is_shared)

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

    def _is_modifier(self, word: Word) -> bool:
        """Return true if a word can stand between those of a name: a modifier, or an adverb."""
        folded = fold(word.text)
        is_adverb = folded.endswith("ly") and folded not in self._stems
        return is_adverb or folded in self._modifiers

    def _readings(self, word: Word) -> Mapping[str, float]:
        """Return the stems that a word can stand for, with the trust in each."""
        trusts = dict(self._replacements.get(word.stem, {}))
        for form in other_forms(fold(word.text)) & self._stems.keys():
            trusts[self._stems[form]] = _TRUST_IN_ENDINGS
        return {stem: t for stem, t in trusts.items() if t >= _MIN_TRUST} | {word.stem: 1.0}

    def _shared(self, parts: Sequence[_Part]) -> Iterator[tuple[Sequence[Word], Sequence[Word]]]:
        """Yield words of two parts of a coordination, and those of the incomplete part.

        The part can miss its end (*retinal and optic nerve coloboma*, *low-set, rotated ears*,
        *mild to severe pain*) or its start (*parathyroid adenoma or hyperplasia*).
        """
        separators = [part.before for part in parts]
        last_and = max(
            (n for n, separator in enumerate(separators) if separator == "and"), default=0
        )
        for index, other in permutations(range(len(parts)), 2):
            low, high = sorted((index, other))
            if high - low > _MAX_PARTS or (other < index and last_and <= low):
                continue
            own, whole = parts[index].words, parts[other].words
            is_range = other == index + 1 and bool(own) and self._is_modifier(own[-1])
            if not is_range and "to" in separators[low + 1 : high + 1]:
                continue
            for gap in range(1, _MAX_SHARED_WORDS + 1):
                if other > index:
                    own = own[-_MAX_SHARED_WORDS:]
                    yield [*own, *whole[gap : gap + _MAX_SHARED_WORDS]], own
                else:
                    own = own[:_MAX_SHARED_WORDS]
                    yield [*whole[:-gap][-_MAX_SHARED_WORDS:], *own], own


def _match(
    readings: Sequence[Mapping[str, float]], key: Key
) -> tuple[tuple[str, ...], float] | None:
    """Return the stems that make words a name, in their order, and the trust.

    At most one word varies. ``None`` if the words are not the name.
    """
    needed, order, trusts = Counter(key), list[str](), list[float]()
    for stems in readings:
        possible = [(trust, stem) for stem, trust in stems.items() if needed[stem] > 0]
        if not possible:
            return None
        trust, stem = max(possible)
        needed[stem] -= 1
        order.append(stem)
        trusts.append(trust)
    lowest, *others = sorted(trusts)
    return None if any(trust < 1 for trust in others) else (tuple(order), lowest)


def _matching_names(
    text: str, between: Sequence[Word], order: tuple[str, ...], names: list[Name]
) -> list[Name]:
    """Return the names that match neighbouring content words.

    A comma or *and* between the words must be in the name too, in the same order. *Infancy with
    failure to thrive* is not *failure to thrive in infancy*. ``between`` contains all words of the
    text from the first to the last word.
    """
    start, end = between[0].start, between[-1].end
    lowered = {word.text.lower() for word in between}
    has_comma = "," in text[start:end]
    joined = "/" in text[start:end] or not CONJUNCTIONS.isdisjoint(lowered)
    is_absence = _ABSENCE_OF.search(text, start, end) is not None
    keeps_order = has_comma or joined or "with" in lowered
    return [
        name
        for name in names
        if (name.stems == order or not keeps_order)
        and not (is_absence and _KIND_OF_ABSENCE.search(name.text))
        and (name.has_comma or not has_comma)
        and (name.has_conjunction or not joined)
    ]


class _Part(NamedTuple):
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


def _matches_of(
    window: Sequence[Word], names: Sequence[Name], trust: float, *, is_shared: bool = False
) -> Iterator[_Match]:
    """Yield a mention for each term whose name has the best rank."""
    best_rank = min((name.rank for name in names), default=0)
    terms = dict.fromkeys(name.term_id for name in names if name.rank == best_rank)
    start, end = min(word.start for word in window), max(word.end for word in window)
    places = frozenset(word.start for word in window)
    for term_id in terms:
        mention = Mention(term_id, start, end, places, trust / len(terms))
        yield _Match(mention, trust, is_shared)


def _select(matches: Iterable[_Match]) -> list[Mention]:
    """Return the longest mentions; a variation counts only where there is no mention without one.

    Of several variations of the same words, the most trusted ones count.
    """
    ascending = sorted(matches, key=lambda match: match.trust)
    exact = {match.mention for match in ascending if match.trust == 1}
    best = {match.mention.words: match.trust for match in ascending}
    varied = {
        match.mention
        for match in ascending
        if match.trust == best[match.mention.words] < 1
        and (
            match.is_shared
            or all(
                other.words < match.mention.words or other.words.isdisjoint(match.mention.words)
                for other in exact
            )
        )
    }
    return longest_only(exact) + longest_only(varied)
