"""Do the terms of a file make a hierarchy? Every id once, every parent known, no cycle."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

from trectools_plus.errors import FormatError
from trectools_plus.ontology.obo import OboFile
from trectools_plus.ontology.terms import Term

Parents = Mapping[str, tuple[str, ...]]
"""The parents of each live term, all of them live."""

_SHOWN = 6


def index_terms(file: OboFile) -> dict[str, Term]:
    """Terms by id.

    Raises:
        FormatError: If two stanzas carry one id.
    """
    terms: dict[str, Term] = {}
    for term in file.terms:
        first = terms.setdefault(term.term_id, term)
        if first is not term:
            raise FormatError(
                f"{term.term_id} is defined twice, first on line {first.line}",
                path=file.path,
                line=term.line,
                remedy="keep one of the two stanzas",
            )
    return terms


def alternative_ids(terms: Mapping[str, Term], path: str) -> dict[str, str]:
    """Live terms by their alternative ids.

    Raises:
        FormatError: If an alternative id stands for two terms, or is itself a live term.
    """
    owners: dict[str, str] = {}
    for term in terms.values():
        for other in () if term.is_obsolete else term.alternative_ids:
            live = other in terms and not terms[other].is_obsolete
            owner = other if live else owners.setdefault(other, term.term_id)
            if owner != term.term_id:
                raise FormatError(
                    f"{term.term_id} has the alternative id {other}, which belongs to {owner}",
                    path=path,
                    line=term.line,
                    remedy="an alternative id can stand for one term only",
                )
    return owners


def live_parents(terms: Mapping[str, Term], alternatives: Mapping[str, str], path: str) -> Parents:
    """The parents of every live term, alternative ids resolved.

    Raises:
        FormatError: If a parent is unknown or obsolete, or terms are their own ancestors.
    """
    parents: dict[str, tuple[str, ...]] = {}
    for term in terms.values():
        if not term.is_obsolete:
            above = (alternatives.get(parent, parent) for parent in term.parents)
            parents[term.term_id] = tuple(dict.fromkeys(above))
            _check_parents(term, parents[term.term_id], terms, path)
    _check_cycles(parents, terms, path)
    return parents


def _check_parents(
    term: Term, parents: tuple[str, ...], terms: Mapping[str, Term], path: str
) -> None:
    for parent in parents:
        if parent in terms and not terms[parent].is_obsolete:
            continue
        problem = "obsolete" if parent in terms else "not a term of the file"
        raise FormatError(
            f"{term.term_id} is_a {parent}, which is {problem}",
            path=path,
            line=term.line,
            remedy="correct the is_a line, or add the parent's [Term]",
        )


def _check_cycles(parents: Parents, terms: Mapping[str, Term], path: str) -> None:
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1][::-1]
        first = min(cycle, key=lambda term_id: terms[term_id].line)
        shown = " is_a ".join(cycle[:_SHOWN]) + (" …" if len(cycle) > _SHOWN else "")
        raise FormatError(
            f"terms are their own ancestors: {shown}",
            path=path,
            line=terms[first].line,
            remedy="take out one of these is_a lines",
        ) from None
