"""Assign assertions to mentions: affirmed, negated, uncertain or other person, as in ConText.

A trigger phrase governs the text after it (or before it) in its sentence, up to a semicolon or a
phrase that ends its scope. *Not* alone governs five words. A longer phrase that only resembles a
trigger (*not only*) blocks the trigger inside it. A mention also blocks the triggers inside it: the
word *absent* in *absent speech* belongs to the name.

A relative remains the subject until the patient is mentioned (*he*, *the child*) or the relative
reports something (*his mother noticed*). Verbs, for example *has*, do not change the subject. An
answer (*hypotonia: none*) governs the finding before it.

The phrases are a selection from the published lists of NegEx (Chapman et al., J Biomed Inform 2001;
34:301–310) and ConText (Harkema et al., J Biomed Inform 2009; 42:839–851). The words *may*, *can*
and *risk of* are not included: in the description of a disease they express the frequency of a
finding, not uncertainty.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
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
none of; r/o; ruling out; to rule out; nor any; no clinical evidence of; devoid of
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
seen; has never been reported; have never been reported; never reported; has not occurred; have not
occurred; had not occurred; never developed; not demonstrated; not evident; not identified; not
documented; not detectable
"""
NEGATED_PSEUDO = """
no increase; no change; no significant change; no interval change; no suspicious change; not only;
not just; not certain whether; not certain if; not necessarily; not always; not uncommon; not
uncommonly; not infrequently; not unusual; not rare; not yet known; gram negative; no further;
without difficulty; without treatment; without therapy; without intervention; with or without; no
longer than; whether or not; not drain; not cause; not cured; not extend; not specific; not to be;
no doubt; not all; not known; not every; no improvement; no cause; no treatment; no response; no
effect; no specific treatment; no worsening; not respond; not improve; not controlled; not explain;
not explained by
"""
UNCERTAIN_BEFORE = """
possible; possibly; probable; probably; suspected; suspicion of; suspicious for; suspect;
questionable; presumed; presumably; concern for; concerning for; cannot exclude; cannot rule out;
could not be excluded; suggestive of; suggesting; may represent; might represent; could represent;
may be ruled out for; should be ruled out for; what must be ruled out is; be ruled out for;
differential diagnosis includes; differential diagnosis of; versus; unclear whether; uncertain
whether; not certain whether; not certain if; whether or not; likely represents; borderline; query
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
in the family; in his family; in her family; in their family; runs in the family; run in the family;
on the maternal side; on the paternal side; on the mother's side; on the father's side; on his
mother's side; on his father's side; on her mother's side; on her father's side
"""
FAMILY_HEADINGS = """
family history; familial history; family medical history; family hx; fam hx; fhx; family anamnesis
"""
OTHER_HEADINGS = """
history; examination; exam; medications; medication; allergies; investigations; findings;
diagnosis; diagnoses; impression; assessment; plan; summary; development; course; laboratory;
imaging; genetics; review of systems; phenotype; proband; patient; presentation; complaint;
features; description
"""
PATIENTS = """
the couple's son; the couple's daughter; the couple's child; he; she; patient; patients; proband;
probands; propositus; proposita; index case; the child; this child; the boy; this boy; the girl;
this girl; the infant; this infant; the baby; this baby; the newborn; the neonate; their child;
their son; their daughter; their baby
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
she; they; present; yes; positive; due to; because of; as a result of; owing to; caused by
"""
NEGATIVE_ANSWERS = """
none; nil; no; never; absent; negative; neg; normal; denied; denies; excluded; ruled out; not
present; not seen; not observed; not found; not detected; not reported; not noted; not known; none
reported; none noted; none known; none observed; none seen; none to date; none present; no evidence
"""
EMPTY_HISTORIES = """
unremarkable; negative; noncontributory; non-contributory; normal; none; nil; unknown
"""
FINITE_VERBS = """
is; are; was; were; has; had; have; began; started; showed; shows; developed; presented; presents;
revealed; occurred; became
"""
UNCERTAIN_ANSWERS = """
possible; possibly; probable; likely; suspected; questionable; unclear; uncertain; equivocal
"""
NEGATIVE_HEADINGS = """
absent; negative; negatives; pertinent negatives; negative findings; not present; not observed; not
found; excluded; denies; denied
"""


_Scope = Literal["near", "after", "before", "label", "none", "end", "report"]
_NEAR_WORDS = 5
"""The number of words that a trigger of the scope ``near`` governs: the window of NegEx."""


def _any_of(listed: str) -> str:
    """Return a pattern for a list of phrases, the longest first.

    It allows any white space between words, and both forms of the apostrophe.
    """
    phrases = {" ".join(phrase.split()) for phrase in listed.split(";")}
    longest_first = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    escaped = (re.escape(phrase) for phrase in longest_first)
    alternatives = "|".join(one.replace(r"\ ", r"\s+").replace("'", "['’]") for one in escaped)
    return rf"(?<![\w-])(?:{alternatives})(?![\w-])"


_RELATIVE = _any_of(RELATIVES)
_REPORTS = _any_of(REPORTING)
_PATIENT = _any_of(PATIENTS)
_DETERMINER = (
    r"(?:(?:his|her|the|a|an|one|two|three|four|five|several|some|all|other|both|their|my|your|this"
    r"|patient['’]s|proband['’]s)\s+)"
)
_ADJECTIVES = r"(?:[\w'’-]+\s+){0,2}?"
_HAS_CLAUSE = r"(?!,?\s+(?:with|who|whose|having|has|had|have)\b)"
_HEALTHY = r"(?:healthy|well|unaffected|normal|asymptomatic)"
_PHRASE_END = r"(?=\s*(?:[.,;/)\]]|$))"

_PERSONS: tuple[tuple[str, _Scope], ...] = (
    # The patterns are alternatives of one regular expression, and the first that matches is used.
    # So exceptions precede the rules.
    (_any_of(NOT_FAMILY), "none"),
    (rf"{_PATIENT}\s+(?:and|or)\s+{_DETERMINER}?{_RELATIVE}", "none"),  # he and his mother
    (
        rf"\bof\s+(?:(?:the|this|our)\s+)?{_PATIENT}"  # the sister of the patient
        rf"|{_PATIENT}['’]s?(?=\s+{_ADJECTIVES}{_RELATIVE})",
        "none",
    ),
    (
        rf"\b(?:healthy|consanguineous|non-?consanguineous|unrelated|unaffected)\s+{_RELATIVE}",
        "none",
    ),
    (rf"{_RELATIVE}(?=\s+(?:is|are|was|were)\s+(?:both\s+)?{_HEALTHY}\b)", "none"),
    (rf"{_RELATIVE}['’]s?\s+(?:report|request|account|concern|observation)s?\b", "none"),
    (rf"\A(?:in|among)\s+{_DETERMINER}?{_RELATIVE}", "after"),  # in the mother, …
    (
        r"\b(?:according\s+to|per|by|from|via|to|with|like|unlike|than|as|in|of|among)\s+"
        rf"(?:{_DETERMINER}{_ADJECTIVES})?{_RELATIVE}{_HAS_CLAUSE}",
        "none",
    ),
    (rf"(?:{_any_of(FAMILY)})(?:\s+{_REPORTS})?|{_RELATIVE}", "after"),
    # was reported to have
    (rf"\b(?:is|are|was|were|been|being)\s+(?:\w+ly\s+)?{_REPORTS}", "none"),
    (_any_of(NOT_REPORTING), "none"),
    (rf"{_any_of(CONTRASTS)}(?!\s+{_any_of(SAME_SUBJECT)})", "end"),
    (_PATIENT, "end"),
    (rf"{_REPORTS}|{_any_of(CONCERNED)}", "report"),
)
_PERSONS_BEFORE = (
    rf"{_any_of(IN_FAMILY)}"
    rf"|\b(?:in|of|among|affecting)\s+(?:{_DETERMINER}{_ADJECTIVES})?{_RELATIVE}"
)
_ANSWER = (
    rf"(?:\s*[:=(]\s*|\s+[-–—]\s+|\s+){_any_of(NEGATIVE_ANSWERS)}{_PHRASE_END}"
    r"|\s*[:=]\s*(?:none|nil)\b|\s*\(\s*[-−–]\s*\)|\s*[:=]\s*[-−–∅]\s*(?=[,;]|$)"
)
_MINUS = r"\s+[-−–](?=\s*(?:[,;]|$))"
"""A minus sign after a finding: *hypotonia -, seizures +*."""
_UNCERTAIN_ANSWER = rf"\s*[:=(]\s*{_any_of(UNCERTAIN_ANSWERS)}{_PHRASE_END}|\s*\?"
_HEADING_OF_NEGATED = rf"(?:\A|(?<=[;,.])\s*){_any_of(NEGATIVE_HEADINGS)}\s*:|\[[-−–]\]"

_RULES: tuple[tuple[str, Assertion, _Scope], ...] = (
    (_any_of(NEGATED_NEAR), "negated", "near"),
    (_any_of(NEGATED_BEFORE), "negated", "after"),
    (_any_of(NEGATED_AFTER), "negated", "before"),
    (_any_of(NEGATED_PSEUDO), "negated", "none"),
    (_HEADING_OF_NEGATED, "negated", "after"),
    (_ANSWER, "negated", "label"),
    (_MINUS, "negated", "label"),
    (_UNCERTAIN_ANSWER, "uncertain", "label"),
    (r"\?(?=\w)", "uncertain", "near"),
    (r"\[\+\]", "affirmed", "end"),
    (_any_of(UNCERTAIN_BEFORE), "uncertain", "after"),
    (_any_of(UNCERTAIN_AFTER), "uncertain", "before"),
    (_any_of(UNCERTAIN_PSEUDO), "uncertain", "none"),
    (_any_of(TERMINATES), "affirmed", "end"),
)
_STRONGEST: tuple[Assertion, ...] = ("other_person", "negated", "uncertain")
"""If triggers with different assertions govern a mention, the first of these applies."""


@dataclass(frozen=True, slots=True)
class _Trigger:
    start: int
    end: int
    assertion: Assertion
    scope: _Scope


def assert_mentions(text: str, mentions: Iterable[Mention]) -> list[Mention]:
    """Return the mentions, each with the assertion of its sentence."""
    found = list(mentions)
    result = []
    sentences = chunk(text, "sentence")
    about_family = _family_history(text, sentences)
    for sentence in sentences:
        inside = [m for m in found if sentence.start <= m.start < sentence.end]
        if sentence in about_family:
            result += [replace(m, assertion="other_person") for m in inside]
        elif inside:
            governing = _triggers(sentence, inside)
            result += [replace(m, assertion=_assertion_of(text, m, governing)) for m in inside]
    return result


def _family_history(text: str, sentences: Sequence[Chunk]) -> set[Chunk]:
    """Return the sentences of sections with a heading such as *Family history:*.

    A section ends at an empty line, at another heading, at a sentence about the patient, and at a
    complete sentence that names no relative.
    """
    family, other, empty, verb = _compiled_headings()
    inside, found, end, size = False, set[Chunk](), 0, 0
    for sentence in sentences:
        breaks = text[end : sentence.start].count("\n") + (sentence.start == 0)
        end = sentence.end
        if heading := family.match(sentence.text):
            rest = sentence.text[heading.end() :]
            inside, size = empty.match(rest) is None, int(bool(rest.strip()))
            if inside and size:
                found.add(sentence)
            continue
        scopes = _persons_in(sentence.text)
        inside = inside and not (
            (breaks > 1 and size > 0)
            or (breaks and other.match(sentence.text))
            or "end" in scopes
            or ("after" not in scopes and verb.search(sentence.text))
        )
        if inside:
            found.add(sentence)
            size += 1
    return found


def _persons_in(text: str) -> list[_Scope]:
    """Return the scopes of the persons in a sentence: ``end`` for the patient as its subject."""
    return [_PERSONS[m.lastindex - 1][1] for m in _compiled()[1].finditer(text) if m.lastindex]


@cache
def _compiled_headings() -> tuple[re.Pattern[str], ...]:
    """Return patterns of a family heading, another heading, an empty history and a finite verb."""
    patterns = (
        rf"(?:{_any_of(FAMILY_HEADINGS)}|(?-i:FH))\s*(?:[:\-–]|\Z)\s*",
        rf"(?:[\w/&-]+\s+){{0,4}}?{_any_of(OTHER_HEADINGS)}\s*(?::|\Z)",
        rf"(?:is\s+|was\s+)?{_any_of(EMPTY_HISTORIES)}\.?\s*\Z",
        _any_of(FINITE_VERBS),
    )
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)


def _assertion_of(text: str, mention: Mention, found: Sequence[_Trigger]) -> Assertion:
    governing = {
        trigger.assertion
        for trigger in found
        if trigger.scope in ("near", "after", "before", "label")
        and _governs(trigger, mention, found, text)
    }
    return next((one for one in _STRONGEST if one in governing), "affirmed")


def _governs(trigger: _Trigger, mention: Mention, found: Sequence[_Trigger], text: str) -> bool:
    """Return true if the trigger governs the mention: nothing between them ends its scope."""
    backward = trigger.scope in ("before", "label")
    low, high = (mention.end, trigger.start) if backward else (trigger.end, mention.start)
    if low > high or ";" in text[low:high]:
        return False
    if trigger.scope == "label":
        covers_list = ":" in text[trigger.start : trigger.end]  # seizures, hypotonia: none
        if not {*text[low:high]}.isdisjoint(":=()" if covers_list else ":=(),"):
            return False
    if trigger.scope == "near" and len(words_of(text, low, high)) >= _NEAR_WORDS:
        return False
    return not any(low <= other.start < high and _terminates(other, trigger) for other in found)


def _terminates(other: _Trigger, trigger: _Trigger) -> bool:
    """Return true if a phrase ends the scope of a trigger; persons have their own end phrases."""
    if "other_person" in (other.assertion, trigger.assertion):
        if other.assertion != trigger.assertion:
            return False
        return other.scope == "end" or (other.scope == "report" and trigger.scope == "after")
    return other.scope == "end"


def _triggers(sentence: Chunk, mentions: Sequence[Mention]) -> list[_Trigger]:
    """Return the triggers of a sentence that are not inside a mention or a longer trigger."""

    def make(match: re.Match[str], assertion: Assertion, scope: _Scope) -> _Trigger:
        start, end = match.span()
        return _Trigger(sentence.start + start, sentence.start + end, assertion, scope)

    def is_free(trigger: _Trigger) -> bool:
        return not any(m.start < trigger.end and trigger.start < m.end for m in mentions)

    rules, persons, persons_before = _compiled()
    phrases = [
        make(match, assertion, scope)
        for pattern, assertion, scope in rules
        for match in pattern.finditer(sentence.text)
    ]
    about_persons = [
        make(match, "other_person", _PERSONS[match.lastindex - 1][1])
        for match in persons.finditer(sentence.text)
        if match.lastindex
    ]
    about_persons += [
        make(match, "other_person", "before") for match in persons_before.finditer(sentence.text)
    ]
    free = list(filter(is_free, phrases))
    longest = [one for one in free if not any(_contains(other, one) for other in free)]
    return [*filter(is_free, about_persons), *longest]


def _contains(longer: _Trigger, shorter: _Trigger) -> bool:
    """Return true if a longer trigger contains a shorter one: *not excluded* contains *not*."""
    return (
        longer.start <= shorter.start
        and shorter.end <= longer.end
        and longer.end - longer.start > shorter.end - shorter.start
        and (longer.scope != "end" or shorter.scope == "end")
    )


@cache
def _compiled() -> tuple[
    tuple[tuple[re.Pattern[str], Assertion, _Scope], ...], re.Pattern[str], re.Pattern[str]
]:
    rules = tuple(
        (re.compile(pattern, re.IGNORECASE), assertion, scope)
        for pattern, assertion, scope in _RULES
    )
    persons = "|".join(f"({pattern})" for pattern, _ in _PERSONS)
    return rules, re.compile(persons, re.IGNORECASE), re.compile(_PERSONS_BEFORE, re.IGNORECASE)
