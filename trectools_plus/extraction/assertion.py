"""Whether a mention is affirmed, negated, uncertain, or about another person: ConText's rules.

A trigger phrase governs what follows it (or stands before it) in its sentence, up to the next
phrase that ends its reach, or a semicolon; a bare *not* governs five words. A longer phrase that
only looks like a trigger (*not only*) blocks the one inside it, and so does a mention: *absent* in
*absent speech* belongs to the name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from trectools_plus.extraction import triggers
from trectools_plus.extraction.chunking import Chunk, chunk
from trectools_plus.extraction.mentions import Assertion, Mention
from trectools_plus.extraction.words import words_of

_Reach = Literal["near", "after", "before", "none", "end"]
_NEAR = 5
"""How many words a trigger that reaches near can govern: the window of NegEx."""

_RULES: tuple[tuple[str, Assertion, _Reach], ...] = (
    (triggers.NEGATED_NEAR, "negated", "near"),
    (triggers.NEGATED_BEFORE, "negated", "after"),
    (triggers.NEGATED_AFTER, "negated", "before"),
    (triggers.NEGATED_PSEUDO, "negated", "none"),
    (triggers.UNCERTAIN_BEFORE, "uncertain", "after"),
    (triggers.UNCERTAIN_AFTER, "uncertain", "before"),
    (triggers.UNCERTAIN_PSEUDO, "uncertain", "none"),
    (triggers.OTHER_PERSON_BEFORE, "other_person", "after"),
    (triggers.OTHER_PERSON_AFTER, "other_person", "before"),
    (triggers.OTHER_PERSON_PSEUDO, "other_person", "none"),
    (triggers.TERMINATES, "affirmed", "end"),
)
_STRONGEST: tuple[Assertion, ...] = ("other_person", "negated", "uncertain")
"""Of several that govern a mention, the first of these holds."""


@dataclass(frozen=True, slots=True)
class _Trigger:
    start: int
    end: int
    assertion: Assertion
    reach: _Reach


def assert_mentions(text: str, mentions: Iterable[Mention]) -> list[Mention]:
    """The same mentions, each with what its sentence says of it."""
    found = list(mentions)
    result = []
    for sentence in chunk(text, "sentence"):
        inside = [m for m in found if sentence.start <= m.start < sentence.end]
        if inside:
            governing = _triggers(sentence, inside)
            result += [replace(m, assertion=_assertion_of(text, m, governing)) for m in inside]
    return result


def _assertion_of(text: str, mention: Mention, found: Sequence[_Trigger]) -> Assertion:
    governing = {
        trigger.assertion
        for trigger in found
        if trigger.reach in ("near", "after", "before") and _reaches(trigger, mention, found, text)
    }
    return next((one for one in _STRONGEST if one in governing), "affirmed")


def _reaches(trigger: _Trigger, mention: Mention, found: Sequence[_Trigger], text: str) -> bool:
    """Whether the mention lies on the trigger's side, with nothing between that ends its reach."""
    if trigger.reach == "before":
        low, high = mention.end, trigger.start
    else:
        low, high = trigger.end, mention.start
    if low > high or ";" in text[low:high]:
        return False
    if trigger.reach == "near" and len(words_of(text, low, high)) >= _NEAR:
        return False
    return not any(low <= other.start < high and other.reach == "end" for other in found)


def _triggers(sentence: Chunk, mentions: Sequence[Mention]) -> list[_Trigger]:
    """The triggers of a sentence; none inside a mention, none inside a longer one of its kind."""
    found = [
        _Trigger(sentence.start + m.start(), sentence.start + m.end(), assertion, reach)
        for pattern, assertion, reach in _compiled()
        for m in pattern.finditer(sentence.text)
    ]
    free = [t for t in found if not any(m.start < t.end and t.start < m.end for m in mentions)]
    return [t for t in free if not any(_swallows(other, t) for other in free)]


def _swallows(longer: _Trigger, shorter: _Trigger) -> bool:
    """Whether one trigger holds another one and is longer: *not excluded* holds *not*."""
    return (
        longer.start <= shorter.start
        and shorter.end <= longer.end
        and longer.end - longer.start > shorter.end - shorter.start
        and (longer.reach != "end" or shorter.reach == "end")
    )


@lru_cache(maxsize=1)
def _compiled() -> tuple[tuple[re.Pattern[str], Assertion, _Reach], ...]:
    return tuple(
        (_pattern(triggers.phrases(listed)), assertion, reach)
        for listed, assertion, reach in _RULES
    )


def _pattern(phrases: Iterable[str]) -> re.Pattern[str]:
    alternatives = "|".join(re.escape(phrase).replace(r"\ ", r"\s+") for phrase in phrases)
    return re.compile(rf"(?<![\w-])(?:{alternatives})(?![\w-])", re.IGNORECASE)
