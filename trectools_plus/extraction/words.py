"""Sentences, phrases and words of a text, and the names of terms with variations of their words.

The splitting uses rules and no model. A sentence ends at the end of a line, or at ``.``, ``!`` or
``?``. The character must be followed by a semicolon, or by white space and a possible start of a
sentence; after a word of three letters, that may be a letter in lower case. A full stop after a
common abbreviation, for example ``e.g.``, does not end a sentence.

Two names of the ontology that differ in one word are names of the same term or of different terms.
:func:`learn_replacements` learns from them which words can replace each other, for example *kidney*
for *renal*, but not *left* for *right*. The trust in a replacement is the lower end of the
one-sided 95 % Wilson interval (Wilson 1927) of the proportion of cases in which the names belong to
the same term. So a replacement that was observed only once has a low trust.

Words may also differ in their endings, for example *fistulae* and *fistula*; see
:func:`other_forms`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import permutations
from typing import Literal, NamedTuple, get_args

from trectools_plus.errors import UsageError
from trectools_plus.ontology.ontology import Ontology

Assertion = Literal["affirmed", "negated", "uncertain", "other_person"]
ASSERTIONS: tuple[Assertion, ...] = get_args(Assertion)


@dataclass(frozen=True, slots=True)
class Mention:
    """A span of a text that refers to a term.

    Attributes:
        term_id: The current id of the term.
        start: The start of the span, in characters.
        end: The end of the span, exclusive.
        words: Start positions of the words that belong to the mention. They need not be adjacent:
            *retinal and optic nerve coloboma* contains the mention ``retinal coloboma``.
        confidence: The confidence that the words refer to this term, in [0, 1].
        assertion: The assertion of the text about this mention.
    """

    term_id: str
    start: int
    end: int
    words: frozenset[int]
    confidence: float
    assertion: Assertion = "affirmed"


def longest_only(mentions: Iterable[Mention]) -> list[Mention]:
    """Return the mentions whose words are not a proper subset of another mention's words."""
    candidates = list(mentions)
    by_word: dict[int, set[frozenset[int]]] = {}
    for mention in candidates:
        for word in mention.words:
            by_word.setdefault(word, set()).add(mention.words)
    return [
        mention
        for mention in candidates
        if not any(mention.words < other for other in by_word[next(iter(mention.words))])
    ]


_ABBREVIATION = re.compile(
    r"\b(?:e\.g|i\.e|cf|vs|viz|approx|ca|et al|figs?|nos?|vol|dr|mr|mrs|ms|prof|st|dept|resp|incl|"
    r"refs?|neg|pos|poss|prob|susp|hist|bilat|unilat|congen|cong|abd|ant|post|inf|sup|lat|temp|diff|"
    r"assoc|hosp|yrs?|mos?|wks?|hrs?|pts?|esp|occ|mod|sev|gen|exam|fam|incr|decr|sec|max|min|med)\.$",
    re.IGNORECASE,
)
_MAX_DOTTED_LENGTH = 8
_SENTENCE_END = re.compile(
    r"[\r\n\u2028\u2029]+|[.!?][\"'”’)\]]*(?:;|(?=\s+[\"'“‘(\[]*[^\W_a-z]))"
    r"|(?<=[^\W\d_]{3})\.(?=\s+[a-z])"
)
_CLAUSE_BREAK = re.compile(
    r"[;:()\[\]{}]|(?<=\s)[-–—•](?=\s)|—"
    r"|,(?=\s+(?:but|however|although|though|whereas|while|which|who|whose|except)\b)",
    re.IGNORECASE,
)
_PHRASE_BREAK = re.compile(r",|/|&|\b(?:and|or|but)\b", re.IGNORECASE)
_BREAKS = {"sentence": [], "clause": [_CLAUSE_BREAK], "phrase": [_CLAUSE_BREAK, _PHRASE_BREAK]}


_TRIMMED = re.compile(r"\S(?:.*\S)?", re.DOTALL)


class Chunk(NamedTuple):
    """A part of a text without surrounding white space.

    Attributes:
        start: The start, in characters.
        end: The end, exclusive: ``text[start:end]`` is the chunk.
        text: The chunk.
    """

    start: int
    end: int
    text: str


def chunk(text: str, level: Literal["sentence", "clause", "phrase"] = "sentence") -> list[Chunk]:
    """Split a text into sentences, clauses or phrases, which together contain all its words.

    A clause ends at ``;``, ``:``, brackets, dashes, and at a comma before *but*, *which* or a
    similar word. A phrase also ends at every comma, slash, *and*, *or* and *but*.

    Args:
        text: Any text.
        level: ``sentence``, ``clause`` (within sentences) or ``phrase`` (within clauses).
    """
    spans = list(_sentences(text))
    for breaks in _BREAKS[level]:
        spans = [part for span in spans for part in _split(text, *span, breaks)]
    trimmed = (_TRIMMED.search(text, start, end) for start, end in spans)
    parts = [Chunk(match.start(), match.end(), match[0]) for match in trimmed if match]
    return [part for part in parts if any(map(str.isalnum, part.text))]


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if text[match.start()] == ".":
            before = text[max(start, match.start() - _MAX_DOTTED_LENGTH) : match.start() + 1]
            if _ABBREVIATION.search(before):
                continue
        yield start, match.end()
        start = match.end()
    yield start, len(text)


def _split(text: str, start: int, end: int, at: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    for match in at.finditer(text, start, end):
        yield start, match.start()
        start = match.end()
    yield start, end


_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_POSSESSIVE = re.compile(r"['’]s$")
_BRITISH_OUR = re.compile(r"our(s|ed|ing|less)?$")
_MIN_RESPELLED_LENGTH = 5

CONJUNCTIONS = frozenset({"and", "or"})
_FUNCTION_WORDS = """
a an the of in on to with by for from at as is are was were be been his her its their this that
these those into due may can it
"""
FUNCTION_WORDS = CONJUNCTIONS | frozenset(_FUNCTION_WORDS.split())
"""Words that add no content to the name of a term: articles, prepositions, forms of *be*."""


class Word(NamedTuple):
    """A word of a text.

    Attributes:
        start: The start, in characters.
        end: The end, exclusive.
        text: The word as written.
        stem: The form for comparison; empty for a function word.
    """

    start: int
    end: int
    text: str
    stem: str


def words_of(text: str, start: int = 0, end: int | None = None) -> list[Word]:
    """Return the words of ``text[start:end]``, with positions from the start of the whole text."""
    matches = _WORD.finditer(text, start, len(text) if end is None else end)
    return [Word(m.start(), m.end(), m[0], stem_of(m[0])) for m in matches]


_NUMBERS = {"first": "1st", "second": "2nd", "third": "3rd", "fourth": "4th", "fifth": "5th"} | {
    "i": "1",
    "ii": "2",
    "iii": "3",
    "iv": "4",
}
"""Ordinals and Roman numerals as digits: *type II* is *type 2*."""


@lru_cache(maxsize=1 << 17)
def fold(word: str) -> str:
    """Return a word in lower case and American spelling, without accents and possessive ending.

    In words of five letters or more, British ``ae``, ``oe`` and ``our`` are replaced by ``e`` and
    ``or`` (``anaemia``, ``oedema``, ``tumour``). Names and texts are processed alike, so an
    incorrect replacement is the same in both.
    """
    letters = unicodedata.normalize("NFKD", word) if not word.isascii() else word
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    lowered = _POSSESSIVE.sub("", plain.lower())
    if len(lowered) >= _MIN_RESPELLED_LENGTH:
        lowered = lowered.replace("ae", "e").replace("oe", "e")
        lowered = _BRITISH_OUR.sub(r"or\1", lowered)
    return _NUMBERS.get(lowered, lowered)


@lru_cache(maxsize=1 << 17)
def stem_of(word: str) -> str:
    """Return a word as from :func:`fold`, without its ending; empty for a function word.

    The Snowball stemmer for English removes the ending.
    """
    folded = fold(word)
    return "" if folded in FUNCTION_WORDS else _snowball().stemWord(folded)


@cache
def _snowball():  # type: ignore[no-untyped-def]
    import Stemmer

    return Stemmer.Stemmer("english")


PHENOTYPES = "HP:0000118"
"""*Phenotypic abnormality*, the root of all findings in the Human Phenotype Ontology."""

MODIFIERS = "HP:0012823"
"""*Clinical modifier*, the root of words like *mild* and *bilateral*."""

LABEL, EXACT, OTHER = 0, 1, 2
Key = tuple[str, ...]
"""The sorted stems of a name: equal for names that differ only in order or endings."""
_MAX_ABBREVIATION_LENGTH = 6


class Name(NamedTuple):
    """One name of a term.

    Attributes:
        term_id: The term.
        text: The name as the ontology writes it.
        rank: 0 for the label, 1 for an exact synonym, 2 for a broad, narrow or related one.
        words: Its content words in lower case, in their order.
        stems: The stems of these words.
        is_abbreviation: True for a single word of at most six letters with at least two capitals,
            for example ``VSD``. It matches only in the same case.
        has_comma: True if it contains a comma.
        has_conjunction: True if it contains *and*, *or* or a slash.
    """

    term_id: str
    text: str
    rank: int
    words: tuple[str, ...]
    stems: tuple[str, ...]
    is_abbreviation: bool
    has_comma: bool
    has_conjunction: bool

    @property
    def key(self) -> Key:
        """The sorted stems."""
        return tuple(sorted(self.stems))


def root_of(ontology: Ontology, root: str | None = None) -> str | None:
    """Return the root that applies: by default *Phenotypic abnormality* if the ontology has it."""
    return root or (PHENOTYPES if PHENOTYPES in ontology else None)


def eligible_terms(ontology: Ontology, root: str | None = None) -> frozenset[str]:
    """Return the ids of the terms below a root.

    Args:
        ontology: The terms.
        root: The id of a term; ``None`` means *Phenotypic abnormality* if the ontology has it,
            otherwise all terms are returned.

    Raises:
        UsageError: If the root is not a current term.
    """
    root = root_of(ontology, root)
    if root is None:
        return frozenset(ontology.ids.live)
    if ontology.ids.find(root) is None:
        raise UsageError(
            f"{root} is not a term", where="--root", remedy="give the id of a term of the ontology"
        )
    return ontology.descendants(root) - {ontology.term(root).term_id}


def modifier_words(ontology: Ontology) -> frozenset[str]:
    """Return the names of one word of all clinical modifiers of the Human Phenotype Ontology."""
    if MODIFIERS not in ontology:
        return frozenset()
    return frozenset(
        name.words[0]
        for name in names_of(ontology, eligible_terms(ontology, MODIFIERS))
        if len(name.words) == 1
    )


def names_of(ontology: Ontology, terms: Iterable[str]) -> list[Name]:
    """Return labels and synonyms of terms, sorted by id; each text of a term once.

    Args:
        ontology: The ontology of the terms.
        terms: Ids of current terms.
    """
    names = []
    for term_id in sorted(terms):
        term = ontology.terms[term_id]
        texts = {term.name: LABEL} if term.name else {}
        for synonym in term.synonyms:
            rank = EXACT if synonym.scope == "EXACT" else OTHER
            texts[synonym.text] = min(rank, texts.get(synonym.text, rank))
        names += [make_name(term_id, text, rank) for text, rank in texts.items()]
    return names


_MAX_SPECIFYING_WORDS = 2


def derived_names(ontology: Ontology, names: Iterable[Name]) -> list[Name]:
    """Return names that follow from other names, unless another term has them.

    If the label of a term is that of its parent with one or two further words (*Severe hearing
    impairment*), the other names of the parent with these words are also names of the term (*severe
    hearing loss*). Labels of certain forms have other names (*Vitamin K deficiency* for *Decreased
    circulating vitamin K concentration*).
    """
    by_term: dict[str, list[Name]] = defaultdict(list)
    for name in names:
        if name.stems and not name.is_abbreviation:
            by_term[name.term_id].append(name)
    labels = {own[0].term_id: own[0] for own in by_term.values() if own[0].rank == LABEL}
    derived = list[Name]()
    for term_id, label in labels.items():
        for parent in ontology.parents[term_id]:
            words = _further_words(label, labels[parent]) if parent in labels else ""
            if words:
                derived += [
                    make_name(term_id, f"{words} {other.text}", other.rank)
                    for other in by_term[parent]
                    if other.rank != LABEL
                ]
        for pattern, forms in _PATTERNS:
            if match := re.fullmatch(pattern, label.text):
                derived += [make_name(term_id, form.format(match[1]), EXACT) for form in forms]
    known = {name.key for own in by_term.values() for name in own}
    return [name for name in derived if name.stems and name.key not in known]


def _further_words(label: Name, base: Name) -> str:
    """Return the words that specify a label, up to two; empty if it is not the base with these."""
    specifying = list((Counter(label.stems) - Counter(base.stems)).elements())
    longer = len(label.stems) - len(base.stems)
    if longer != len(specifying) or not 0 < longer <= _MAX_SPECIFYING_WORDS:
        return ""
    pairs = zip(label.words, label.stems, strict=True)
    return " ".join(word for word, stem in pairs if stem in specifying)


_CONCENTRATION = r"(?: concentration| level| activity)"
_PATTERNS = (
    (r"Abnormal (.+) morphology", ("abnormality of {}", "{} anomaly", "{} malformation")),
    (r"Abnormality of (?:the )?(.+)", ("abnormality of {}", "{} anomaly", "{} malformation")),
    (
        rf"(?:Decreased|Reduced|Low) (?:circulating |serum |plasma )?(.+?){_CONCENTRATION}",
        ("decreased {}", "reduced {}", "low {}", "{} deficiency"),
    ),
    (
        rf"(?:Increased|Elevated|High) (?:circulating |serum |plasma )(.+?){_CONCENTRATION}?",
        ("increased {}", "elevated {}", "high {}"),
    ),
    (r"Multiple (.+s)", ("{}",)),
)
"""Forms of a label, and other ways of writing them."""


def make_name(term_id: str, text: str, rank: int) -> Name:
    """Return a name of a term."""
    words = words_of(text)
    single = words[0].text if len(words) == 1 else ""
    capitals = sum(letter.isupper() for letter in single)
    return Name(
        term_id,
        text,
        rank,
        tuple(fold(word.text) for word in words if word.stem),
        tuple(word.stem for word in words if word.stem),
        is_abbreviation=len(single) <= _MAX_ABBREVIATION_LENGTH and capitals >= 2,
        has_comma="," in text,
        has_conjunction="/" in text or any(word.text.lower() in CONJUNCTIONS for word in words),
    )


@cache
def wilson_low(successes: int, trials: int) -> float:
    """Return the lower end of the one-sided 95 % Wilson interval of a proportion.

    Args:
        successes: At most ``trials``.
        trials: At least 1.
    """
    from trectools_plus.statistics.intervals import wilson_intervals

    low, _ = wilson_intervals(successes, trials, 0.9)
    return float(low)


def learn_replacements(names: Iterable[Name]) -> dict[str, dict[str, float]]:
    """Learn which words of names can replace each other, and how reliably.

    Args:
        names: Names of all terms; abbreviations are ignored.

    Returns:
        By the stem of a word in a text, the stems of names that it can stand for, each with the
        trust in it, in [0, 1].
    """
    # By the other stems of a name and its term: the stems that complete them to a name.
    completing: dict[tuple[Key, str], set[str]] = defaultdict(set)
    completed: dict[str, set[Key]] = defaultdict(set)
    for name in names:
        if len(name.stems) > 1 and not name.is_abbreviation:
            for index, stem in enumerate(name.key):
                others = name.key[:index] + name.key[index + 1 :]
                completing[others, name.term_id].add(stem)
                completed[stem].add(others)
    same_term = {
        (others, pair)
        for (others, _), stems in completing.items()
        for pair in permutations(stems, 2)
    }
    trust: dict[str, dict[str, float]] = defaultdict(dict)
    for (in_text, in_name), count in Counter(pair for _, pair in same_term).items():
        both = completed[in_text] & completed[in_name]
        trust[in_text][in_name] = wilson_low(count, len(both))
    return dict(trust)


_ENDINGS = (
    *(("", "s"), ("s", ""), ("", "es"), ("es", ""), ("y", "ies"), ("ies", "y")),
    *(("e", "a"), ("ata", "a"), ("i", "us"), ("ia", "ic"), ("ic", "ia"), ("ic", "y")),
)
"""Endings of words in texts, each with an ending of the same words in names: plurals, adjectives.
``fold`` makes *fistule* of *fistulae*."""
_MIN_KNOWN_LETTERS = 3
"""Letters that a word needs before an ending that is replaced."""


def other_forms(word: str) -> frozenset[str]:
    """Return a word of a text, as from ``fold``, with the endings that it can have in a name."""
    return frozenset(
        word[: len(word) - len(in_text)] + in_name
        for in_text, in_name in _ENDINGS
        if word.endswith(in_text) and len(word) - len(in_text) >= _MIN_KNOWN_LETTERS
    )
