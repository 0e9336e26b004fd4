"""The parts of documents, in the order of a multi-vector index, and the aggregation of scores.

These strategies compute a document's score from the scores of its parts:

========================= =====================================================================
``label_only``            the label's score
``label_synonyms_max``    the highest score of the label and the synonyms
``all_max``               the highest score of all parts
``all_weighted``          the weighted mean of the highest score of each kind
========================= =====================================================================

The mean covers only the kinds that the document has. For example, a term without synonyms is scored
by its label and definition. So every document score is between the lowest and the highest score of
its parts. A document without a part of the aggregated kinds is not ranked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.display import Displayed
from trectools_plus.errors import InputError
from trectools_plus.formats.hashing import sha256_columns
from trectools_plus.formats.tables import PARTS_SCHEMA, Corpus

KINDS = ("label", "synonym", "definition")
"""The kinds of parts. The title of a plain document is its label, and its text its definition."""

Positions = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TextParts(Displayed):
    """Parts of documents: those of a document one after another, in the order of ``KINDS``.

    Attributes:
        doc_ids: Documents with at least one part, ids descending by UTF-8 bytes.
        texts: Returns their texts, one for each row of the index.
        documents: The number of each part's document, ascending.
        kinds: The number of each part's kind in ``KINDS``, ascending within a document.
        sha256: Hash of ids, kinds and texts in this order.
        path: Path of the source.
    """

    doc_ids: list[str]
    texts: Callable[[], Iterable[str]]
    documents: Positions
    kinds: Positions
    sha256: str
    path: str | None = None

    @classmethod
    def from_frame(cls, frame: pl.DataFrame, path: str | None = None) -> TextParts:
        """Create the parts from a frame ``doc_id, kind, text``; drop empty texts.

        Parts of the same document and kind keep their order.

        Raises:
            InputError: If there are no parts.
        """
        known = frame.select(PARTS_SCHEMA.keys()).filter(pl.col("text").str.contains(r"\S"))
        if known.is_empty():
            raise InputError("the documents have no text", where=path)
        numbered = known.with_columns(order=pl.col("kind").replace_strict(KINDS, range(len(KINDS))))
        ordered = numbered.sort(["doc_id", "order"], descending=[True, False], maintain_order=True)
        doc_ids = ordered["doc_id"]
        return cls(
            doc_ids.unique(maintain_order=True).to_list(),
            partial(ordered.get_column, "text"),
            doc_ids.rle_id().to_numpy().astype(np.intp),
            ordered["order"].to_numpy().astype(np.intp),
            sha256_columns(ordered, list(PARTS_SCHEMA)),
            path,
        )

    @classmethod
    def of_documents(cls, corpus: Corpus) -> TextParts:
        """Return the title and text of each document as one part, its label."""
        numbers, ordered = np.arange(len(corpus), dtype=np.intp), corpus.in_index_order()
        texts, kinds = ordered.searchable_texts, np.zeros_like(numbers)
        return cls(ordered.doc_ids, texts, numbers, kinds, ordered.sha256(), corpus.path)

    @classmethod
    def from_corpus(cls, corpus: Corpus) -> TextParts:
        """Return the parts of a corpus, or its titles as labels and its texts as definitions.

        Raises:
            InputError: See :meth:`from_frame`.
        """
        if corpus.parts is not None:
            return cls.from_frame(corpus.parts, corpus.path)
        columns = [
            corpus.frame.select("doc_id", kind=pl.lit(kind), text=pl.col(name))
            for name, kind in (("title", "label"), ("text", "definition"))
        ]
        return cls.from_frame(pl.concat(columns), corpus.path)

    def names(self) -> dict[str, list[str]]:
        """Return the label and synonyms of each document, or its definition if it has neither."""
        names = dict[str, list[str]]()
        for text, document, kind in zip(self.texts(), self.documents, self.kinds, strict=True):
            doc_id = self.doc_ids[document]
            if KINDS[kind] != "definition" or doc_id not in names:
                names.setdefault(doc_id, []).append(text)
        return names


@dataclass(frozen=True)
class Aggregation:
    """A strategy that computes a document's score from the scores of its parts.

    Attributes:
        kinds: The aggregated kinds.
        weights: Weights by kind for a weighted mean over the kinds; empty takes the maximum.
    """

    kinds: tuple[str, ...]
    weights: tuple[float, ...] = ()

    def rows_of(self, parts: TextParts) -> Positions:
        """Return the rows of the aggregated kinds."""
        return np.flatnonzero(np.isin(parts.kinds, [KINDS.index(kind) for kind in self.kinds]))

    def score(
        self, products: npt.NDArray[Any], documents: Positions, kinds: Positions
    ) -> npt.NDArray[Any]:
        """Compute the scores of documents from the scores of their parts.

        Args:
            products: The scores of parts, of shape ``(queries, parts)``.
            documents: The number of each part's document, ascending.
            kinds: The number of each part's kind, ascending within a document.

        Returns:
            Scores of shape ``(queries, documents)``, in the precision of the products, of the
            documents that have a part.
        """
        if not self.weights:
            starts = np.flatnonzero(np.diff(documents, prepend=-1))
            is_whole = len(starts) == len(documents)
            return products if is_whole else np.maximum.reduceat(products, starts, axis=1)
        starts = np.flatnonzero(np.diff(documents * len(KINDS) + kinds, prepend=-1))
        best = np.maximum.reduceat(products, starts, axis=1)
        weights = np.array(self.weights, dtype=products.dtype)[kinds[starts]]
        firsts = np.flatnonzero(np.diff(documents[starts], prepend=-1))
        total = np.add.reduceat(best * weights, firsts, axis=1)
        return np.divide(total, np.add.reduceat(weights, firsts), dtype=products.dtype)


AGGREGATIONS: Mapping[str, Aggregation] = {
    "label_only": Aggregation(("label",)),
    "label_synonyms_max": Aggregation(("label", "synonym")),
    "all_max": Aggregation(KINDS),
    "all_weighted": Aggregation(KINDS, (0.5, 0.3, 0.2)),
}
"""Aggregations by name."""
