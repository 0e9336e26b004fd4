"""A place of a text that speaks of a term."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

Assertion = Literal["affirmed", "negated", "uncertain", "other_person"]
ASSERTIONS: tuple[Assertion, ...] = get_args(Assertion)
Source = Literal["dictionary", "retrieval"]

_PRECEDENCE: tuple[Assertion, ...] = ("affirmed", "uncertain", "negated", "other_person")
"""What a document says of a term is the first of these that any of its mentions says."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A place of a text that speaks of a term.

    Attributes:
        term_id: The live term.
        start: Where the place starts, in characters.
        end: Where it ends, exclusive.
        words: Starts of the words that make it up: ``retinal coloboma`` in *retinal and optic
            nerve coloboma* leaves some out.
        confidence: How likely the place means this term, in [0, 1].
        source: Which part of the extraction found it.
        assertion: What the text says of it.
    """

    term_id: str
    start: int
    end: int
    words: frozenset[int]
    confidence: float
    source: Source
    assertion: Assertion = "affirmed"


def longest_only(mentions: Iterable[Mention]) -> list[Mention]:
    """Mentions whose words are not all words of a longer one."""
    found = list(mentions)
    by_word: dict[int, set[frozenset[int]]] = {}
    for mention in found:
        for word in mention.words:
            by_word.setdefault(word, set()).add(mention.words)
    return [
        mention
        for mention in found
        if not any(mention.words < other for other in by_word[next(iter(mention.words))])
    ]


@dataclass(frozen=True, slots=True)
class Prediction:
    """A term that a document speaks of.

    Attributes:
        term_id: The term.
        assertion: What the document says of it: affirmed if any mention is, else uncertain, else
            negated, else of another person.
        score: The best confidence of its mentions, in [0, 1]; another system's own score.
        count: How many mentions it has, at least 1.
        spans: The mentions' places, in their order: start and exclusive end, in characters.
    """

    term_id: str
    assertion: Assertion
    score: float
    count: int = 1
    spans: tuple[tuple[int, int], ...] = ()


def strongest(assertions: Iterable[Assertion]) -> Assertion:
    """What holds of a term of which these are said: affirmed, else uncertain, negated, other."""
    return min(assertions, key=_PRECEDENCE.index)
