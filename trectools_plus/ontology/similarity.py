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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.display import Displayed, TextTable
from trectools_plus.errors import FormatError, UsageError
from trectools_plus.formats.files.content import read_file
from trectools_plus.ontology.hierarchy import FloatArray, Hierarchy, IntArray, ragged_ranges
from trectools_plus.ontology.ids import TermIds
from trectools_plus.text import listed

FROM_GRAPH = (
    "IC from the graph: 1 − ln(number of terms below, the term included) / ln(number of all terms) "
    "(Seco, Veale and Hayes 2004)"
)
FROM_ANNOTATIONS = (
    "IC from {file}: −ln(fraction of the annotated objects that have the term or a descendant); a "
    "term without objects counts as if it had one (Resnik 1995)"
)


class InformationContent(Displayed):
    """The information content of every term.

    Args:
        values: The value of each term, at least 0 and not less than that of its ancestors; shape
            ``(n_terms,)``.
        source: A description of the method and the file.
        notes: Notes on the values, one line each.
    """

    def __init__(self, values: FloatArray, source: str, notes: tuple[str, ...] = ()) -> None:
        self.values = values
        self.source = source
        self.notes = notes

    def _content(self) -> TextTable:
        rows = [["Terms", f"{self.values.size:,}"], ["Source", self.source]]
        rows += [["Note", note] for note in self.notes]
        return TextTable.of(["Field", "Value"], rows, caption=type(self).__name__)

    @cached_property
    def scaled(self) -> FloatArray:
        """The values divided by the largest value, in [0, 1]; all 0 if the largest value is 0."""
        largest = float(self.values.max(initial=0.0))
        return self.values / largest if largest > 0 else np.zeros_like(self.values)

    @cached_property
    def order(self) -> IntArray:
        """The term numbers by ascending value, those with equal values by descending number."""
        return np.lexsort((-np.arange(self.values.size), self.values))

    @cached_property
    def ranks(self) -> IntArray:
        """The position of each term in ``order``."""
        ranks = np.empty_like(self.order)
        ranks[self.order] = np.arange(ranks.size)
        return ranks


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


_OBJECT, _TERM, _QUALIFIER = "databaseid", "hpoid", "qualifier"
_FREQUENCY = "frequency"
_NEVER = r"^\s*(?:0+(?:\.0+)?\s*%?|0+\s*/\s*\d+|HP[:_]0040285)\s*$"
"""Frequencies of findings that were looked for, but not found: *0/7*, *0%*, Excluded."""
_REMEDY = "use a file in the format of phenotype.hpoa"
_VERSION = re.compile(r"^#\s*version:\s*(\S+)", re.MULTILINE)
_MAX_IDS_LISTED = 3


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
    source = read_file(path)
    text = source.text
    header, begin, line = _find_header(text, source.path)
    rows = _read_rows(text[begin:], header, source.path, line + 1)
    if _QUALIFIER in header:
        qualifier = pl.col(_QUALIFIER).str.strip_chars().str.to_uppercase()
        rows = rows.filter(qualifier.ne_missing("NOT"))
    if _FREQUENCY in header:
        rows = rows.filter(~pl.col(_FREQUENCY).fill_null("").str.contains(_NEVER))
    frame = rows.select(object=_OBJECT, term=_TERM).unique(maintain_order=True)
    if frame.is_empty():
        raise FormatError("the file has no annotations", path=source.path, remedy=_REMEDY)
    version = _VERSION.search(text[:begin])
    return Annotations(source.path, version[1] if version else "", frame)


def _read_rows(text: str, header: list[str], path: str, first_line: int) -> pl.DataFrame:
    """Return the rows below the header, without blank lines and with stripped ids."""
    schema = dict.fromkeys(header, pl.String)
    if not text.strip():
        return pl.DataFrame(schema=schema)
    table = pl.read_csv(
        io.BytesIO(text.encode()),
        has_header=False,
        separator="\t",
        quote_char=None,
        schema=schema,
        truncate_ragged_lines=True,
        row_index_name="line",
        row_index_offset=first_line,
    )
    needed = [pl.col(name).str.strip_chars().replace("", None) for name in (_OBJECT, _TERM)]
    table = table.with_columns(needed).filter(~pl.all_horizontal(pl.col(header).is_null()))
    incomplete = table.filter(pl.col(_OBJECT).is_null() | pl.col(_TERM).is_null())
    if incomplete.height:
        raise FormatError(
            "expected a database_id and an hpo_id in every row, but one is empty",
            path=path,
            line=incomplete["line"][0],
            remedy=_REMEDY,
        )
    return table


def _find_header(text: str, path: str) -> tuple[list[str], int, int]:
    """Return normalised column names, the position of the first row, and the header's line."""
    begin = 0
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        begin += len(line)
        names = [re.sub(r"\W|_", "", name).lower() for name in line.split("\t")]
        if {_OBJECT, _TERM} <= set(names):
            return [name or f"column{i}" for i, name in enumerate(names)], begin, number
        if line.strip() and not line.startswith("#"):
            raise FormatError(
                "expected a header with the columns database_id and hpo_id",
                path=path,
                line=number,
                remedy=_REMEDY,
            )
    raise FormatError("the file has no annotations", path=path, remedy=_REMEDY)


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
    terms = annotations.frame["term"].unique(maintain_order=True)
    numbers = ids.numbers(terms.to_list())
    unknown = terms.filter(pl.Series(numbers < 0)).to_list()
    if len(unknown) == len(terms):
        raise FormatError(
            f"the ontology has none of the annotated terms: {listed(unknown, _MAX_IDS_LISTED)}",
            path=annotations.path,
            remedy="use annotations with terms of this ontology",
        )
    known = pl.DataFrame({"term": terms, "number": numbers}).filter(pl.col("number") >= 0)
    pairs = annotations.frame.join(known, on="term").select(
        pl.col("object").rank("dense").cast(pl.Int64) - 1, "number"
    )
    n_objects = pairs["object"].n_unique()
    counts = _count_objects(hierarchy, pairs.unique())
    values = np.log(n_objects) - np.log(np.maximum(counts, 1))
    file = f"{annotations.path} {annotations.version}".strip()
    source = FROM_ANNOTATIONS.format(file=f"{file} ({n_objects:,} objects)")
    notes = (
        f"annotations of {len(unknown)} of {len(terms)} terms in {annotations.path} are ignored, "
        f"because the ontology does not have these terms: {listed(unknown, _MAX_IDS_LISTED)}",
    )
    return InformationContent(values, source, notes if unknown else ())


def _count_objects(hierarchy: Hierarchy, pairs: pl.DataFrame) -> IntArray:
    """Count the objects of each term; an object counts once for a term and each ancestor.

    Args:
        hierarchy: The hierarchy of the terms.
        pairs: ``object, number``: objects numbered from 0, with the numbers of their terms.
    """
    from scipy.sparse import csr_array

    n_terms = hierarchy.depths.size
    has = csr_array((np.ones(pairs.height, dtype=np.int32), pairs.to_numpy().T))
    has.resize(has.shape[0], n_terms)
    ones = np.ones(hierarchy.ancestors.size, dtype=np.int32)
    above = csr_array((ones, hierarchy.ancestors, hierarchy.offsets), shape=(n_terms, n_terms))
    counts: IntArray = np.bincount((has @ above).indices, minlength=n_terms)
    return counts


_PAIRS_AT_ONCE = 2048
"""The greatest number of rows of the look-up table; a row has a 16-bit number for each term."""

_STEP_BITS, _TERM_BITS = 18, 28
_MOST_STEPS, _MOST_TERMS = (1 << _STEP_BITS) - 1, (1 << _TERM_BITS) - 1

_Key = Callable[[IntArray, IntArray], IntArray]
"""Returns a sort key for common ancestors with their distances from both terms (added); the
ancestor with the largest key is chosen."""


class TermPairs:
    """Pairs of terms; attributes are computed on first use.

    Args:
        hierarchy: The hierarchy of the terms.
        a: Term numbers, shape ``(n_pairs,)``.
        b: Term numbers, shape ``(n_pairs,)``.
        information: The information content of the terms; ``None`` to compute it from the graph.
    """

    def __init__(
        self,
        hierarchy: Hierarchy,
        a: IntArray,
        b: IntArray,
        information: InformationContent | None = None,
    ) -> None:
        self.hierarchy = hierarchy
        self.a = a
        self.b = b
        self._information = information

    @cached_property
    def equal(self) -> npt.NDArray[np.bool_]:
        """True where both terms are the same; shape ``(n_pairs,)``."""
        equal: npt.NDArray[np.bool_] = self.a == self.b
        return equal

    @cached_property
    def depth_a(self) -> IntArray:
        """The depths of the first terms."""
        return self.hierarchy.depths[self.a]

    @cached_property
    def depth_b(self) -> IntArray:
        """The depths of the second terms."""
        return self.hierarchy.depths[self.b]

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
        return np.where(self._deepest >= 0, self._deepest >> (_STEP_BITS + _TERM_BITS), 0)

    @cached_property
    def lca_steps(self) -> IntArray:
        """The number of edges on the shortest paths from both terms to the LCA; 0 without one."""
        steps = _MOST_STEPS - (self._deepest >> _TERM_BITS & _MOST_STEPS)
        return np.where(self._deepest >= 0, steps, 0)

    @cached_property
    def _deepest(self) -> IntArray:
        """Depth, steps and number of the LCA as one number; −1 if there is none."""
        depths = self.hierarchy.depths

        def deepest_nearest_first(ancestor: IntArray, steps: IntArray) -> IntArray:
            key = (depths[ancestor] << _STEP_BITS) + _MOST_STEPS - steps
            return (key << _TERM_BITS) + _MOST_TERMS - ancestor

        return self._best(deepest_nearest_first)

    @cached_property
    def information(self) -> InformationContent:
        """The information content of all terms."""
        return self._information or information_from_graph(self.hierarchy)

    @cached_property
    def most_informative(self) -> IntArray:
        """The most informative common ancestors (MICA); −1 if there is none.

        If several are equally informative, the one with the smallest number is chosen.
        """
        ranks = self.information.ranks
        best = self._best(lambda ancestor, _steps: ranks[ancestor])
        return np.where(best >= 0, self.information.order[best], -1)

    def _best(self, key: _Key) -> IntArray:
        """Return the largest key (at least 0) of the common ancestors; −1 without one."""
        order = np.argsort(self.a, kind="stable")  # pairs with the same a use the same table row
        best = np.empty(self.a.size, dtype=np.int64)
        for start in range(0, order.size, _PAIRS_AT_ONCE):
            block = order[start : start + _PAIRS_AT_ONCE]
            best[block] = _best_of_block(self.hierarchy, self.a[block], self.b[block], key)
        return best


def _best_of_block(hierarchy: Hierarchy, a: IntArray, b: IntArray, key: _Key) -> IntArray:
    table, row_of_a = _steps_up(hierarchy, a)
    lengths = hierarchy.offsets[b + 1] - hierarchy.offsets[b]
    position = ragged_ranges(hierarchy.offsets[b], lengths)
    ancestor = hierarchy.ancestors[position]
    steps_a = table[np.repeat(row_of_a, lengths), ancestor].astype(np.int64)
    keys = key(ancestor, steps_a + hierarchy.steps[position])
    keys[steps_a < 0] = -1
    best: IntArray = np.maximum.reduceat(keys, np.cumsum(lengths) - lengths)
    return best


def _steps_up(hierarchy: Hierarchy, terms: IntArray) -> tuple[npt.NDArray[np.int16], IntArray]:
    """Return a table of the distances from distinct terms to ancestors, and each term's row.

    The table has a column for each term of the hierarchy, −1 if it is not an ancestor.
    """
    distinct, row = np.unique(terms, return_inverse=True)
    starts = hierarchy.offsets[distinct]
    lengths = hierarchy.offsets[distinct + 1] - starts
    position = ragged_ranges(starts, lengths)
    table = np.full((distinct.size, hierarchy.depths.size), -1, dtype=np.int16)
    rows = np.repeat(np.arange(distinct.size), lengths)
    table[rows, hierarchy.ancestors[position]] = hierarchy.steps[position]
    return table, row


Formula = Callable[[TermPairs], FloatArray]
"""Returns n similarities in [0, 1] for n pairs."""

_DEPTH_WEIGHT, _DISTANCE_WEIGHT = 0.7, 0.3


def simple_resnik_like(pairs: TermPairs) -> FloatArray:
    """depth(LCA) / D: the specificity of the deepest common ancestor.

    The similarity of a term with itself is its depth divided by D, so it is less than 1 unless the
    depth is D. If an ancestor of the term has a greater depth, that depth is used instead.
    """
    return pairs.lca_depth / max(pairs.hierarchy.max_depth, 1)


def hybrid(pairs: TermPairs) -> FloatArray:
    """0.7·depth(LCA)/D + 0.3·max(0, 1 − p/(depth1 + depth2)); 1.0 only for equal terms.
    p: the edges on the shortest paths from both terms to the LCA, added.
    """
    return np.where(pairs.equal, 1.0, _specific_and_near(pairs, pairs.lca_steps))


def hybrid_depth(pairs: TermPairs) -> FloatArray:
    """0.7·depth(LCA)/D + 0.3·max(0, 1 − p/(depth1 + depth2)); 1.0 if p is 0, which is also the
    case for some different terms. p = max(0, depth1 + depth2 − 2·depth(LCA)).

    This is the computation of the HPO benchmark that introduced the measure
    (https://github.com/berntpopp/phentrieve). An ancestor can have a greater depth than its
    descendant, so p can be 0, and the similarity 1.0, for different terms: use it only to compare
    with the published figures of that benchmark.
    """
    distance = np.maximum(0, pairs.depth_a + pairs.depth_b - 2 * pairs.lca_depth)
    same = (pairs.lca >= 0) & (distance == 0)
    return np.where(same, 1.0, _specific_and_near(pairs, distance))


def lin(pairs: TermPairs) -> FloatArray:
    """2·IC(MICA) / (IC1 + IC2): the fraction of the terms' information that they have in common.

    Lin: An information-theoretic definition of similarity, ICML 1998. The similarity of a term with
    itself is 1, even if its IC is 0. That of different terms is 1 only if they and the MICA have
    the same IC, which is possible with IC from annotations, but not with IC from the graph.
    """
    values = pairs.information.values
    total = values[pairs.a] + values[pairs.b]
    return np.where(pairs.equal, 1.0, 2 * _shared(pairs, values) / np.where(total > 0, total, 1.0))


def _specific_and_near(pairs: TermPairs, distance: IntArray) -> FloatArray:
    near = np.maximum(0.0, 1.0 - distance / np.maximum(pairs.depth_a + pairs.depth_b, 1))
    mixed = _DEPTH_WEIGHT * simple_resnik_like(pairs) + _DISTANCE_WEIGHT * near
    return np.where(pairs.lca >= 0, mixed, 0.0)


def _shared(pairs: TermPairs, information: FloatArray) -> FloatArray:
    """Return IC(MICA); 0 if there is none."""
    mica = pairs.most_informative
    return np.where(mica >= 0, information[mica], 0.0)


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
    try:
        return FORMULAS[name]
    except (KeyError, TypeError):
        raise UsageError(
            f"unknown similarity formula {name!r}",
            remedy=f"use one of: {', '.join(FORMULAS)}",
        ) from None


_PAIRS_PER_GROUP = 500_000
"""The approximate number of pairs in a group of queries, which limits memory."""

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
    open_queries = np.flatnonzero(values == 0)
    expected_terms = _Ragged.of([expected[query] for query in open_queries.tolist()], ids)
    predicted_terms = _Ragged.of([predicted[query] for query in open_queries.tolist()], ids)
    for group in _groups(expected_terms.lengths * predicted_terms.lengths):
        a, b, lengths = _all_pairs(expected_terms.take(group), predicted_terms.take(group))
        pairs = TermPairs(hierarchy, a, b, information)
        similarity = np.where(pairs.equal, 1.0, formula(pairs))
        filled = lengths > 0
        starts = (np.cumsum(lengths) - lengths)[filled]
        if starts.size:
            values[open_queries[group][filled]] = np.maximum.reduceat(similarity, starts)
    return values


class _Ragged:
    """Term numbers of many queries in one array, without ids that have no live term."""

    def __init__(self, numbers: IntArray, lengths: IntArray) -> None:
        self.numbers = numbers
        self.lengths = lengths
        self.starts = np.cumsum(lengths) - lengths

    @classmethod
    def of(cls, lists: TermLists, ids: TermIds) -> _Ragged:
        numbers = ids.numbers(list(chain.from_iterable(lists)))
        sizes = np.array([len(terms) for terms in lists], dtype=np.int64)
        query = np.repeat(np.arange(len(lists)), sizes)
        known = numbers >= 0
        return cls(numbers[known], np.bincount(query[known], minlength=len(lists)))

    def take(self, queries: IntArray) -> _Ragged:
        lengths = self.lengths[queries]
        return _Ragged(self.numbers[ragged_ranges(self.starts[queries], lengths)], lengths)


def _all_pairs(first: _Ragged, second: _Ragged) -> tuple[IntArray, IntArray, IntArray]:
    """Pair every term of ``first`` with every term of ``second`` of the same query."""
    lengths = first.lengths * second.lengths
    query = np.repeat(np.arange(lengths.size), lengths)
    pair = ragged_ranges(np.zeros_like(lengths), lengths)
    in_first, in_second = np.divmod(pair, second.lengths[query])
    a = first.numbers[first.starts[query] + in_first]
    b = second.numbers[second.starts[query] + in_second]
    return a, b, lengths


def _groups(sizes: IntArray) -> Iterator[npt.NDArray[np.intp]]:
    """Split positions into groups whose sizes add up to about ``_PAIRS_PER_GROUP``."""
    group = np.cumsum(sizes) // _PAIRS_PER_GROUP
    yield from np.split(np.arange(sizes.size), np.flatnonzero(np.diff(group)) + 1)
