"""Assign assertions to mentions: affirmed, negated, uncertain or other person, as in ConText.

A trigger phrase governs the text after it (or before it) in its sentence, up to a semicolon or a
phrase that ends its scope. *Not* alone governs five words. A longer phrase that only resembles a
trigger (*not only*) blocks the trigger inside it. A mention also blocks the triggers inside it: the
word *absent* in *absent speech* belongs to the name.

A relative remains the subject until the patient is mentioned (*he*, *the child*) or the relative
reports something (*his mother noticed*). Verbs, for example *has*, do not change the subject.
Siblings who are the patients of the text (*we report two sisters*) are no relatives. An answer
(*hypotonia: none*) governs the finding before it.

A negated negation (*not without*, *did not deny*) is none. Conditions (*if*, *should seizures
occur*) govern the rest of their sentence and are stronger than negation.

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
free from; negative for; neither; nor; no evidence of; no sign of; no signs of; no evidence for; no
history of; no indication of; no suggestion of; no suspicion of; with no; without any; without
evidence of; without signs of; rules out; ruled out; rule out; rather than; unremarkable for; had
no; has no; have no; showed no; shows no; excludes; excluded; exclusion of; not associated with;
cannot see; none had; none has; none have; none of; r/o; ruling out; to rule out; nor any; no
clinical evidence of; devoid of
"""
NEGATED_AFTER = """
was ruled out; were ruled out; is ruled out; are ruled out; has been ruled out; have been ruled
out; was excluded; were excluded; is excluded; is absent; are absent; was absent; were absent; was
denied; were denied; denied by; was negative; were negative; is negative; did not occur; does not
occur; do not occur; never occurred; has not occurred; have not occurred; had not occurred
"""
FINDING_VERBS = """
have; had; show; shown; develop; developed; experience; experienced; exhibit; exhibited; present
with; presented with; demonstrate; demonstrated; reveal; revealed; report; display; displayed;
suffer from; suffered from; manifest; manifested; complain of; complained of; known to have; having
"""
"""Verbs whose object is a finding, after *not* or *failed to*."""
OBSERVED = """
seen; observed; found; detected; reported; noted; noticed; present; identified; documented;
demonstrated; evident; elicited; appreciated; visualized; visualised; recorded; described;
encountered; apparent; detectable; visible; palpable; audible; heard; felt; confirmed
"""
"""Words after *was not* that negate the finding before them."""
NEGATED_PSEUDO = """
no increase; no change; no significant change; no interval change; no suspicious change; not only;
not just; not certain whether; not certain if; not necessarily; not always; not uncommon; not
uncommonly; not infrequently; not unusual; not rare; not yet known; gram negative; no further;
without difficulty; without treatment; without therapy; without intervention; with or without; no
longer than; whether or not; not drain; not cause; not cured; not extend; not specific; not to be;
no doubt; not all; not known; not every; no improvement; no cause; no treatment; no response; no
effect; no specific treatment; no worsening; not respond; not improve; not controlled; not explain;
not explained by; no relief
"""
ABSENCES = """
absence of; absence; lack of; lack; lacks; lacking; free of; free from; free; without; deny; denies;
denied; denying; denial of; negative for; negative; absent; resolution of; resolved; resolve;
remission of; remission; disappearance of; disappear; disappeared; cessation of; cease; ceased
"""
"""Negations that *not* turns into their opposite."""
UNCERTAIN_BEFORE = """
possible; possibly; probable; probably; suspected; suspicion of; suspicious for; suspect;
questionable; presumed; presumably; concern for; concerning for; suggestive of; suggesting; may
represent; might represent; could represent; may be ruled out for; should be ruled out for; what
must be ruled out is; be ruled out for; differential diagnosis includes; differential diagnosis of;
versus; likely represents; borderline; query; question of; equivocal; probably has; probably had;
probably have; possibly has; possibly had; possibly have; presumably has; presumably had; at risk
of; at risk for; at increased risk of; at increased risk for; at high risk of; at high risk for;
monitor for; monitored for; monitoring for; watch for; watched for; watch out for; look out for;
observe for; observed for; observation for; surveillance for; screen for; screened for; screening
for; evaluate for; assess for; assessed for; test for; tested for; testing for; check for; checked
for; precautions against; prophylaxis against; prophylaxis for; to prevent; prevention of; return
for; emergency department for; emergency room for; return precautions; alert to; as needed for; prn
for; look for; looking for; on the lookout for; to avoid; vaccination against; vaccinated against;
immunization against; immunized against; likely; most likely; being evaluated for; under evaluation
for; being tested for; work-up for; workup for
"""
CONDITIONS = """
if; in case; in case of; in cases of; in the event of; in the event that; unless; provided that;
unclear whether; uncertain whether; not certain whether; not certain if; whether; unclear if;
uncertain if; as long as no; whenever; in the case of; only if
"""
NOT_CONDITIONS = """
as if; even if; asked if; ask if; asks if; wondered if; wonder if; if any; whether or not; if not;
regardless of whether
"""
OCCUR = """
occur; occurs; develop; develops; arise; arises; appear; appears; recur; recurs
"""
UNCERTAIN_AFTER = """
is possible; are possible; was possible; is suspected; are suspected; was suspected; were
suspected; is questionable; may be ruled out; must be ruled out; should be ruled out; to be ruled
out; is unlikely; are unlikely; was unlikely; unlikely; is uncertain; are uncertain; was uncertain;
is unclear; was unclear; was questioned
"""
UNCERTAIN_PSEUDO = """
suspected from; suspected on; suspected by; suspected in; suspected at; suspected when; likely to;
more likely; less likely; likely due; likely because
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
SIBLINGS = """
siblings; sibs; brothers; sisters; twins; cousins; brother; sister; half-brothers; half-sisters
"""
REPORTING = """
report; reports; reported; reporting; note; notes; noted; notice; notices; noticed; observe;
observes; observed; describe; describes; described; state; states; stated; say; says; said; tell;
tells; told; recall; recalls; recalled; remember; remembers; remembered; deny; denies; denied;
denying; mention; mentions; mentioned; confirm; confirms; confirmed; admit; admits; admitted to;
believe; believes; believed; think; thinks; thought; suspect; suspects; suspected; saw; sees; ask;
asks; asked; wonder; wonders; wondered; worry; worries; seek; seeks; sought; bring; brings; brought;
took him; took her; took the; delivered
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
but; however; although; though; nevertheless; yet; except; except for; apart from; aside from; other
than; with the exception of; whereas; while; still; because; since; secondary to; cause of; source
of; causes of; sources of; reason for; reasons for; etiology of; in contrast; on the other hand;
besides; despite; in spite of; otherwise; due to; because of; as a result of; owing to; caused by
"""
NEW_PARTS = """
which; who; until; unless; has; had; have; presented with; presents with; patient; patients; the
proband; he; she; they; present; yes; positive
"""
"""Words that begin another part of a sentence; a condition also governs that part."""
CLAUSE_VERBS = """
is; are; was; were; has; had; have; shows; showed; develops; developed; presents; presented;
suffers; suffered; complains; complained; reports; reported; reveals; revealed; became; becomes;
wears; wore; uses; used; needs; needed; requires; required; receives; received; began; begins;
started; starts; takes; took; underwent; exhibits; exhibited; displays; displayed; demonstrates;
demonstrated; lost; gained; vomits; vomited; died; appears; appeared; remains; remained; did; does;
can; could; will; would; walks; walked; continues; continued; experienced; experiences; manifested;
disclosed; came; comes; visited; went; turned; learned; grew; sought; attended; failed; tested;
passed; weighed
"""
"""Verbs after *and* that begin another clause, which a trigger before *and* does not govern."""
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


_Scope = Literal[
    "near", "after", "before", "label", "pregnancy", "none", "end", "part", "clause", "report"
]
_Said = Assertion | Literal["conditional"]
_ENDS: tuple[_Scope, ...] = ("end", "part", "clause")
_LIST_END = re.compile(r"\b(?:and|or|nor)\b", re.IGNORECASE)
_OF_CHILD = re.compile(
    r"hydramnios|hydrops|f[o]?etal|intrauterine|nuchal|ventriculo|growth|anomal|malform|movement",
    re.IGNORECASE,
)
"""Findings in a pregnancy that are those of the child."""
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
_PLACE_OR_END = r"(?=\s*(?:[.,;:/)\]]|$|(?:and|or|but|in|on|at|from|since|until|during|with)\b))"
_PATIENT_GROUP = (  # patients 1 and 2; these; the patients
    r"(?:\b(?:these|they)|\b(?:the\s+)?(?:patients?|cases?|probands|subjects|individuals)\b"
    r"(?:\s*(?:,|and|&|to|-|–)?\s*(?:patients?\s+)?(?:\d+|[IVX]+[.:-]\d+)\b)*)"
)
_SIBLINGS = rf"{_any_of(SIBLINGS)}(?:\s+and\s+{_DETERMINER}?{_any_of(SIBLINGS)})?"
_PATIENT_SIBLINGS = (
    rf"{_PATIENT_GROUP}\s+(?:are|were)\s+[^.;]{{0,40}}?{_SIBLINGS}"
    rf"|{_PATIENT_GROUP}\s*(?:,|is|was)\s+{_DETERMINER}{_ADJECTIVES}{_SIBLINGS}\s+of\s+"
    rf"{_PATIENT_GROUP}"
    r"|\b(?:we|here|report|study|article)\s+(?:[\w-]+\s+){0,3}?"
    r"(?:report|describe|present|studied|study|examined|evaluated|identified|investigated|saw"
    r"|concerns|describes|presents|reports)\s+(?:on\s+)?"
    rf"(?:[\w'’-]+\s+){{0,4}}?{_SIBLINGS}"
    rf"|\b(?:two|three|four|five)\s+{_ADJECTIVES}{_SIBLINGS}"
    r"(?=[^.;]{0,80}\b(?:presented|were\s+(?:referred|seen|admitted|evaluated|examined|studied)"
    r"|(?:is|are|were)\s+(?:described|reported|presented))\b)"
    rf"|{_any_of(RELATIVES)}(?=,?\s*\(?\s*(?:patients?|cases?)\s+\w)"
)
"""Siblings who are the patients of the text."""
_DEFINITE_SIBLINGS = (
    r"\b(?:both|these|(?:both\s+)?(?:the|our)\s+(?:two|three|four|five|affected))\s+"
    rf"(?:(?:two|three|four|five|affected)\s+)*{_SIBLINGS}"
)
_SIBLINGS_AGAIN = (
    r"\b(?:both|these|those|all|our|the|two|three|twin|identical)\s+"
    rf"(?:(?:two|three|four|affected|older|elder|younger|first|second|twin)\s+){{0,2}}{_SIBLINGS}"
)
"""The same siblings in other sentences of the text."""

_PERSONS: tuple[tuple[str, _Scope], ...] = (
    # The patterns are alternatives of one regular expression, and the first that matches is used.
    # So exceptions precede the rules.
    (_any_of(NOT_FAMILY), "none"),
    (
        r"\brelative\s+to\b|\brelative(?=\s+(?!(?:"  # relative macrocephaly
        r"with|who|whose|had|has|have|having|is|was|were|also|on|of|in|from|died|developed|suffer\w*"
        r"|presented|report\w*|noted|diagnosed|affected|by|and|or|carrie[ds])\b)[a-z])",
        "none",
    ),
    (_PATIENT_SIBLINGS, "none"),
    (_DEFINITE_SIBLINGS, "none"),
    (r"\b(?:sibling|sib|twin|brother|sister)\s+(?:\d+|[AB])\b", "none"),
    (
        r"\bpregnancy(?:\s+with\s+(?:him|her|\w+\s+\w+))?\s+(?:was\s+|is\s+|had\s+been\s+)?"
        r"(?:complicated\s+by|notable\s+for|remarkable\s+for|significant\s+for)",
        "pregnancy",
    ),
    (  # she is the mother of two children
        rf"{_PATIENT}\s+(?:is|was)\s+(?:a|the)\s+{_ADJECTIVES}{_RELATIVE}"
        rf"|(?<=\bis\sa\s){_RELATIVE}(?=\s+of\b)",
        "none",
    ),
    (
        rf"(?:{_PATIENT}|\b(?:boy|girl|child|infant)\b)\s+(?:and|or)\s+"
        rf"(?:{_DETERMINER}{_ADJECTIVES})?{_RELATIVE}",
        "none",
    ),  # he and his mother
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
    (
        r"\b(?:was|were|been)\s+(?:told|advised|instructed|informed|asked|warned|counsell?ed)\b",
        "report",
    ),
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

_NOT = r"(?:\b(?:not|never|no|nor|cannot|hardly|scarcely|neither|without)\b|n['’]t\b)"
_SLIGHTLY = (
    r"(?:\s+(?:a|an|any|the|be|been|being|ever|yet|longer|completely|entirely|fully|totally|really"
    r"|definitely|definitively|clinically|clearly|formally|evidence\s+of|sign\s+of)\b){0,3}\s+"
)
_AUXILIARY = (
    r"(?:\b(?:has|have|had|is|are|was|were|do|does|did|can|could|may|might|should|would)"
    r"(?:\s+|(?=n['’]t)))"
)
_NO_NEGATION = (
    rf"{_AUXILIARY}?{_NOT}{_SLIGHTLY}{_any_of(ABSENCES)}"
    r"|\b(?:no|hardly\s+an?|scarcely\s+an?|rarely\s+an?|not\s+an?)\s+(?:single\s+)?(?:day|night|week|month|year)\s+"
    r"(?:\w+\s+)?without\b"
    r"|\bnot\s+(?:true|correct|the\s+case)\s+that\b[^.;]{0,30}?\b(?:no|not|never|without)\b"
)
_OPEN = (
    rf"{_AUXILIARY}?(?:{_NOT}|\b(?:unable|difficult|impossible|hard)\s+to)"
    r"(?:\s+(?:be|been|yet|fully|completely|entirely|definitively|definitely|formally))*\s+"
)
_NOT_OBSERVED = (
    rf"{_AUXILIARY}?(?:\b(?:not|never|cannot)\b|n['’]t\b)(?:\s+(?:be|been|yet|ever|\w+ly))*\s+"
    rf"{_any_of(OBSERVED)}"
)
_NOT_HAVE = (
    rf"{_AUXILIARY}?(?:\b(?:not|never)\b|n['’]t\b)(?:\s+(?:yet|ever|been|\w+ly))*\s+"
    rf"{_any_of(FINDING_VERBS)}"
    r"|\bnor\s+(?:did|does|do|has|had|have|was|were|is|are|could|can)"
    rf"(?:\s+(?:he|she|they|there|it|the\s+\w+))?(?:\s+{_any_of(FINDING_VERBS)})?"
    r"|\b(?:failed|fails|failing|unable)\s+to\s+(?:reveal|show|demonstrate|detect|identify|find"
    r"|disclose|elicit)\b"
)
_CONDITION = (
    _any_of(CONDITIONS) + r"|(?:\A|(?<=[,;])\s*)(?:should\b|were\b(?=[^.;]*\bto\b))"
    rf"|\bwhen(?=\s+(?:[\w-]+\s+){{1,4}}?{_any_of(OCCUR)})"
)
_LOOKED_FOR = (  # monitor the child for
    r"\b(?:monitor|watch|observe|screen|check|test|evaluate|assess)(?:ed|ing|s)?\s+"
    r"(?:(?!negative|positive|was|were|is|are)[\w'’-]+\s+){1,3}?for\b"
)
_NEGATIVE_FOR = r"\bnegative\s+(?:[\w-]+\s+){1,4}?for\b"
_NEW_CLAUSE = (
    r"(?:,|,?\s+and)\s+(?:(?:then|later|subsequently|also|now|he|she|it|they)\s+)*"
    rf"(?:was\s+|were\s+)?{_any_of(CLAUSE_VERBS)}"
    rf"|,\s+(?:and|she|he|they)\s+(?:[\w-]+\s+){{0,4}}?{_any_of(CLAUSE_VERBS)}"
    r"|\band\s+(?:the|his|her|their|a|an|at|by|on|after|in|from)\s+"
    rf"(?:[\w-]+\s+){{1,4}}?{_any_of(CLAUSE_VERBS)}"
)
_ONE_PATIENT = r"(?:he|she|(?:the|this|our)\s+(?:patient|child|boy|girl|infant|baby|proband))"

_RULES: tuple[tuple[str, _Said, _Scope], ...] = (
    (_any_of(NEGATED_NEAR), "negated", "near"),
    (_any_of(NEGATED_BEFORE), "negated", "after"),
    (_NOT_HAVE, "negated", "after"),
    (_NEGATIVE_FOR, "negated", "after"),
    (_any_of(NEGATED_AFTER), "negated", "before"),
    (rf"\b(?:absent|free){_PLACE_OR_END}", "negated", "before"),
    (rf"\bnever\s+(?:developed|manifested|appeared){_PHRASE_END}", "negated", "before"),
    (_NOT_OBSERVED, "negated", "before"),
    (
        rf"{_AUXILIARY}not\s+(?:\w+ly\s+)?(?:develop|appear|emerge|arise)(?:ed)?{_PHRASE_END}",
        "negated",
        "before",
    ),
    (_any_of(NEGATED_PSEUDO), "negated", "none"),
    (_NO_NEGATION, "negated", "none"),
    (_HEADING_OF_NEGATED, "negated", "after"),
    (_ANSWER, "negated", "label"),
    (_MINUS, "negated", "label"),
    (_UNCERTAIN_ANSWER, "uncertain", "label"),
    (r"\?(?=\w)", "uncertain", "near"),
    (r"\[\+\]|[,;]\s*\+\s*(?=\w)", "affirmed", "end"),
    (_CONDITION, "conditional", "after"),
    (_any_of(NOT_CONDITIONS), "conditional", "none"),
    (_any_of(UNCERTAIN_BEFORE), "uncertain", "after"),
    (_LOOKED_FOR, "uncertain", "after"),
    (rf"\b{_ONE_PATIENT}\s+(?:may|might|could)\s+(?:have|suffer\s+from)\b", "uncertain", "after"),
    (rf"{_OPEN}(?:exclude|rule\s+out)\b", "uncertain", "after"),
    (rf"{_OPEN}(?:excluded|ruled\s+out)\b", "uncertain", "before"),
    (_any_of(UNCERTAIN_AFTER), "uncertain", "before"),
    (
        r"\b(?:(?:is|are|was|were)\s+(?:considered|likely)|(?:seem|appear|remain)(?:s|ed)?\s+"
        rf"(?:possible|likely|unlikely|uncertain|unclear)){_PHRASE_END}",
        "uncertain",
        "before",
    ),
    (_any_of(UNCERTAIN_PSEUDO), "uncertain", "none"),
    (_any_of(TERMINATES), "affirmed", "end"),
    (_any_of(NEW_PARTS), "affirmed", "part"),
    (_NEW_CLAUSE, "affirmed", "clause"),
)
_STRONGEST: tuple[_Said, ...] = ("other_person", "conditional", "negated", "uncertain")
"""If triggers with different assertions govern a mention, the first of these applies."""


@dataclass(frozen=True, slots=True)
class _Trigger:
    start: int
    end: int
    assertion: _Said
    scope: _Scope


def assert_mentions(text: str, mentions: Iterable[Mention]) -> list[Mention]:
    """Return the mentions, each with the assertion of its sentence."""
    found = list(mentions)
    result = []
    sentences = chunk(text, "sentence")
    about_family = _family_history(text, sentences)
    siblings = _compiled_siblings()[0].search(text) is not None
    for sentence in sentences:
        inside = [m for m in found if sentence.start <= m.start < sentence.end]
        if sentence in about_family:
            result += [replace(m, assertion="other_person") for m in inside]
        elif inside:
            governing = _triggers(sentence, inside, siblings)
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
        if trigger.scope in ("near", "after", "before", "label", "pregnancy")
        and _governs(trigger, mention, found, text)
    }
    strongest: _Said = next((one for one in _STRONGEST if one in governing), "affirmed")
    return "uncertain" if strongest == "conditional" else strongest


def _governs(trigger: _Trigger, mention: Mention, found: Sequence[_Trigger], text: str) -> bool:
    """Return true if the trigger governs the mention: nothing between them ends its scope."""
    backward = trigger.scope in ("before", "label")
    low, high = (mention.end, trigger.start) if backward else (trigger.end, mention.start)
    if low > high or ";" in text[low:high]:
        return False
    if trigger.scope == "label":
        covers_list = ":" in text[trigger.start : trigger.end]  # seizures, hypotonia: none
        covers_list = covers_list or _LIST_END.search(text[low:high]) is not None
        if not {*text[low:high]}.isdisjoint(":=()" if covers_list else ":=(),"):
            return False
    if trigger.scope == "pregnancy" and _OF_CHILD.search(text[mention.start : mention.end]):
        return False
    if trigger.scope == "near" and len(words_of(text, low, high)) >= _NEAR_WORDS:
        return False
    return not any(low <= other.start < high and _terminates(other, trigger) for other in found)


def _terminates(other: _Trigger, trigger: _Trigger) -> bool:
    """Return true if a phrase ends the scope of a trigger; persons have their own end phrases."""
    if "other_person" in (other.assertion, trigger.assertion):
        if other.assertion != trigger.assertion:
            return False
        return other.scope == "end" or (
            other.scope == "report" and trigger.scope in ("after", "pregnancy")
        )
    if other.scope == "end":
        return True
    if trigger.assertion == "conditional":
        return False
    forward = trigger.scope in ("near", "after")
    return other.scope == "part" or (other.scope == "clause" and forward)


def _triggers(sentence: Chunk, mentions: Sequence[Mention], siblings: bool) -> list[_Trigger]:
    """Return the triggers of a sentence that are not inside a mention or a longer trigger.

    ``siblings`` is true if the patients of the text are siblings.
    """

    def make(match: re.Match[str], assertion: _Said, scope: _Scope) -> _Trigger:
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
    if siblings:
        again = list(_compiled_siblings()[1].finditer(sentence.text))
        about_persons = [
            one
            for one in about_persons
            if not any(match.start() <= one.start - sentence.start < match.end() for match in again)
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
        and (longer.scope not in _ENDS or shorter.scope in _ENDS)
    )


@cache
def _compiled_siblings() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns of siblings who are the patients, and of their next mentions."""
    return re.compile(_PATIENT_SIBLINGS, re.IGNORECASE), re.compile(_SIBLINGS_AGAIN, re.IGNORECASE)


@cache
def _compiled() -> tuple[
    tuple[tuple[re.Pattern[str], _Said, _Scope], ...], re.Pattern[str], re.Pattern[str]
]:
    rules = tuple(
        (re.compile(pattern, re.IGNORECASE), assertion, scope)
        for pattern, assertion, scope in _RULES
    )
    persons = "|".join(f"({pattern})" for pattern, _ in _PERSONS)
    return rules, re.compile(persons, re.IGNORECASE), re.compile(_PERSONS_BEFORE, re.IGNORECASE)
