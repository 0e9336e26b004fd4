"""Which words stand for each other in names, learnt from the ontology itself.

A term's names often differ in one word: *Renal cyst*, *Kidney cyst*. Two words are tried in every
name that holds one of them: how often does the exchange lead to a name of the same term, and how
often to a name of another (*left* for *right*)? The share of the former is how far the exchange can
be trusted; the lower end of its one-sided 95 % Wilson interval (Wilson 1927) is used, so that a
pair seen once counts for little.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import permutations
from math import sqrt

from trectools_plus.extraction.names import Name

Key = tuple[str, ...]

_Z = 1.6448536269514722
"""The 95 % point of the normal distribution."""


class Wordings:
    """Trust in exchanging one word of a name for another.

    Args:
        names: Names of all terms; abbreviations are passed over.
    """

    def __init__(self, names: Iterable[Name]) -> None:
        terms: dict[Key, set[str]] = defaultdict(set)
        for name in names:
            if name.stems and not name.is_abbreviation:
                terms[tuple(sorted(name.stems))].add(name.term_id)
        self._exchange = _exchanges(terms)

    def exchanges(self, said: str) -> Mapping[str, float]:
        """What a stem can be taken for, and how far that can be trusted, in [0, 1]."""
        return self._exchange.get(said, {})

    def trust(self, said: Iterable[str], name: Iterable[str]) -> float:
        """How far some words can be taken for a name of a term, in [0, 1].

        Args:
            said: Stems of content words in a text.
            name: Stems of a name.

        Returns:
            1 for the same stems in any order; the trust learnt where exactly one stem is exchanged
            for another and at least one is the same; else 0.
        """
        here, there = Counter(said), Counter(name)
        missing, extra = list((there - here).elements()), list((here - there).elements())
        if not missing and not extra:
            return 1.0
        if len(missing) != 1 or len(extra) != 1 or not here & there:
            return 0.0
        return self.exchanges(extra[0]).get(missing[0], 0.0)


def wilson_low(successes: int, trials: int) -> float:
    """The lower end of the one-sided 95 % Wilson interval of a share; 0 without trials."""
    if not trials:
        return 0.0
    share, square = successes / trials, _Z * _Z / trials
    spread = _Z * sqrt(share * (1 - share) / trials + square / (4 * trials))
    return max(0.0, (share + square / 2 - spread) / (1 + square))


def _exchanges(terms: Mapping[Key, set[str]]) -> dict[str, dict[str, float]]:
    """Trust by the stem said, then the stem of the name."""
    fillers: dict[Key, dict[str, set[str]]] = defaultdict(dict)
    for key, owners in terms.items():
        for place, stem in enumerate(key):
            frame = key[:place] + key[place + 1 :]
            if frame:
                fillers[frame][stem] = owners
    same = Counter[tuple[str, str]]()
    for filling in fillers.values():
        by_term: dict[str, list[str]] = defaultdict(list)
        for stem, owners in filling.items():
            for owner in owners:
                by_term[owner].append(stem)
        same.update({pair for stems in by_term.values() for pair in permutations(stems, 2)})
    partners: dict[str, set[str]] = defaultdict(set)
    for said, meant in same:
        partners[said].add(meant)
    tried = Counter[tuple[str, str]]()
    for filling in fillers.values():
        for said in filling.keys() & partners.keys():
            tried.update((said, meant) for meant in partners[said] & filling.keys())
    trust: dict[str, dict[str, float]] = defaultdict(dict)
    for (said, meant), count in same.items():
        trust[said][meant] = wilson_low(count, tried[said, meant])
    return dict(trust)
