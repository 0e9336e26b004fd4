"""Phrases that say a finding is absent, in doubt, or another person's.

Selected from the published lists of NegEx (Chapman et al., J Biomed Inform 2001; 34:301–310) and
ConText (Harkema et al., J Biomed Inform 2009; 42:839–851). *May*, *can* and *risk of* are not among
them: in descriptions of diseases they say how often something is found, not whether.
"""

from __future__ import annotations

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
