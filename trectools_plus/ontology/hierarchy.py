"""Terms as numbers 0 … n−1: their ids, and a hierarchy of their ancestors, distances and depths."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy.sparse import csr_array

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchy:
    """The reflexive transitive closure of ``is_a``.

    The ancestors of term ``t``, including itself, are ``ancestors[offsets[t]:offsets[t + 1]]``.

    Attributes:
        offsets: The position of each term's first ancestor; shape ``(n_terms + 1,)``.
        ancestors: The ancestors of all terms in the order of terms, ascending within a term.
        steps: The number of edges on the shortest path to each ancestor; aligned with
            ``ancestors``.
        depths: The number of edges on the shortest path to a root; shape ``(n_terms,)``.
    """

    offsets: IntArray
    ancestors: IntArray
    steps: IntArray
    depths: IntArray

    def matrix(self, values: IntArray) -> csr_array:
        """Return a matrix with a row of ancestors for each term.

        Args:
            values: The entries, aligned with ``ancestors``.
        """
        from scipy.sparse import csr_array

        return csr_array((values, self.ancestors, self.offsets), shape=2 * (self.depths.size,))


def build_hierarchy(parents: Sequence[Sequence[int]]) -> Hierarchy:
    """Compute the closure of ``is_a`` in rounds; each round follows one edge from all terms.

    Args:
        parents: The parents of each term, without cycles. A term without parents is a root.
    """
    n_terms = len(parents)
    counts = np.array([len(above) for above in parents], dtype=np.int64)
    starts = np.cumsum(counts) - counts
    edges = np.fromiter(chain.from_iterable(parents), dtype=np.int64)
    frontier = np.arange(n_terms, dtype=np.int64) * (n_terms + 1)  # term and ancestor as a number
    rounds = [frontier]
    while frontier.size:
        owner, ancestor = np.divmod(frontier, n_terms)
        above = edges[ragged_ranges(starts[ancestor], counts[ancestor])]
        frontier = np.unique(np.repeat(owner, counts[ancestor]) * n_terms + above)
        rounds.append(frontier)
    # The first round that reaches an ancestor used the shortest path.
    pairs, first = np.unique(np.concatenate(rounds), return_index=True)
    steps = np.repeat(np.arange(len(rounds)), [reached.size for reached in rounds])[first]
    owner, ancestors = np.divmod(pairs, max(n_terms, 1))
    to_root = counts[ancestors] == 0
    depths = np.full(n_terms, np.iinfo(np.int64).max)
    np.minimum.at(depths, owner[to_root], steps[to_root])
    return Hierarchy(np.searchsorted(owner, np.arange(n_terms + 1)), ancestors, steps, depths)


def ragged_ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """Concatenate the ranges ``starts[i] … starts[i] + lengths[i] − 1`` for all ``i``."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    return np.arange(total) + np.repeat(starts - ends + lengths, lengths)


Status = Literal["live", "alternative", "obsolete", "unknown"]


@dataclass(frozen=True, slots=True)
class Resolution:
    """The meaning of an id.

    Attributes:
        status: ``live``: a term that is not obsolete; ``alternative``: an alternative id of a live
            term; ``obsolete``: an obsolete term; ``unknown``: not in the ontology. The id of an
            obsolete term that is also an alternative id of a live term is ``alternative``.
        term_id: The live term for this id; ``None`` if there is not exactly one.
        replaced_by: The ids that replace an obsolete id.
    """

    status: Status
    term_id: str | None = None
    replaced_by: tuple[str, ...] = ()


class TermIds:
    """Resolves ids to live terms, which are numbered in the order of their ids.

    Attributes:
        obsolete: The ids that replace each obsolete term, or may fit instead.
        alternatives: Live terms by their alternative ids.
        live: The ids of the terms that are not obsolete.
        number: The position of each of these terms in ``live``.
    """

    def __init__(
        self,
        obsolete: Mapping[str, Sequence[str]],
        alternatives: Mapping[str, str],
        live: Iterable[str],
    ) -> None:
        self.obsolete = obsolete
        self.alternatives = alternatives
        self.live = sorted(live)
        self.number = {term_id: number for number, term_id in enumerate(self.live)}

    def __contains__(self, term_id: object) -> bool:
        return term_id in self.number

    def resolve(self, term_id: str) -> Resolution:
        """Return the meaning of an id; unknown ids are not an error."""
        live = self._live(term_id)
        if live is not None:
            return Resolution("live" if live == term_id else "alternative", live)
        if term_id not in self.obsolete:
            return Resolution("unknown")
        replaced_by = others = self._replacements(term_id)
        visited = set[str]()
        while len(others) == 1 and others[0] not in visited and self._live(others[0]) is None:
            visited.add(others[0])
            others = self._replacements(others[0])
        live = self._live(others[0]) if len(others) == 1 else None
        return Resolution("obsolete", live, replaced_by)

    def _live(self, term_id: str) -> str | None:
        return term_id if term_id in self.number else self.alternatives.get(term_id)

    def successors(self, term_id: str) -> tuple[str, ...]:
        """Return the live terms for an id of another release; several if the term was split.

        For an obsolete id without exactly one replacement, these are all terms that replace it, or
        that the ontology suggests to consider.
        """
        live = self.resolve(term_id).term_id
        if live is not None:
            return (live,)
        terms = (self.resolve(other).term_id for other in self._replacements(term_id))
        return tuple(dict.fromkeys(filter(None, terms)))

    def find(self, text: str) -> str | None:
        """Return the live term for an id in any case, with ``_`` or ``:``; ``None`` without one.

        Live terms and their alternative ids take precedence over obsolete ids.
        """
        return self.resolve(self.spelled(text)).term_id

    def spelled(self, text: str) -> str:
        """Return an id as the ontology spells it; unchanged if it is not known."""
        return self._spellings.get(_normalize(text), text)

    @cached_property
    def _spellings(self) -> dict[str, str]:
        """Every id by its normalised form; of several, the first of the order of precedence."""
        known = [*self.number, *self.alternatives, *self.obsolete]
        return {_normalize(term_id): term_id for term_id in reversed(known)}

    def _replacements(self, term_id: str) -> tuple[str, ...]:
        """Return the ids that replace a term, or may fit instead, as the ontology spells them."""
        return tuple(map(self.spelled, self.obsolete.get(term_id, ())))

    def numbers(self, term_ids: Sequence[str]) -> IntArray:
        """Return the number of the live term for each id in any spelling; −1 without one.

        All functions of terms and their similarity resolve ids with this method.
        """
        number = self.number
        numbers = (
            number[term_id] if term_id in number else number.get(self.find(term_id) or "", -1)
            for term_id in term_ids
        )
        return np.fromiter(numbers, dtype=np.int64, count=len(term_ids))


def _normalize(term_id: str) -> str:
    return "".join(term_id.casefold().replace("_", ":").split())
