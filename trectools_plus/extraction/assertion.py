"""Whether a mention is affirmed, negated, uncertain, or about another person: ConText's rules.

A trigger phrase governs what follows it (or stands before it) in its sentence, up to the next
phrase that ends its reach, or a semicolon; a bare *not* governs five words. A longer phrase that
only looks like a trigger (*not only*) blocks the one inside it, and so does a mention: *absent* in
*absent speech* belongs to the name.

A relative is the subject until the patient is (*he*, *the child*) or the relative reports something
(*his mother noticed*); verbs such as *has* change nothing. An answer (*hypotonia: none*) governs
what it answers.
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

_Reach = Literal["near", "after", "before", "label", "none", "end", "report"]
_NEAR = 5
"""How many words a trigger that reaches near can govern: the window of NegEx."""


def _any_of(listed: str) -> str:
    """A pattern for the phrases of a list: any blanks between words, either apostrophe."""
    escaped = (re.escape(phrase) for phrase in triggers.phrases(listed))
    alternatives = "|".join(one.replace(r"\ ", r"\s+").replace("'", "['’]") for one in escaped)
    return rf"(?<![\w-])(?:{alternatives})(?![\w-])"


_KIN = _any_of(triggers.RELATIVES)
_SAID = _any_of(triggers.REPORTING)
_HE = _any_of(triggers.PATIENTS)
_THEIR = r"(?:(?:his|her|the|a|an|one|both|their|my|your|this|patient['’]s|proband['’]s)\s+)"
_KINDS = r"(?:[\w'’-]+\s+){0,2}?"
_HAS_CLAUSE = r"(?!,?\s+(?:with|who|whose|having|has|had|have)\b)"
_WELL = r"(?:healthy|well|unaffected|normal|asymptomatic)"
_STOP = r"(?=\s*(?:[.,;/)\]]|$))"

_PERSONS: tuple[tuple[str, _Reach], ...] = (
    # The first pattern that fits takes the words, so that exceptions stand above the rules.
    (_any_of(triggers.NOT_FAMILY), "none"),
    (rf"{_HE}\s+(?:and|or)\s+{_THEIR}?{_KIN}", "none"),  # he and his mother
    (
        rf"\bof\s+(?:(?:the|this|our)\s+)?{_HE}|{_HE}['’]s?(?=\s+{_KINDS}{_KIN})",
        "none",
    ),  # the sister of the patient
    (rf"\b(?:healthy|consanguineous|non-?consanguineous|unrelated|unaffected)\s+{_KIN}", "none"),
    (rf"{_KIN}(?=\s+(?:is|are|was|were)\s+(?:both\s+)?{_WELL}\b)", "none"),
    (rf"{_KIN}['’]s?\s+(?:report|request|account|concern|observation)s?\b", "none"),
    (rf"\A(?:in|among)\s+{_THEIR}?{_KIN}", "after"),  # in the mother, …
    (
        r"\b(?:according\s+to|per|by|from|via|to|with|like|unlike|than|as|in|of|among)\s+"
        rf"(?:{_THEIR}{_KINDS})?{_KIN}{_HAS_CLAUSE}",
        "none",
    ),
    (rf"(?:{_any_of(triggers.FAMILY)})(?:\s+{_SAID})?|{_KIN}", "after"),
    (rf"\b(?:is|are|was|were|been|being)\s+(?:\w+ly\s+)?{_SAID}", "none"),  # was reported to have
    (_any_of(triggers.NOT_REPORTING), "none"),
    (rf"{_any_of(triggers.CONTRASTS)}(?!\s+{_any_of(triggers.SAME_SUBJECT)})", "end"),
    (_HE, "end"),
    (rf"{_SAID}|{_any_of(triggers.CONCERNED)}", "report"),
)
_PERSONS_BEFORE = (
    rf"{_any_of(triggers.IN_FAMILY)}|\b(?:in|of|among|affecting)\s+(?:{_THEIR}{_KINDS})?{_KIN}"
)
_ANSWER = (
    rf"(?:\s*[:=(]\s*|\s+[-–—]\s+|\s+){_any_of(triggers.NEGATIVE_ANSWERS)}{_STOP}"
    r"|\s*[:=]\s*(?:none|nil)\b|\s*\(\s*[-−–]\s*\)"
)

_RULES: tuple[tuple[str, Assertion, _Reach], ...] = (
    (_any_of(triggers.NEGATED_NEAR), "negated", "near"),
    (_any_of(triggers.NEGATED_BEFORE), "negated", "after"),
    (_any_of(triggers.NEGATED_AFTER), "negated", "before"),
    (_any_of(triggers.NEGATED_PSEUDO), "negated", "none"),
    (_ANSWER, "negated", "label"),
    (_any_of(triggers.UNCERTAIN_BEFORE), "uncertain", "after"),
    (_any_of(triggers.UNCERTAIN_AFTER), "uncertain", "before"),
    (_any_of(triggers.UNCERTAIN_PSEUDO), "uncertain", "none"),
    (_any_of(triggers.TERMINATES), "affirmed", "end"),
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
        if trigger.reach in ("near", "after", "before", "label")
        and _reaches(trigger, mention, found, text)
    }
    return next((one for one in _STRONGEST if one in governing), "affirmed")


def _reaches(trigger: _Trigger, mention: Mention, found: Sequence[_Trigger], text: str) -> bool:
    """Whether the mention lies on the trigger's side, with nothing between that ends its reach."""
    backward = trigger.reach in ("before", "label")
    low, high = (mention.end, trigger.start) if backward else (trigger.end, mention.start)
    if low > high or ";" in text[low:high]:
        return False
    if trigger.reach == "label":
        in_brackets = "(" in text[trigger.start : trigger.end]
        if not {*text[low:high]}.isdisjoint(":=()," if in_brackets else ":=()"):
            return False
    if trigger.reach == "near" and len(words_of(text, low, high)) >= _NEAR:
        return False
    return not any(low <= other.start < high and _ends(other, trigger) for other in found)


def _ends(other: _Trigger, trigger: _Trigger) -> bool:
    """Return true if one phrase ends another's reach; a person's ends by phrases of its own."""
    if "other_person" in (other.assertion, trigger.assertion):
        if other.assertion != trigger.assertion:
            return False
        return other.reach == "end" or (other.reach == "report" and trigger.reach == "after")
    return other.reach == "end"


def _triggers(sentence: Chunk, mentions: Sequence[Mention]) -> list[_Trigger]:
    """The triggers of a sentence; none inside a mention, none inside a longer one of its kind."""
    rules, persons, persons_before = _compiled()
    phrases = [
        _Trigger(sentence.start + m.start(), sentence.start + m.end(), assertion, reach)
        for pattern, assertion, reach in rules
        for m in pattern.finditer(sentence.text)
    ]
    whose = [
        _Trigger(sentence.start + m.start(), sentence.start + m.end(), "other_person", reach)
        for m in persons.finditer(sentence.text)
        for (_, reach), group in zip(_PERSONS, m.groups(), strict=True)
        if group is not None
    ]
    whose += [
        _Trigger(sentence.start + m.start(), sentence.start + m.end(), "other_person", "before")
        for m in persons_before.finditer(sentence.text)
    ]
    free, free_whose = (
        [t for t in one if not any(m.start < t.end and t.start < m.end for m in mentions)]
        for one in (phrases, whose)
    )
    return free_whose + [t for t in free if not any(_swallows(other, t) for other in free)]


def _swallows(longer: _Trigger, shorter: _Trigger) -> bool:
    """Whether one trigger holds another one and is longer: *not excluded* holds *not*."""
    return (
        longer.start <= shorter.start
        and shorter.end <= longer.end
        and longer.end - longer.start > shorter.end - shorter.start
        and (longer.reach != "end" or shorter.reach == "end")
    )


@lru_cache(maxsize=1)
def _compiled() -> tuple[
    tuple[tuple[re.Pattern[str], Assertion, _Reach], ...], re.Pattern[str], re.Pattern[str]
]:
    rules = tuple(
        (re.compile(pattern, re.IGNORECASE), assertion, reach)
        for pattern, assertion, reach in _RULES
    )
    persons = "|".join(f"({pattern})" for pattern, _ in _PERSONS)
    return rules, re.compile(persons, re.IGNORECASE), re.compile(_PERSONS_BEFORE, re.IGNORECASE)
