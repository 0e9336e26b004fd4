"""What an id stands for: a live term, another id of one, a withdrawn term, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trectools_plus.ontology.hierarchy import IntArray
from trectools_plus.ontology.obo import Term

Status = Literal["live", "alternative", "obsolete", "unknown"]


@dataclass(frozen=True, slots=True)
class Resolution:
    """What an id stands for.

    Attributes:
        status: ``live``: a term in use; ``alternative``: another id of one; ``obsolete``:
            withdrawn; ``unknown``: the ontology does not have it. An id that is both another id
            of a live term and withdrawn is ``obsolete`` only if that term replaces it.
        term_id: The live term it stands for; ``None`` when there is none, or several.
        replaced_by: For an obsolete id, the ids the curators name in its place.
    """

    status: Status
    term_id: str | None = None
    replaced_by: tuple[str, ...] = ()


class TermIds:
    """Live terms, numbered in the order of their ids, and all other ids that lead to them.

    Args:
        terms: Every term by id, obsolete ones included.
        alternatives: Live terms by their alternative ids.
    """

    def __init__(self, terms: Mapping[str, Term], alternatives: Mapping[str, str]) -> None:
        self._terms = terms
        self._alternatives = alternatives
        self.live = sorted(term_id for term_id, term in terms.items() if not term.is_obsolete)
        self._number = {term_id: number for number, term_id in enumerate(self.live)}

    def __contains__(self, term_id: object) -> bool:
        return term_id in self._number

    def resolve(self, term_id: str) -> Resolution:
        """Say what an id stands for; never fails."""
        if term_id in self._number:
            return Resolution("live", term_id)
        owner = self._alternatives.get(term_id)
        if term_id in self._terms:
            replaced_by = self._terms[term_id].replaced_by
            replacement = self._live_replacement(replaced_by)
            if owner in (None, replacement):
                return Resolution("obsolete", replacement, replaced_by)
        return Resolution("alternative", owner) if owner else Resolution("unknown")

    def find(self, text: str) -> str | None:
        """Return the live term that an id stands for, in any case and with ``_`` for ``:``.

        The live terms and their alternative ids come before obsolete ids.
        """
        wanted = _fold(text)
        for term_id in self._number:
            if _fold(term_id) == wanted:
                return term_id
        for other, term_id in self._alternatives.items():
            if _fold(other) == wanted:
                return term_id
        for obsolete, term in self._terms.items():
            if _fold(obsolete) == wanted:
                return self._live_replacement(term.replaced_by)
        return None

    def _live_replacement(self, replaced_by: tuple[str, ...]) -> str | None:
        """Follow ``replaced_by`` for as long as it names one term."""
        passed = set[str]()
        while len(replaced_by) == 1 and replaced_by[0] not in passed:
            passed.add(replaced_by[0])
            if replaced_by[0] in self._number:
                return replaced_by[0]
            if replaced_by[0] in self._alternatives:
                return self._alternatives[replaced_by[0]]
            withdrawn = self._terms.get(replaced_by[0])
            replaced_by = withdrawn.replaced_by if withdrawn else ()
        return None

    def numbers(self, term_ids: Sequence[str]) -> IntArray:
        """The number of the live term behind each id; −1 where there is none."""
        known = (self._number.get(term_id, -1) for term_id in term_ids)
        numbers = np.fromiter(known, dtype=np.int64, count=len(term_ids))
        for position in np.flatnonzero(numbers < 0).tolist():
            live = self.resolve(term_ids[position]).term_id
            if live is not None:
                numbers[position] = self._number[live]
        return numbers

    def names(self, numbers: Iterable[int]) -> list[str]:
        """The ids of term numbers."""
        return [self.live[number] for number in numbers]


def _fold(term_id: str) -> str:
    return "".join(term_id.casefold().replace("_", ":").split())
