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

from trectools_plus.extraction.predictions import Assertion, Mention
from trectools_plus.extraction.segmentation import Chunk, chunk, words_of

NEGATED_NEAR = """
not; never; cannot; declines; declined
"""
NEGATED_BEFORE = """
no; without; deny; denies; denied; denying; absence of; lack of; lacks; lacked; lacking; free of;
negative for; neither; nor; no evidence of; no sign of; no signs of; no evidence for; no history
of; no indication of; no suggestion of; no suspicion of; with no; without any; without evidence of;
without signs of; rules out; ruled out; rule out; rather than; failed to reveal; fails to reveal;
unremarkable for; did not have; does not have; do not have; did not show; does not show; do not
show; had no; has no; have no; showed no; shows no; excludes; excluded; exclusion of; not
associated with; not complain of; cannot see; not have; not had; not having; never had; doesn't
have; don't have; didn't have; hasn't had; haven't had; hadn't had; none had; none has; none have;
none of
"""
NEGATED_AFTER = """
was ruled out; were ruled out; is ruled out; are ruled out; has been ruled out; have been ruled
out; was excluded; were excluded; is excluded; is absent; are absent; was absent; were absent;
absent; was not present; were not present; is not present; are not present; not present; was not
seen; were not seen; is not seen; are not seen; not seen; was not observed; were not observed; is
not observed; are not observed; not observed; was not found; were not found; not found; was not
detected; were not detected; not detected; was not reported; were not reported; has not been
reported; have not been reported; not reported; was denied; were denied; denied by; was negative;
were negative; is negative; free; not noted; was not noted; were not noted; did not occur; does not
occur; do not occur; has not been observed; have not been observed; never occurred; never observed;
never seen; has never been observed; have never been observed; has never been seen; have never been
seen; has never been reported; have never been reported
"""
NEGATED_PSEUDO = """
no increase; no change; no significant change; no interval change; no suspicious change; not only;
not just; not certain whether; not certain if; not necessarily; not always; not uncommon; not
uncommonly; not infrequently; not unusual; not rare; not yet known; gram negative; no further;
without difficulty; without treatment; without therapy; without intervention; with or without; no
longer than; whether or not; not drain; not cause; not cured; not extend; not specific; not to be;
no doubt; not all; not known; not every
"""
UNCERTAIN_BEFORE = """
possible; possibly; probable; probably; suspected; suspicion of; suspicious for; suspect;
questionable; presumed; presumably; concern for; concerning for; cannot exclude; cannot rule out;
could not be excluded; suggestive of; suggesting; may represent; might represent; could represent;
may be ruled out for; should be ruled out for; what must be ruled out is; be ruled out for;
differential diagnosis includes; differential diagnosis of; versus; unclear whether; uncertain
whether; not certain whether; not certain if; whether or not; likely represents; borderline
"""
UNCERTAIN_AFTER = """
is possible; are possible; was possible; is suspected; are suspected; was suspected; were
suspected; is questionable; cannot be excluded; cannot be ruled out; could not be excluded; could
not be ruled out; may be ruled out; must be ruled out; should be ruled out; to be ruled out; not
been ruled out; not ruled out; not excluded; is unlikely; are unlikely; was unlikely; unlikely; is
uncertain; are uncertain; was uncertain; is unclear; was unclear; was questioned; did not rule out
"""
UNCERTAIN_PSEUDO = """
suspected from; suspected on; suspected by; suspected in; suspected at; suspected when
"""
RELATIVES = """
mother; mothers; father; fathers; mom; mum; dad; parent; parents; brother; brothers; sister;
sisters; sibling; siblings; sib; sibs; half-brother; half-brothers; half-sister; half-sisters;
half-sibling; half-siblings; half-sib; half-sibs; twin brother; twin sister; co-twin; grandmother;
grandmothers; grandfather; grandfathers; grandparent; grandparents; great-grandmother;
great-grandfather; great-grandparent; great-grandparents; great-aunt; great-uncle; aunt; aunts;
uncle; uncles; cousin; cousins; nephew; nephews; niece; nieces; relative; relatives; family member;
family members; son; sons; daughter; daughters; grandson; granddaughter; grandchild; spouse; wife;
husband
"""
FAMILY = """
family history; familial history; maternal; paternal
"""
NOT_FAMILY = """
maternal inheritance; paternal inheritance; maternal age; paternal age; maternal uniparental
disomy; paternal uniparental disomy; maternal allele; paternal allele; maternal chromosome;
paternal chromosome; maternal transmission; paternal transmission; parents were consanguineous;
parents are consanguineous; son of; daughter of; their son; their daughter; family history is
unremarkable; family history was unremarkable; family history is noncontributory; family history was
noncontributory; family history is non-contributory; family history was non-contributory
"""
IN_FAMILY = """
in the family; in his family; in her family; in their family; runs in the family; run in the family
"""
PATIENTS = """
he; she; patient; patients; proband; probands; propositus; proposita; index case; the child; this
child; the boy; this boy; the girl; this girl; the infant; this infant; the baby; this baby; the
newborn; the neonate; their child; their son; their daughter; their baby
"""
REPORTING = """
report; reports; reported; reporting; note; notes; noted; notice; notices; noticed; observe;
observes; observed; describe; describes; described; state; states; stated; say; says; said; tell;
tells; told; recall; recalls; recalled; remember; remembers; remembered; deny; denies; denied;
denying; mention; mentions; mentioned; confirm; confirms; confirmed; admit; admits; admitted to;
believe; believes; believed; think; thinks; thought; suspect; suspects; suspected; saw; sees;
worry; worries; seek; seeks; sought; bring; brings; brought; took him; took her; took the;
delivered
"""
CONCERNED = """
concerned; worried; anxious; gave birth
"""
NOT_REPORTING = """
of note; has confirmed; have confirmed; had confirmed; with confirmed; has suspected; have
suspected; had suspected; with suspected; a confirmed; a suspected
"""
CONTRASTS = """
but; however; although; though; whereas; while; in contrast; on the other hand; and there
"""
SAME_SUBJECT = """
no; not; never; without; has; had; have; is; are; was; were; did; does; do; denies; also; otherwise;
with
"""
TERMINATES = """
but; however; although; though; nevertheless; yet; except; except for; apart from; aside from;
other than; whereas; while; still; because; since; secondary to; cause of; source of; causes of;
sources of; reason for; reasons for; etiology of; in contrast; on the other hand; besides; which;
who; until; unless; and has; and had; and have; and showed; and shows; and presented with; and
presents with; has; had; have; presented with; presents with; patient; patients; the proband; he;
she; they; present; yes
"""
NEGATIVE_ANSWERS = """
none; nil; no; never; absent; negative; denied; excluded; ruled out; not present; not seen; not
observed; not found; not detected; not reported; not noted; not known; none reported; none noted;
none known; none observed; none seen; none to date; none present; no evidence
"""


def phrases(listed: str) -> tuple[str, ...]:
    """The phrases of one of the lists above, the longest first."""
    parts = (" ".join(phrase.split()) for phrase in listed.split(";"))
    return tuple(sorted({part for part in parts if part}, key=lambda part: (-len(part), part)))


_Reach = Literal["near", "after", "before", "label", "none", "end", "report"]
_NEAR = 5
"""How many words a trigger that reaches near can govern: the window of NegEx."""


def _any_of(listed: str) -> str:
    """A pattern for the phrases of a list: any blanks between words, either apostrophe."""
    escaped = (re.escape(phrase) for phrase in phrases(listed))
    alternatives = "|".join(one.replace(r"\ ", r"\s+").replace("'", "['’]") for one in escaped)
    return rf"(?<![\w-])(?:{alternatives})(?![\w-])"


_KIN = _any_of(RELATIVES)
_SAID = _any_of(REPORTING)
_HE = _any_of(PATIENTS)
_THEIR = r"(?:(?:his|her|the|a|an|one|both|their|my|your|this|patient['’]s|proband['’]s)\s+)"
_KINDS = r"(?:[\w'’-]+\s+){0,2}?"
_HAS_CLAUSE = r"(?!,?\s+(?:with|who|whose|having|has|had|have)\b)"
_WELL = r"(?:healthy|well|unaffected|normal|asymptomatic)"
_STOP = r"(?=\s*(?:[.,;/)\]]|$))"

_PERSONS: tuple[tuple[str, _Reach], ...] = (
    # The first pattern that fits takes the words, so that exceptions stand above the rules.
    (_any_of(NOT_FAMILY), "none"),
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
    (rf"(?:{_any_of(FAMILY)})(?:\s+{_SAID})?|{_KIN}", "after"),
    (rf"\b(?:is|are|was|were|been|being)\s+(?:\w+ly\s+)?{_SAID}", "none"),  # was reported to have
    (_any_of(NOT_REPORTING), "none"),
    (rf"{_any_of(CONTRASTS)}(?!\s+{_any_of(SAME_SUBJECT)})", "end"),
    (_HE, "end"),
    (rf"{_SAID}|{_any_of(CONCERNED)}", "report"),
)
_PERSONS_BEFORE = rf"{_any_of(IN_FAMILY)}|\b(?:in|of|among|affecting)\s+(?:{_THEIR}{_KINDS})?{_KIN}"
_ANSWER = (
    rf"(?:\s*[:=(]\s*|\s+[-–—]\s+|\s+){_any_of(NEGATIVE_ANSWERS)}{_STOP}"
    r"|\s*[:=]\s*(?:none|nil)\b|\s*\(\s*[-−–]\s*\)"
)

_RULES: tuple[tuple[str, Assertion, _Reach], ...] = (
    (_any_of(NEGATED_NEAR), "negated", "near"),
    (_any_of(NEGATED_BEFORE), "negated", "after"),
    (_any_of(NEGATED_AFTER), "negated", "before"),
    (_any_of(NEGATED_PSEUDO), "negated", "none"),
    (_ANSWER, "negated", "label"),
    (_any_of(UNCERTAIN_BEFORE), "uncertain", "after"),
    (_any_of(UNCERTAIN_AFTER), "uncertain", "before"),
    (_any_of(UNCERTAIN_PSEUDO), "uncertain", "none"),
    (_any_of(TERMINATES), "affirmed", "end"),
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
