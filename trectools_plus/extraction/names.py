"""The names of terms, and variations of their words that are learnt from these names.

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
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cache
from itertools import permutations
from typing import NamedTuple

from trectools_plus.errors import UsageError
from trectools_plus.extraction.segmentation import CONJUNCTIONS, fold, words_of
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.statistics.intervals import wilson_intervals

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
    names = names_of(ontology, eligible_terms(ontology, MODIFIERS))
    return frozenset(name.words[0] for name in names if len(name.words) == 1)


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
