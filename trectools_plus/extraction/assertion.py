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
import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Literal, NamedTuple, cast

from trectools_plus.extraction.words import Assertion, Chunk, Mention, chunk, fold, words_of
from trectools_plus.retrieval.hpo.glossary import function_words, included_glossary, read_cues
from trectools_plus.validation.texts import stop_words

ENGLISH = "en"
CUE_LANGUAGES = (ENGLISH, "de", "fr", "es", "nl")
"""Languages with phrases of negation and relatives."""

FINDING_VERBS = """
have; had; show; shown; develop; developed; experience; experienced; exhibit; exhibited; present
with; presented with; demonstrate; demonstrated; reveal; revealed; report; display; displayed;
suffer from; suffered from; manifest; manifested; complain of; complained of; known to have; having
"""
"""Verbs whose object is a finding, after *not* or *failed to*."""
OBSERVED = """
seen; observed; found; detected; reported; noted; noticed; present; identified; documented;
demonstrated; evident; elicited; appreciated; visualized; visualised; recorded; described;
encountered; apparent; detectable; visible; palpable; audible; heard; felt; confirmed; witnessed;
experienced
"""
"""Words after *was not* that negate the finding before them."""
ABSENCES = """
absence of; absence; lack of; lack; lacks; lacking; free of; free from; free; without; deny; denies;
denied; denying; denial of; negative for; negative; absent; resolution of; resolved; resolve;
remission of; remission; disappearance of; disappear; disappeared; cessation of; cease; ceased
"""
"""Negations that *not* turns into their opposite."""
IN_FAMILY = """
in the family; in his family; in her family; in their family; runs in the family; run in the family;
on the maternal side; on the paternal side; on the mother's side; on the father's side; on his
mother's side; on his father's side; on her mother's side; on her father's side
"""
SIBLINGS = """
siblings; sibs; brothers; sisters; twins; cousins; brother; sister; half-brothers; half-sisters
"""
CONTRASTS = """
but; however; although; though; whereas; while; in contrast; on the other hand; and there
"""
SAME_SUBJECT = """
no; not; never; without; has; had; have; is; are; was; were; did; does; do; denies; also; otherwise;
with
"""
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


_Scope = str
_Said = Assertion | Literal["conditional"]
_GOVERNING: tuple[_Scope, ...] = ("near", "after", "before", "label", "pregnancy", "family")
_ENDS: tuple[_Scope, ...] = ("end", "part", "clause")
_LIST_END = re.compile(r"\b(?:and|or|nor)\b", re.IGNORECASE)
_OF_CHILD = re.compile(
    r"hydramnios|hydrops|f[o]?etal|intrauterine|nuchal|ventriculo|growth|anomal|malform|movement",
    re.IGNORECASE,
)
"""Findings in a pregnancy that are those of the child."""
_NEAR_WORDS = 5
"""The number of words that a trigger of the scope ``near`` governs: the window of NegEx."""


def _any_of(listed: str, relatives: str = "") -> str:
    """Return a pattern for a list of phrases, the longest first.

    It allows any white space between words, and both forms of the apostrophe. ``*`` stands for any
    letters, ``…`` for up to three words, ``@`` for a relative, and an accent may be missing.
    """
    phrases = {" ".join(phrase.split()).replace("… ", "…") for phrase in listed.split(";")} - {""}
    longest_first = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    alternatives = "|".join("".join(map(_pattern_of, phrase)) for phrase in longest_first)
    return rf"(?<![\w-])(?:{alternatives.replace('@', relatives)})(?![\w-])"


def _pattern_of(letter: str) -> str:
    if letter.isascii() or letter == "…":
        return _SPECIAL.get(letter) or re.escape(letter)
    plain = unicodedata.normalize("NFD", letter)[0]
    return "(?:ß|ss)" if letter == "ß" else f"[{letter}{plain}]" + "e?" * (letter in "äöü")


_SPECIAL = {" ": r"\s+", "'": "['’]", "*": r"\w*", "@": "@", "…": r"(?:[\w'’-]+\s+){0,3}?"}


_RELATIVE = _any_of(
    """
mother; mothers; father; fathers; mom; mum; dad; parent; parents; brother; brothers; sister;
sisters; sibling; siblings; sib; sibs; half-brother; half-brothers; half-sister; half-sisters;
half-sibling; half-siblings; half-sib; half-sibs; twin brother; twin sister; co-twin; grandmother;
grandmothers; grandfather; grandfathers; grandparent; grandparents; great-grandmother;
great-grandfather; great-grandparent; great-grandparents; great-aunt; great-uncle; aunt; aunts;
uncle; uncles; cousin; cousins; nephew; nephews; niece; nieces; relative; relatives; family member;
family members; gran; granny; grandma; grandpa; grandad; granddad; nan; nana; MGM; MGF; PGM; PGF;
son; sons; daughter; daughters; grandson; granddaughter; grandchild; spouse; wife; husband
"""
)
_REPORTS = _any_of(
    """
report; reports; reported; reporting; note; notes; noted; notice; notices; noticed; observe;
observes; observed; describe; describes; described; state; states; stated; say; says; said; tell;
tells; told; recall; recalls; recalled; remember; remembers; remembered; deny; denies; denied;
denying; mention; mentions; mentioned; confirm; confirms; confirmed; admit; admits; admitted to;
believe; believes; believed; think; thinks; thought; suspect; suspects; suspected; saw; sees; ask;
asks; asked; wonder; wonders; wondered; worry; worries; seek; seeks; sought; bring; brings; brought;
took him; took her; took the; delivered
"""
)
_PATIENT = _any_of(
    """
the couple's son; the couple's daughter; the couple's child; he; she; patient; patients; proband;
probands; propositus; proposita; index case; the child; this child; the boy; this boy; the girl;
this girl; the infant; this infant; the baby; this baby; the newborn; the neonate; their child;
their son; their daughter; their baby
"""
)
_DETERMINER = (
    r"(?:(?:his|her|the|a|an|one|two|three|four|five|several|some|all|other|both|their|my|your|this"
    r"|patient['’]s|proband['’]s)\s+)"
)
_ADJECTIVES = r"(?:[\w'’-]+\s+){0,2}?"
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
    rf"|{_RELATIVE}(?=,?\s*\(?\s*(?:patients?|cases?)\s+\w)"
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
    (
        _any_of("""
maternal inheritance; paternal inheritance; maternal age; paternal age; maternal uniparental
disomy; paternal uniparental disomy; maternal allele; paternal allele; maternal chromosome;
paternal chromosome; maternal transmission; paternal transmission; parents were consanguineous;
parents are consanguineous; son of; daughter of; their son; their daughter; family history is
unremarkable; family history was unremarkable; family history is noncontributory; family history was
noncontributory; family history is non-contributory; family history was non-contributory
""")
        + r"|\brelative\s+to\b|\brelative(?=\s+(?!(?:"  # relative macrocephaly
        r"with|who|whose|had|has|have|having|is|was|were|also|on|of|in|from|died|developed|suffer\w*"
        r"|presented|report\w*|noted|diagnosed|affected|by|and|or|carrie[ds])\b)[a-z])"
        rf"|{_PATIENT_SIBLINGS}|{_DEFINITE_SIBLINGS}"
        r"|\b(?:sibling|sib|twin|brother|sister)\s+(?:\d+|[AB])\b",
        "none",
    ),
    (
        r"\bpregnancy(?:\s+with\s+(?:him|her|\w+\s+\w+))?\s+(?:was\s+|is\s+|had\s+been\s+)?"
        r"(?:complicated\s+by|notable\s+for|remarkable\s+for|significant\s+for)",
        "pregnancy",
    ),
    (  # she is the mother of two children
        rf"{_PATIENT}\s+(?:is|was)\s+(?:a|the)\s+{_ADJECTIVES}{_RELATIVE}"
        rf"|(?<=\bis\sa\s){_RELATIVE}(?=\s+of\b)"
        rf"|(?:{_PATIENT}|\b(?:boy|girl|child|infant)\b)\s+(?:and|or)\s+"
        rf"(?:{_DETERMINER}{_ADJECTIVES})?{_RELATIVE}"  # he and his mother
        rf"|\bof\s+(?:(?:the|this|our)\s+)?{_PATIENT}"  # the sister of the patient
        rf"|{_PATIENT}['’]s?(?=\s+{_ADJECTIVES}{_RELATIVE})"
        rf"|\b(?:healthy|consanguineous|non-?consanguineous|unrelated|unaffected)\s+{_RELATIVE}"
        rf"|{_RELATIVE}(?=\s+(?:is|are|was|were)\s+(?:both\s+)?"
        r"(?:healthy|well|unaffected|normal|asymptomatic)"
        rf"\b)"
        rf"|{_RELATIVE}['’]s?\s+(?:report|request|account|concern|observation)s?\b",
        "none",
    ),
    (rf"\A(?:in|among)\s+{_DETERMINER}?{_RELATIVE}", "after"),  # in the mother, …
    (
        r"\b(?:according\s+to|per|by|from|via|to|with|like|unlike|than|as|in|of|among)\s+"
        rf"(?:{_DETERMINER}{_ADJECTIVES})?{_RELATIVE}"
        r"(?!,?\s+(?:with|who|whose|having|has|had|have)\b)"
        rf"",
        "none",
    ),
    (
        rf"{_any_of('family history; familial history; maternal; paternal')}(?:\s+{_REPORTS})?",
        "family",
    ),
    (_RELATIVE, "after"),
    (
        r"\b(?:was|were|been)\s+(?:told|advised|instructed|informed|asked|warned|counsell?ed)\b",
        "report",
    ),
    # was reported to have
    (
        rf"\b(?:is|are|was|were|been|being)\s+(?:\w+ly\s+)?{_REPORTS}|"
        + _any_of("""
of note; has confirmed; have confirmed; had confirmed; with confirmed; has suspected; have
suspected; had suspected; with suspected; a confirmed; a suspected
"""),
        "none",
    ),
    (rf"{_any_of(CONTRASTS)}(?!\s+{_any_of(SAME_SUBJECT)})", "end"),
    (  # no family history of seizures but has ataxia
        rf"(?:,|\band|{_any_of(CONTRASTS)})\s+(?:\w+ly\s+|also\s+|now\s+)?"
        r"(?:has|had|have|is|was|shows?|showed|presents?|presented|develops|developed|suffers)\b",
        "part",
    ),
    (_PATIENT, "end"),
    (rf"{_REPORTS}|{_any_of('concerned; worried; anxious; gave birth')}", "report"),
)
_PERSONS_BEFORE = (
    rf"{_any_of(IN_FAMILY)}"
    rf"|\b(?:in|of|among|affecting)\s+(?:{_DETERMINER}{_ADJECTIVES})?{_RELATIVE}"
)
_NOT = r"(?:\b(?:not|never|no|nor|cannot|hardly|scarcely|neither|without)\b|n['’]t\b)"
_SLIGHTLY = (
    r"(?:\s+(?:a|an|any|the|be|been|being|ever|yet|longer|completely|entirely|fully|totally|really"
    r"|definitely|definitively|clinically|clearly|formally|evidence\s+of|sign\s+of)\b){0,3}\s+"
)
_AUXILIARY = (
    r"(?:\b(?:has|have|had|is|are|was|were|do|does|did|can|could|may|might|should|would)"
    r"(?:\s+|(?=n['’]t)))"
)
_OPEN = (
    rf"{_AUXILIARY}?(?:{_NOT}|\b(?:unable|difficult|impossible|hard)\s+to)"
    r"(?:\s+(?:be|been|yet|fully|completely|entirely|definitively|definitely|formally))*\s+"
)

_RULES: tuple[tuple[str, _Said, _Scope], ...] = (
    (
        rf"{_AUXILIARY}?(?:\b(?:not|never)\b|n['’]t\b)(?:\s+(?:yet|ever|been|\w+ly))*\s+"
        rf"{_any_of(FINDING_VERBS)}"
        r"|\bnor\s+(?:did|does|do|has|had|have|was|were|is|are|could|can)"
        rf"(?:\s+(?:he|she|they|there|it|the\s+\w+))?(?:\s+{_any_of(FINDING_VERBS)})?"
        r"|\b(?:failed|fails|failing|unable)\s+to\s+(?:reveal|show|demonstrate|detect|identify|find"
        r"|disclose|elicit)\b",
        "negated",
        "after",
    ),
    (r"\bnegative\s+(?:[\w-]+\s+){1,4}?for\b", "negated", "after"),
    (rf"\b(?:absent|free){_PLACE_OR_END}", "negated", "before"),
    (
        rf"{_AUXILIARY}?\bnever\s+(?:been\s+)?(?:developed|manifested|appeared|occurred|happened|arisen"
        rf"|experienced|had|a\s+(?:problem|concern|feature)){_PLACE_OR_END}",
        "negated",
        "before",
    ),
    (
        rf"{_AUXILIARY}?(?:\b(?:not|never|cannot)\b|n['’]t\b)(?:\s+(?:be|been|yet|ever|\w+ly))*\s+"
        rf"{_any_of(OBSERVED)}",
        "negated",
        "before",
    ),
    (
        rf"{_AUXILIARY}not\s+(?:\w+ly\s+)?(?:develop|appear|emerge|arise|happen|occur|recur)(?:r?ed)?{_PHRASE_END}",
        "negated",
        "before",
    ),
    (
        rf"{_AUXILIARY}?{_NOT}{_SLIGHTLY}{_any_of(ABSENCES)}"
        r"|\b(?:no|hardly\s+an?|scarcely\s+an?|rarely\s+an?|not\s+an?)\s+(?:single\s+)?(?:day|night|week|month|year)\s+"
        r"(?:\w+\s+)?without\b"
        r"|\bnot\s+(?:true|correct|the\s+case)\s+that\b[^.;]{0,30}?\b(?:no|not|never|without)\b",
        "negated",
        "none",
    ),
    (
        _any_of("""
if; in case; in case of; in cases of; in the event of; in the event that; unless; provided that;
unclear whether; uncertain whether; not certain whether; not certain if; whether; unclear if;
uncertain if; as long as no; whenever; in the case of; only if
""")
        + r"|(?:\A|(?<=[,;])\s*)(?:should\b|were\b(?=[^.;]*\bto\b))"
        r"|\bwhen(?=\s+(?:[\w-]+\s+){1,4}?(?:occur|develop|arise|appear|recur)s?\b)",
        "conditional",
        "after",
    ),
    (
        # monitor the child for
        r"\b(?:monitor|watch|observe|screen|check|test|evaluate|assess)(?:ed|ing|s)?\s+"
        r"(?:(?!negative|positive|was|were|is|are)[\w'’-]+\s+){1,3}?for\b",
        "uncertain",
        "after",
    ),
    (
        r"\b"
        r"(?:he|she|(?:the|this|our)\s+(?:patient|child|boy|girl|infant|baby|proband))"
        r"\s+(?:may|might|could)\s+(?:have|suffer\s+from)\b",
        "uncertain",
        "after",
    ),
    (rf"{_OPEN}(?:exclude|rule\s+out)\b", "uncertain", "after"),
    (rf"{_OPEN}(?:excluded|ruled\s+out)\b", "uncertain", "before"),
    (
        r"\b(?:(?:is|are|was|were)\s+(?:considered|likely)|(?:seem|appear|remain)(?:s|ed)?\s+"
        rf"(?:possible|likely|unlikely|uncertain|unclear)){_PHRASE_END}",
        "uncertain",
        "before",
    ),
    (
        r"(?:,|,?\s+and)\s+(?:(?:then|later|subsequently|also|now|he|she|it|they)\s+)*"
        rf"(?:was\s+|were\s+)?{_any_of(CLAUSE_VERBS)}"
        rf"|,\s+(?:and|she|he|they)\s+(?:[\w-]+\s+){{0,4}}?{_any_of(CLAUSE_VERBS)}"
        r"|\band\s+(?:the|his|her|their|a|an|at|by|on|after|in|from)\s+"
        rf"(?:[\w-]+\s+){{1,4}}?{_any_of(CLAUSE_VERBS)}",
        "affirmed",
        "clause",
    ),
)
_HISTORY = (
    r"(?:(?:the|patient|personal|own|past|medical|clinical|history|of|exam|examination|screening|is|was"
    r"|so|far|to|date|currently|always|both|sides|bilaterally|on|at)\s+){1,5}"
)
"""Words between a finding with a colon and the answer: *patient history negative*."""


def _rules_of(said: Mapping[str, str]) -> Iterator[tuple[str, _Said, _Scope]]:
    """Yield the rules of the phrases of a language, by their names."""
    for name, pattern in said.items():
        assertion, _, scope = name.partition(" ")
        if assertion in ("affirmed", "negated", "uncertain", "conditional"):
            yield pattern, cast(_Said, assertion), scope
    yield (
        rf"(?:\s*[:=(]\s*|\s+[-–—]\s+|\s+|\s*:\s*{_HISTORY}){said['negative answers']}{_PHRASE_END}"
        r"|\s*[:=]\s*(?:none|nil)\b|\s*\(\s*[-−–]\s*\)|\s*[:=]\s*[-−–∅]\s*(?=[,;]|$)"
        r"|\s+[-−–](?=\s*(?:[,;]|$))",  # hypotonia -, seizures +
        "negated",
        "label",
    )
    heading = rf"(?:\A|(?<=[;,.])\s*)(?:[\w-]+\s+){{0,3}}?{said['negative headings']}"
    yield rf"{heading}\s*:|\[[-−–]\]", "negated", "after"
    answers = said["uncertain answers"]
    yield rf"\s*[:=(]\s*{answers}{_PHRASE_END}|\s*\?", "uncertain", "label"
    yield r"\?(?=\w)", "uncertain", "near"
    yield r"\[\+\]|[,;]\s*\+\s*(?=\w)", "affirmed", "end"


_STRONGEST: tuple[_Said, ...] = ("other_person", "conditional", "negated", "uncertain")
"""If triggers with different assertions govern a mention, the first of these applies."""


class _Trigger(NamedTuple):
    start: int
    end: int
    assertion: _Said
    scope: _Scope


def languages_of(text: str, english: Container[str], names: Container[str]) -> tuple[str, ...]:
    """Return the languages of ``CUE_LANGUAGES`` that a text can be in, the most likely first.

    It is the language that explains most letters, those of stop words twice. Words of names are the
    same in many languages, so they only count if a long text has few others. The few other words of
    a short text can be of several languages, or of none of these; without any, each is possible.

    Args:
        text: The text.
        english: English words in lower case; the glossaries have those of other languages.
        names: Words of the names of terms.
    """
    words = [word for word in _LETTERS.findall(text) if not word.isupper()][:_MOST_WORDS]
    others = [word for word in words if fold(word) not in names]
    if not others and len(words) < _FEW_WORDS:
        return CUE_LANGUAGES
    is_short = len(others) < _FEW_WORDS
    words = others or words
    total = sum(map(len, words)) or 1

    def share_of(chosen: Iterable[str]) -> float:
        return sum(map(len, chosen)) / total

    known, shares = dict[str, float](), dict[str, float]()
    for language in CUE_LANGUAGES:
        glossary, stops = included_glossary(language), stop_words(language)
        known[language] = share_of(word for word in words if fold(word) in english)
        if glossary:
            common = function_words(language)
            rest = [word for word in words if common.isdisjoint((word, word.lower()))]
            unknown = share_of(rest) * (1 - glossary.translate(" ".join(rest)).known)
            known[language] = 1 - unknown
        shares[language] = known[language] + share_of(w for w in words if w.lower() in stops)
    likely = sorted(CUE_LANGUAGES, key=lambda language: -shares[language])
    if is_short:
        possible = [language for language in likely if known[language] >= _LEAST_OF_SHORT]
        further = () if not possible or ENGLISH in possible else set(likely) - {*possible, ENGLISH}
        return (*possible, *sorted(further))
    return tuple(likely[:1]) if shares[likely[0]] >= _LEAST_EXPLAINED else ()


_LETTERS = re.compile(r"[^\W\d_]{2,}")
_MOST_WORDS = 200
_FEW_WORDS = 8
_LEAST_EXPLAINED = 0.5
_LEAST_OF_SHORT = 0.7


def assert_mentions(
    text: str, mentions: Sequence[Mention], language: str = ENGLISH
) -> list[Mention]:
    """Return the mentions, each with the assertion of its sentence.

    Args:
        text: The text.
        mentions: The mentions in it.
        language: The language of the text, one of ``CUE_LANGUAGES``.
    """
    # Few texts have a relative, and compiling the second pattern takes long.
    has_siblings = language == ENGLISH and all(
        re.search(pattern, text, re.IGNORECASE)
        for pattern in (rf"{_RELATIVE}|{_any_of(SIBLINGS)}", _PATIENT_SIBLINGS)
    )
    cues = _cues_of(language, has_siblings)
    result = []
    # A full stop of an abbreviation ends no sentence.
    masked = cues.abbreviation.sub(lambda match: match[0][:-1] + " ", text)
    sentences = [
        sentence._replace(text=text[sentence.start : sentence.end])
        for sentence in chunk(masked, "sentence")
    ]
    about_family = _family_history(text, sentences, cues)
    for sentence in sentences:
        inside = [m for m in mentions if sentence.start <= m.start < sentence.end]
        if sentence in about_family:
            result += [replace(m, assertion="other_person") for m in inside]
        elif inside:
            governing = _triggers(sentence, inside, cues)
            result += [replace(m, assertion=_assertion_of(text, m, governing)) for m in inside]
    return result


def _family_history(text: str, sentences: Sequence[Chunk], cues: _Cues) -> set[Chunk]:
    """Return the sentences of sections with a heading such as *Family history:*.

    A section ends at an empty line, at another heading, at a sentence about the patient, and at a
    complete sentence that names no relative.
    """
    inside, family, end, size = False, set[Chunk](), 0, 0
    for sentence in sentences:
        breaks = text[end : sentence.start].count("\n") + (sentence.start == 0)
        end = sentence.end
        if heading := cues.family_heading.match(sentence.text):
            rest = sentence.text[heading.end() :]
            inside, size = cues.empty_history.match(rest) is None, int(bool(rest.strip()))
            if inside and size:
                family.add(sentence)
            continue
        scopes = [scope for _, scope in cues.persons_in(sentence.text)]
        inside = inside and not (
            (breaks > 1 and size > 0)
            or (
                (title := cues.other_heading.match(sentence.text))
                and (breaks or title[0].endswith(":"))
            )
            or "end" in scopes
            or ({"after", "family"}.isdisjoint(scopes) and cues.verb.search(sentence.text))
        )
        if inside:
            family.add(sentence)
            size += 1
    return family


def _assertion_of(text: str, mention: Mention, triggers: Sequence[_Trigger]) -> Assertion:
    governing = {
        trigger.assertion
        for trigger in triggers
        if trigger.scope in _GOVERNING and _governs(trigger, mention, triggers, text)
    }
    strongest: _Said = next(
        (assertion for assertion in _STRONGEST if assertion in governing), "affirmed"
    )
    return "uncertain" if strongest == "conditional" else strongest


def _governs(trigger: _Trigger, mention: Mention, triggers: Sequence[_Trigger], text: str) -> bool:
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
    return not any(low <= other.start < high and _terminates(other, trigger) for other in triggers)


def _terminates(other: _Trigger, trigger: _Trigger) -> bool:
    """Return true if a phrase ends the scope of a trigger; persons have their own end phrases."""
    is_person = other.assertion == "other_person"
    if is_person != (trigger.assertion == "other_person"):
        return False
    if other.scope == "end":
        return True
    if is_person:
        return trigger.scope in {
            "report": ("after", "pregnancy", "family"),
            "part": ("family",),
        }.get(other.scope, ())
    is_clause = other.scope == "clause" and trigger.scope in ("near", "after")
    return trigger.assertion != "conditional" and (other.scope == "part" or is_clause)


def _triggers(sentence: Chunk, mentions: Sequence[Mention], cues: _Cues) -> list[_Trigger]:
    """Return the triggers of a sentence that are not inside a mention or a longer trigger."""
    text, persons = sentence.text, "other_person"
    matches: list[tuple[re.Match[str], _Said, _Scope]] = [
        *((match, "other_person", scope) for match, scope in cues.persons_in(text)),
        *((m, "other_person", "before") for m in cues.persons_before.finditer(text) if m.lastindex),
        *((m, said, scope) for rule, said, scope in cues.rules for m in rule.finditer(text)),
    ]
    triggers = [
        _Trigger(sentence.start + match.start(), sentence.start + match.end(), said, scope)
        for match, said, scope in matches
    ]
    free = [
        trigger
        for trigger in triggers
        if not any(m.start < trigger.end and trigger.start < m.end for m in mentions)
    ]
    phrases = [trigger for trigger in free if trigger.assertion != persons]
    return [
        trigger
        for trigger in free
        if trigger.assertion == persons or not any(_contains(other, trigger) for other in phrases)
    ]


def _contains(longer: _Trigger, shorter: _Trigger) -> bool:
    """Return true if a longer trigger contains a shorter one: *not excluded* contains *not*."""
    return (
        longer.start <= shorter.start
        and shorter.end <= longer.end
        and longer.end - longer.start > shorter.end - shorter.start
        and (longer.scope not in _ENDS or shorter.scope in _ENDS)
    )


class _Cues:
    """The compiled phrases of a language, for a text whose patients are siblings or not.

    Attributes:
        rules: Patterns of triggers that are not about persons.
        persons: A pattern with a group for each scope in ``scopes``.
        scopes: Scopes of persons.
        persons_before: A pattern whose group is a relative after the finding.
        family_heading: A pattern of the heading of a section on the family.
        other_heading: A pattern of another heading.
        empty_history: A pattern of a history without findings.
        verb: A pattern of finite verbs.
        abbreviation: A pattern of words with a full stop that ends no sentence.
    """

    def __init__(self, language: str, has_siblings: bool) -> None:
        cues = read_cues(language)
        relatives = _any_of(cues.get("relatives", ""))
        said = {name: _any_of(phrases, relatives) for name, phrases in cues.items()}
        again: tuple[tuple[str, _Scope], ...] = ((_SIBLINGS_AGAIN, "none"),) if has_siblings else ()
        rules, persons, before = _RULES, (*again, *_PERSONS), f"({_PERSONS_BEFORE})"
        if language != ENGLISH:
            scopes = ("none", "after", "end", "report")
            rules, persons = (), tuple((said[f"other_person {scope}"], scope) for scope in scopes)
            not_reported = rf"(?![^.,;]{{0,20}}{said['other_person report']})"
            before = rf"{persons[0][0]}|({said['other_person before']}){not_reported}"
        compiled = partial(re.compile, flags=re.IGNORECASE)
        self.rules = [
            (compiled(pattern), own, scope) for pattern, own, scope in (*rules, *_rules_of(said))
        ]
        self.persons = compiled("|".join(f"({pattern})" for pattern, _ in persons))
        self.scopes = [scope for _, scope in persons]
        self.persons_before = compiled(before)
        self.family_heading = compiled(
            rf"(?:{said['family headings']}|(?-i:FH))\s*(?:[:\-–]|\Z)\s*"
        )
        self.other_heading = compiled(
            rf"(?:[\w/&-]+\s+){{0,4}}?{said['other headings']}\s*(?::|\Z)"
        )
        self.empty_history = compiled(rf"(?:\w+\s+)?{said['empty histories']}\.?\s*\Z")
        self.verb = compiled(said["finite verbs"])
        self.abbreviation = compiled(rf"{said.get('abbreviations', '(?!)')}\.(?=\s)")

    def persons_in(self, text: str) -> Iterator[tuple[re.Match[str], _Scope]]:
        """Yield the persons in a sentence: ``end`` for the patient as its subject."""
        for match in self.persons.finditer(text):
            if match.lastindex:
                yield match, self.scopes[match.lastindex - 1]


_cues_of = cache(_Cues)
