"""Information content of terms, from the graph or from annotations.

Annotations list the terms of diseases, genes or documents. With both methods, the information
content of a term is not less than that of its ancestors, so similarities are in [0, 1].

Annotation files have the format of ``phenotype.hpoa``
(https://obophenotype.github.io/human-phenotype-ontology/annotations/phenotype_hpoa/): tabs,
comments that start with ``#``, a header, the columns ``database_id``, ``hpo_id`` and optionally
``qualifier``, whose value ``NOT`` means that the term does not apply.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from trectools_plus.display import Displayed, TextTable
from trectools_plus.errors import FormatError
from trectools_plus.formats.files.source import read_source
from trectools_plus.ontology.hierarchy import FloatArray, Hierarchy, IntArray
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
    source = read_source(path)
    text = source.text
    header, begin, line = _find_header(text, source.path)
    rows = _read_rows(text[begin:], header, source.path, line + 1)
    if _QUALIFIER in header:
        qualifier = pl.col(_QUALIFIER).str.strip_chars().str.to_uppercase()
        rows = rows.filter(qualifier.ne_missing("NOT"))
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
