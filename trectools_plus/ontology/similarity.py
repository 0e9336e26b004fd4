"""Similarity of terms: information content, common ancestors of pairs, formulas, best matches.

The formulas use two common ancestors: the deepest (the lowest common ancestor), and the most
informative. If terms have several parents, these can be different terms.

Notation: a term is one of its own ancestors. ``depth`` is the number of edges on the shortest path
to a root, ``D`` the largest depth of the ontology, ``LCA`` the deepest common ancestor. ``IC`` is
the information content, ``MICA`` the common ancestor with the highest IC. Every formula is a pure
function. It is symmetric, and returns values in [0, 1], and 0 for terms without a common ancestor.

Information content is from the graph or from annotations, which list the terms of diseases, genes
or documents. With both, that of a term is not less than that of its ancestors, so similarities are
in [0, 1]. Annotation files have the format of ``phenotype.hpoa``
(https://obophenotype.github.io/human-phenotype-ontology/annotations/phenotype_hpoa/): tabs,
comments that start with ``#``, a header, the columns ``database_id``, ``hpo_id`` and optionally
``qualifier``, whose value ``NOT`` means that the term does not apply.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trectools_plus.display import Displayed
from trectools_plus.errors import FormatError, UsageError
from trectools_plus.formats.files.content import read_file
from trectools_plus.ontology.hierarchy import FloatArray, Hierarchy, IntArray, TermIds
from trectools_plus.text import listed

if TYPE_CHECKING:
    import polars as pl
    from scipy.sparse import csr_array

FROM_GRAPH = (
    "IC from the graph: 1 − ln(number of terms below, the term included) / ln(number of all terms) "
    "(Seco, Veale and Hayes 2004)"
)
FROM_ANNOTATIONS = (
    "IC from {file}: −ln(fraction of the annotated objects that have the term or a descendant); a "
    "term without objects counts as if it had one (Resnik 1995)"
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class InformationContent(Displayed):
    """The information content of every term.

    Attributes:
        values: The value of each term, at least 0 and not less than that of its ancestors; shape
            ``(n_terms,)``.
        source: A description of the method and the file.
        notes: Notes on the values, one line each.
    """

    values: FloatArray
    source: str
    notes: tuple[str, ...] = ()


def information_from_graph(hierarchy: Hierarchy) -> InformationContent:
    """Compute IC(t) = 1 − ln(n(t)) / ln(N): a term with many descendants has a low value.

    n(t) is the number of descendants of the term plus 1, N the number of terms of the ontology. The
    IC of a leaf is 1, that of a single root 0. Seco, Veale and Hayes: An intrinsic information
    content metric for semantic similarity in WordNet, ECAI 2004 (where n(t) is written
    hypo(t) + 1).
    """
    n_terms = hierarchy.depths.size
    below = np.bincount(hierarchy.ancestors, minlength=n_terms)
    values = 1 - np.log(below) / np.log(n_terms) if n_terms > 1 else np.zeros(n_terms)
    return InformationContent(values, FROM_GRAPH)


_HEADER = re.compile(r"^#?(?=.*\bdatabase_?id\b)(?=.*\bhpo_?id\b).*$", re.IGNORECASE | re.MULTILINE)
_FIRST_ROW = re.compile(r"^(?!#|\s*$)", re.MULTILINE)
_VERSION = re.compile(r"^#\s*version:\s*(\S+)", re.MULTILINE)
_NEVER = r"^\s*(?:0+(?:\.0+)?\s*%?|0+\s*/\s*\d+|HP[:_]0040285)\s*$"
"""Frequencies of findings that were looked for, but not found: *0/7*, *0%*, Excluded."""
_REMEDY = "use a file in the format of phenotype.hpoa"


@dataclass(frozen=True, slots=True, eq=False)
class Annotations:
    """The annotations of a file, without negated annotations.

    Attributes:
        path: The file as the user named it.
        version: The version in its comments; empty if there is none.
        frame: ``object, term``: the ids of an annotated object and its term, each pair once.
    """

    path: str
    version: str
    frame: pl.DataFrame


def read_annotations(path: str | Path) -> Annotations:
    """Read an annotation file, which may be compressed.

    Raises:
        InputError: If the file cannot be read.
        FormatError: If it has no header with ``database_id`` and ``hpo_id``, a row lacks one of
            them, or there are no rows.
    """
    import polars as pl

    source = read_file(path)
    text = source.text
    header = _HEADER.search(text)
    if header is None:
        row = _FIRST_ROW.search(text)
        raise FormatError(
            "the file has no annotations: expected a header with database_id and hpo_id",
            path=source.path,
            line=1 + text.count("\n", 0, row.start()) if row else None,
            remedy=_REMEDY,
        )
    names = [re.sub(r"[\W_]", "", name).lower() for name in header[0].split("\t")]
    rows = pl.read_csv(
        io.BytesIO(text[header.end() + 1 :].encode()),
        has_header=False,
        separator="\t",
        quote_char=None,
        schema=dict.fromkeys((name or f"column{i}" for i, name in enumerate(names)), pl.String),
        truncate_ragged_lines=True,
        raise_if_empty=False,
        row_index_name="line",
        row_index_offset=2 + text.count("\n", 0, header.start()),
    ).filter(~pl.all_horizontal(pl.exclude("line").fill_null("").str.strip_chars() == ""))
    ids = {"object": pl.col("databaseid"), "term": pl.col("hpoid")}
    ids = {name: column.fill_null("").str.strip_chars() for name, column in ids.items()}
    incomplete = rows.filter((ids["object"] == "") | (ids["term"] == ""))
    if incomplete.height:
        raise FormatError(
            "expected a database_id and an hpo_id in every row, but one is empty",
            path=source.path,
            line=incomplete["line"][0],
            remedy=_REMEDY,
        )
    if "qualifier" in names:
        qualifier = pl.col("qualifier").str.strip_chars().str.to_uppercase()
        rows = rows.filter(qualifier.ne_missing("NOT"))
    if "frequency" in names:
        rows = rows.filter(~pl.col("frequency").fill_null("").str.contains(_NEVER))
    if rows.is_empty():
        raise FormatError("the file has no annotations", path=source.path, remedy=_REMEDY)
    version = _VERSION.search(text[: header.start()])
    frame = rows.select(**ids).unique(maintain_order=True)
    return Annotations(source.path, version[1] if version else "", frame)


def information_from_annotations(
    ids: TermIds, hierarchy: Hierarchy, annotations: Annotations
) -> InformationContent:
    """Compute IC(t) = −ln(n(t) / N): a term that applies to few objects has a high value.

    n(t) is the number of objects to which the term or a descendant applies, N the number of
    annotated objects (Resnik 1995; Robinson et al., Am. J. Hum. Genet. 2008, for diseases). A term
    without objects gets the value of a term with one object, the highest possible. Alternative
    ids, and obsolete ids with one replacement, are resolved to their term; other ids are ignored,
    with a note.

    Args:
        ids: The ids of the ontology.
        hierarchy: The hierarchy of the terms of ``ids``.
        annotations: The annotations.

    Raises:
        FormatError: If the ontology has none of the annotated terms.
    """
    import polars as pl
    from scipy.sparse import csr_array

    terms = annotations.frame["term"].unique(maintain_order=True)
    numbers = ids.numbers(terms.to_list())
    unknown = terms.filter(pl.Series(numbers < 0)).to_list()
    if len(unknown) == len(terms):
        raise FormatError(
            f"the ontology has none of the annotated terms: {listed(unknown, 3)}",
            path=annotations.path,
            remedy="use annotations with terms of this ontology",
        )
    known = pl.DataFrame({"term": terms, "number": numbers}).filter(pl.col("number") >= 0)
    pairs = (
        annotations.frame.join(known, on="term")
        .select(pl.col("object").rank("dense").cast(pl.Int64) - 1, "number")
        .unique()
    )
    n_objects = pairs["object"].n_unique()
    above = hierarchy.matrix(np.ones_like(hierarchy.steps))
    n_terms = hierarchy.depths.size
    has = np.ones(pairs.height, dtype=np.int64), pairs.to_numpy().T
    counts = (csr_array(has, shape=(n_objects, n_terms)) @ above > 0).sum(axis=0)
    values = np.log(n_objects) - np.log(np.maximum(counts, 1))
    file = f"{annotations.path} {annotations.version}".strip() + f" ({n_objects:,} objects)"
    notes = (
        f"annotations of {len(unknown)} of {len(terms)} terms in {annotations.path} are ignored, "
        f"because the ontology does not have these terms: {listed(unknown, 3)}",
    )
    return InformationContent(values, FROM_ANNOTATIONS.format(file=file), notes if unknown else ())


_STEP_BITS, _TERM_BITS = 18, 28
_MOST_STEPS, _MOST_TERMS = (1 << _STEP_BITS) - 1, (1 << _TERM_BITS) - 1


@dataclass(frozen=True, eq=False)
class TermPairs:
    """Pairs of terms; attributes are computed on first use.

    Attributes:
        hierarchy: The hierarchy of the terms.
        a: Term numbers, shape ``(n_pairs,)``.
        b: Term numbers, shape ``(n_pairs,)``.
        content: The information content of the terms; ``None`` to compute it from the graph.
    """

    hierarchy: Hierarchy
    a: IntArray
    b: IntArray
    content: InformationContent | None = None

    @cached_property
    def depths(self) -> IntArray:
        """The depths of both terms, added."""
        return self.hierarchy.depths[self.a] + self.hierarchy.depths[self.b]

    @cached_property
    def lca(self) -> IntArray:
        """The deepest common ancestors; −1 if there is none.

        If several are equally deep, the one with the shortest paths from both terms is chosen, then
        the one with the smallest number.
        """
        return np.where(self._deepest >= 0, _MOST_TERMS - (self._deepest & _MOST_TERMS), -1)

    @cached_property
    def lca_depth(self) -> IntArray:
        """The depths of the deepest common ancestors; 0 if there is none."""
        return np.where(self.lca >= 0, self.hierarchy.depths[self.lca], 0)

    @cached_property
    def lca_steps(self) -> IntArray:
        """The number of edges on the shortest paths from both terms to the LCA; 0 without one."""
        steps = self._deepest >> _TERM_BITS & _MOST_STEPS
        return np.where(self.lca >= 0, _MOST_STEPS - steps, 0)

    @cached_property
    def _deepest(self) -> IntArray:
        """Depth, steps and number of the LCA as one number; −1 if there is none."""
        ancestor, steps = self._common.indices.astype(np.int64), self._common.data - 2
        key = (self.hierarchy.depths[ancestor] << _STEP_BITS) + _MOST_STEPS - steps
        return self._largest((key << _TERM_BITS) + _MOST_TERMS - ancestor, -1)

    @cached_property
    def information(self) -> FloatArray:
        """The information content of all terms."""
        return (self.content or information_from_graph(self.hierarchy)).values

    @cached_property
    def shared_information(self) -> FloatArray:
        """The information content of the most informative common ancestor; 0 if there is none."""
        return self._largest(self.information[self._common.indices], 0.0)

    @cached_property
    def _common(self) -> csr_array:
        """A row for each pair: its common ancestors, with the edges from both terms, plus 2."""
        steps = self.hierarchy.matrix(self.hierarchy.steps + 1)
        ones = self.hierarchy.matrix(np.ones_like(self.hierarchy.steps))
        return steps[self.a] * ones[self.b] + ones[self.a] * steps[self.b]

    def _largest(self, values: npt.NDArray[Any], without: float) -> npt.NDArray[Any]:
        """Return the largest value of each pair's common ancestors."""
        largest = np.full(self.a.size, without, dtype=values.dtype)
        pair = np.repeat(np.arange(self.a.size), np.diff(self._common.indptr))
        np.maximum.at(largest, pair, values)
        return largest


Formula = Callable[[TermPairs], FloatArray]
"""Returns n similarities in [0, 1] for n pairs."""


def simple_resnik_like(pairs: TermPairs) -> FloatArray:
    """depth(LCA) / D: the specificity of the deepest common ancestor.

    The similarity of a term with itself is its depth divided by D, so it is less than 1 unless the
    depth is D. If an ancestor of the term has a greater depth, that depth is used instead.
    """
    return pairs.lca_depth / int(pairs.hierarchy.depths.max(initial=1))


def hybrid(pairs: TermPairs) -> FloatArray:
    """0.7·depth(LCA)/D + 0.3·max(0, 1 − p/(depth1 + depth2)); 1.0 only for equal terms.
    p: the edges on the shortest paths from both terms to the LCA, added.
    """
    return np.where(pairs.a == pairs.b, 1.0, _specific_and_near(pairs, pairs.lca_steps))


def hybrid_depth(pairs: TermPairs) -> FloatArray:
    """0.7·depth(LCA)/D + 0.3·max(0, 1 − p/(depth1 + depth2)); 1.0 if p is 0, which is also the
    case for some different terms. p = max(0, depth1 + depth2 − 2·depth(LCA)).

    This is the computation of the HPO benchmark that introduced the measure
    (https://github.com/berntpopp/phentrieve). An ancestor can have a greater depth than its
    descendant, so p can be 0, and the similarity 1.0, for different terms: use it only to compare
    with the published figures of that benchmark.
    """
    distance = np.maximum(0, pairs.depths - 2 * pairs.lca_depth)
    same = (pairs.lca >= 0) & (distance == 0)
    return np.where(same, 1.0, _specific_and_near(pairs, distance))


def lin(pairs: TermPairs) -> FloatArray:
    """2·IC(MICA) / (IC1 + IC2): the fraction of the terms' information that they have in common.

    Lin: An information-theoretic definition of similarity, ICML 1998. The similarity of a term with
    itself is 1, even if its IC is 0. That of different terms is 1 only if they and the MICA have
    the same IC, which is possible with IC from annotations, but not with IC from the graph.
    """
    total = pairs.information[pairs.a] + pairs.information[pairs.b]
    shared = pairs.shared_information
    return np.where(pairs.a == pairs.b, 1.0, 2 * shared / np.where(total > 0, total, 1.0))


def _specific_and_near(pairs: TermPairs, distance: IntArray) -> FloatArray:
    near = np.maximum(0.0, 1.0 - distance / np.maximum(pairs.depths, 1))
    mixed = 0.7 * simple_resnik_like(pairs) + 0.3 * near
    return np.where(pairs.lca >= 0, mixed, 0.0)


FORMULAS: Mapping[str, Formula] = MappingProxyType(
    {formula.__name__: formula for formula in (hybrid, hybrid_depth, simple_resnik_like, lin)}
)

INFORMATION_FORMULAS = frozenset({lin})
"""Formulas that use information content."""


def formula_named(name: str) -> Formula:
    """Return the formula with a name.

    Raises:
        UsageError: If the formula does not exist.
    """
    if name not in FORMULAS:
        known = ", ".join(FORMULAS)
        raise UsageError(f"unknown similarity formula {name!r}", remedy=f"use one of: {known}")
    return FORMULAS[name]


_PAIRS_AT_ONCE = 100_000
"""The approximate number of pairs that are compared at once, which limits memory."""

TermLists = Sequence[Sequence[str]]


def best_matches(
    ids: TermIds,
    hierarchy: Hierarchy,
    expected: TermLists,
    predicted: TermLists,
    formula: Formula,
    information: InformationContent | None = None,
) -> FloatArray:
    """Return the highest similarity of an expected and a predicted term, for each query.

    With every formula, the value is 1.0 if the lists have a term in common (also by different ids
    of it), and 0 if one of them is empty. An id without a live term is similar only to itself: the
    lists are those of files, whose readers report such ids.

    Args:
        ids: The ids of the ontology.
        hierarchy: The hierarchy of the terms of ``ids``.
        expected: The expected terms of each query.
        predicted: The predicted terms of each query, aligned with ``expected``.
        formula: Computes the similarity of pairs of terms.
        information: The information content of the terms, for formulas that use it; ``None`` to
            compute it from the graph.

    Returns:
        One value in [0, 1] per query, shape ``(n_queries,)``.
    """
    same_id = (not set(e).isdisjoint(p) for e, p in zip(expected, predicted, strict=True))
    values = np.fromiter(same_id, dtype=np.float64, count=len(expected))
    longest = max(map(len, expected), default=0) * max(map(len, predicted), default=0)
    step = 1 + _PAIRS_AT_ONCE // max(longest, 1)
    for start in range(0, len(expected), step):
        block = slice(start, start + step)
        both = _live_terms(expected[block], ids).join(
            _live_terms(predicted[block], ids), on="query"
        )
        a, b = both["term"].to_numpy(), both["term_right"].to_numpy()
        pairs = TermPairs(hierarchy, a, b, information)
        similarity = np.where(pairs.a == pairs.b, 1.0, formula(pairs))
        np.maximum.at(values[block], both["query"].to_numpy(), similarity)
    return values


def _live_terms(lists: TermLists, ids: TermIds) -> pl.DataFrame:
    """Return a row for each id with a live term: its query and the number of the term."""
    import polars as pl

    query = np.repeat(np.arange(len(lists)), [len(terms) for terms in lists])
    terms = pl.DataFrame({"query": query, "term": ids.numbers([*chain.from_iterable(lists)])})
    return terms.filter(pl.col("term") >= 0)
