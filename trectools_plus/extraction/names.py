"""The names under which an ontology knows its terms, ready to be looked for in texts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trectools_plus.errors import UsageError
from trectools_plus.extraction.words import CONJUNCTIONS, words_of
from trectools_plus.ontology.ontology import Ontology

PHENOTYPES = "HP:0000118"
"""*Phenotypic abnormality*: what an extraction from a case description is to find."""

LABEL, EXACT, OTHER = 0, 1, 2
_LONGEST_ABBREVIATION = 6


@dataclass(frozen=True, slots=True)
class Name:
    """One name of a term.

    Attributes:
        term_id: The term.
        text: The name as the ontology writes it.
        rank: 0 for the label, 1 for an exact synonym, 2 for a broad, narrow or related one.
        stems: Stems of its content words, in their order.
        is_abbreviation: Whether it is one short word with two capitals or more, such as ``VSD``:
            only the same letters in the same case are a mention of it.
        has_comma: Whether it holds a comma.
        has_conjunction: Whether it holds *and*, *or* or a slash.
    """

    term_id: str
    text: str
    rank: int
    stems: tuple[str, ...]
    is_abbreviation: bool
    has_comma: bool
    has_conjunction: bool


def eligible_terms(
    ontology: Ontology, root: str | None = None, min_depth: int = 0
) -> frozenset[str]:
    """The terms that can be predicted.

    Args:
        ontology: The terms.
        root: Only terms below this one; ``None`` is *Phenotypic abnormality* where the ontology has
            it, and every term where it has not.
        min_depth: Only terms at least so many edges below a root of the ontology.

    Raises:
        UsageError: If the root is no live term.
    """
    if root is None:
        root = PHENOTYPES if PHENOTYPES in ontology else None
    hierarchy, live = ontology.hierarchy, ontology.ids.live
    deep = [place for place, depth in enumerate(hierarchy.depths.tolist()) if depth >= min_depth]
    if root is None:
        return frozenset(live[place] for place in deep)
    top = int(ontology.ids.numbers([root])[0])
    if top < 0:
        raise UsageError(f"{root} is not a term", where="root", remedy="name a term of the file")
    below = (place for place in deep if place != top and top in hierarchy.ancestors_of(place))
    return frozenset(live[place] for place in below)


def names_of(ontology: Ontology, terms: Iterable[str], *, inexact: bool = True) -> list[Name]:
    """Labels and synonyms of terms, in the order of ids; no text twice for one term.

    Args:
        ontology: Where the terms come from.
        terms: Ids of live terms.
        inexact: Whether broad, narrow and related synonyms are taken too.
    """
    names = []
    for term_id in sorted(terms):
        term = ontology.terms[term_id]
        texts = {term.name: LABEL} if term.name else {}
        for synonym in term.synonyms:
            rank = EXACT if synonym.scope == "EXACT" else OTHER
            if inexact or rank == EXACT:
                texts[synonym.text] = min(rank, texts.get(synonym.text, rank))
        names += [_name(term_id, text, rank) for text, rank in texts.items()]
    return names


def _name(term_id: str, text: str, rank: int) -> Name:
    words = words_of(text)
    single = words[0].text if len(words) == 1 else ""
    capitals = sum(letter.isupper() for letter in single)
    return Name(
        term_id,
        text,
        rank,
        tuple(word.stem for word in words if word.stem),
        is_abbreviation=len(single) <= _LONGEST_ABBREVIATION and capitals >= 2,
        has_comma="," in text,
        has_conjunction="/" in text or any(word.text.lower() in CONJUNCTIONS for word in words),
    )
