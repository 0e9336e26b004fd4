"""Find the names of terms in a text: the same content words, in any order and with any ending.

Each name is indexed by its rarest stem. For every word of a clause, the names indexed by its stem
are candidates. A candidate matches if all its other stems are among the neighbouring content words.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from trectools_plus.errors import UsageError
from trectools_plus.extraction.predictions import Mention, longest_only
from trectools_plus.extraction.segmentation import CONJUNCTIONS, Word, chunk, words_of
from trectools_plus.ontology.ontology import Ontology

PHENOTYPES = "HP:0000118"
"""*Phenotypic abnormality*, the root of all findings in the Human Phenotype Ontology."""

LABEL, EXACT, OTHER = 0, 1, 2
_MAX_ABBREVIATION_LENGTH = 6


@dataclass(frozen=True, slots=True)
class Name:
    """One name of a term.

    Attributes:
        term_id: The term.
        text: The name as the ontology writes it.
        rank: 0 for the label, 1 for an exact synonym, 2 for a broad, narrow or related one.
        stems: Stems of its content words, in their order.
        is_abbreviation: True for a single word of at most six letters with at least two capitals,
            for example ``VSD``. It matches only in the same case.
        has_comma: True if it contains a comma.
        has_conjunction: True if it contains *and*, *or* or a slash.
    """

    term_id: str
    text: str
    rank: int
    stems: tuple[str, ...]
    is_abbreviation: bool
    has_comma: bool
    has_conjunction: bool


def eligible_terms(
    ontology: Ontology, root: str | None = None, min_depth: int = 0
) -> frozenset[str]:
    """Return the ids of the terms that can be predicted.

    Args:
        ontology: The terms.
        root: The id of a term; only terms below it are returned. ``None`` means *Phenotypic
            abnormality* if the ontology has it, otherwise all terms are returned.
        min_depth: The minimum number of edges between a term and a root of the ontology.

    Raises:
        UsageError: If the root is not a current term.
    """
    if root is None:
        root = PHENOTYPES if PHENOTYPES in ontology else None
    hierarchy, live = ontology.hierarchy, ontology.ids.live
    deep = [index for index, depth in enumerate(hierarchy.depths.tolist()) if depth >= min_depth]
    if root is None:
        return frozenset(live[index] for index in deep)
    top = int(ontology.ids.numbers([root])[0])
    if top < 0:
        raise UsageError(
            f"{root} is not a term", where="root", remedy="give the id of a term of the ontology"
        )
    below = (index for index in deep if index != top and top in hierarchy.ancestors_of(index))
    return frozenset(live[index] for index in below)


def names_of(ontology: Ontology, terms: Iterable[str], *, inexact: bool = True) -> list[Name]:
    """Return labels and synonyms of terms, sorted by id; each text of a term once.

    Args:
        ontology: The ontology of the terms.
        terms: Ids of current terms.
        inexact: Include broad, narrow and related synonyms.
    """
    names = []
    for term_id in sorted(terms):
        term = ontology.terms[term_id]
        texts = {term.name: LABEL} if term.name else {}
        for synonym in term.synonyms:
            rank = EXACT if synonym.scope == "EXACT" else OTHER
            if inexact or rank == EXACT:
                texts[synonym.text] = min(rank, texts.get(synonym.text, rank))
        names += [_name(term_id, text, rank) for text, rank in texts.items()]
    return names


def _name(term_id: str, text: str, rank: int) -> Name:
    words = words_of(text)
    single = words[0].text if len(words) == 1 else ""
    capitals = sum(letter.isupper() for letter in single)
    return Name(
        term_id,
        text,
        rank,
        tuple(word.stem for word in words if word.stem),
        is_abbreviation=len(single) <= _MAX_ABBREVIATION_LENGTH and capitals >= 2,
        has_comma="," in text,
        has_conjunction="/" in text or any(word.text.lower() in CONJUNCTIONS for word in words),
    )


Key = tuple[str, ...]
"""The sorted stems of a name: equal for names that differ only in order or endings."""

_MIN_STEM_LENGTH = 3


class Dictionary:
    """The names of terms, indexed for search.

    Args:
        names: The names.
        max_gap: The number of content words that a mention may skip if the words are coordinated: 1
            finds *parathyroid hyperplasia* in *parathyroid adenoma or hyperplasia*.
        shortest_abbreviation: Abbreviations with fewer letters are ignored.
    """

    def __init__(
        self, names: Sequence[Name], *, max_gap: int = 1, shortest_abbreviation: int = 3
    ) -> None:
        self._max_gap = max_gap
        self._abbreviations: dict[str, list[Name]] = defaultdict(list)
        self._names: dict[Key, list[Name]] = defaultdict(list)
        for name in names:
            key = tuple(sorted(name.stems))
            if name.is_abbreviation:
                if len(name.text.strip()) >= shortest_abbreviation:
                    self._abbreviations[name.text.strip()].append(name)
            elif len(key) > 1 or (key and len(key[0]) >= _MIN_STEM_LENGTH):
                self._names[key].append(name)
        frequency = Counter(stem for key in self._names for stem in set(key))
        self._by_rarest: dict[str, list[Key]] = defaultdict(list)
        for key in self._names:
            self._by_rarest[min(key, key=lambda stem: (frequency[stem], stem))].append(key)

    def find(self, text: str) -> list[Mention]:
        """Return the longest mentions in a text, in the order of the text.

        The confidence of a mention is 1 divided by the number of terms to which its words can
        refer: terms with this label; if there are none, terms with this exact synonym; if there are
        none either, terms with another synonym.
        """
        found = set[Mention]()
        for clause in chunk(text, "clause"):
            words = words_of(text, clause.start, clause.end)
            for word in words:
                found.update(_mentions([word], self._abbreviations.get(word.text, ())))
            found.update(self._find_names(text, words))
        return sorted(longest_only(found), key=lambda m: (m.start, m.end, m.term_id))

    def _find_names(self, text: str, words: list[Word]) -> Iterator[Mention]:
        content = [word for word in words if word.stem]
        starts = [word.start for word in words]
        for index, word in enumerate(content):
            for key in self._by_rarest.get(word.stem, ()):
                for window in self._windows(content, index, key):
                    begin = bisect_left(starts, window[0].start)
                    between = words[begin : bisect_left(starts, window[-1].end)]
                    names = _matching_names(text, between, window, self._names[key])
                    yield from _mentions(window, names)

    def _windows(self, content: Sequence[Word], index: int, key: Key) -> Iterator[list[Word]]:
        """Yield the shortest sequences of words around a word that contain a key."""
        size = len(key)
        max_window = size + (self._max_gap if size > 1 else 0)
        near = {word.stem for word in content[max(0, index - max_window + 1) : index + max_window]}
        if not near.issuperset(key):
            return
        needed = Counter(key)
        for first in range(max(0, index - max_window + 1), index + 1):
            if content[first].stem not in needed:
                continue
            missing, used = needed.copy(), list[Word]()
            for other in content[first : first + max_window]:
                if missing[other.stem] > 0:
                    missing[other.stem] -= 1
                    used.append(other)
                    if len(used) == size:
                        yield used
                        break


def _matching_names(
    text: str, between: Sequence[Word], window: list[Word], names: list[Name]
) -> list[Name]:
    """Return the names that match a window.

    ``between`` contains all words of the text from the first to the last word of the window.
    """
    inside = text[window[0].start : window[-1].end]
    has_comma = "," in inside
    joined = "/" in inside or any(word.text.lower() in CONJUNCTIONS for word in between)
    if sum(bool(word.stem) for word in between) > len(window):
        return names if joined else []  # words may be skipped only in a coordination
    if not (has_comma or joined):
        return names
    # No content word is skipped, but there is a comma or "and": the name must contain it too.
    order = tuple(word.stem for word in window)
    return [
        name
        for name in names
        if name.stems == order
        and (name.has_comma or not has_comma)
        and (name.has_conjunction or not joined)
    ]


def _mentions(window: Sequence[Word], names: Sequence[Name]) -> Iterator[Mention]:
    """Yield a mention for each term whose name has the best rank."""
    best_rank = min((name.rank for name in names), default=0)
    terms = dict.fromkeys(name.term_id for name in names if name.rank == best_rank)
    start, end = window[0].start, window[-1].end
    places = frozenset(word.start for word in window)
    for term_id in terms:
        yield Mention(term_id, start, end, places, 1 / len(terms), "dictionary")
