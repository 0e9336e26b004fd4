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

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

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


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """The rows of one kind: a segment of adjacent rows for each document that has the kind.

    Attributes:
        starts: First row of each segment in the index, ascending.
        sizes: Number of rows of each segment, at least 1.
        documents: The document of each segment, ascending.
    """

    starts: Positions
    sizes: Positions
    documents: Positions

    @property
    def first(self) -> int:
        """The kind's first row."""
        return int(self.starts[0])

    @property
    def end(self) -> int:
        """The row after the kind's last row."""
        return int(self.starts[-1] + self.sizes[-1])

    def gather(self, documents: Positions) -> tuple[Positions, Segments]:
        """Return the rows of some documents, and segments of these rows.

        Args:
            documents: Document numbers, ascending.

        Returns:
            Row numbers of the index, and segments that number these rows and documents from 0;
            both empty if no document has the kind.
        """
        found = np.minimum(np.searchsorted(self.documents, documents), len(self.documents) - 1)
        has_kind = self.documents[found] == documents
        starts, sizes = self.starts[found[has_kind]], self.sizes[found[has_kind]]
        new_starts = (np.cumsum(sizes) - sizes).astype(np.intp)
        rows = np.repeat(starts - new_starts, sizes) + np.arange(sizes.sum())
        return rows, Segments(new_starts, sizes, np.flatnonzero(has_kind))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TextParts(Displayed):
    """Parts of documents, ordered by kind as in ``KINDS``, then by descending document id.

    Attributes:
        doc_ids: Documents with at least one part, ids descending by UTF-8 bytes.
        texts: The parts' texts, one for each row of the index.
        segments: Segments by kind, for the kinds that occur.
        sha256: Hash of ids, kinds and texts in this order.
        path: Path of the source.
    """

    doc_ids: list[str]
    texts: list[str]
    segments: Mapping[str, Segments]
    sha256: str
    path: str | None = None

    @classmethod
    def from_frame(cls, frame: pl.DataFrame, path: str | None = None) -> TextParts:
        """Create the parts from a frame ``doc_id, kind, text``; drop empty texts.

        Parts of the same document and kind keep their order.

        Raises:
            InputError: If there are no parts.
        """
        has_text = pl.col("text").str.contains(r"\S")
        known = frame.select(PARTS_SCHEMA.keys()).filter(has_text)
        if known.is_empty():
            raise InputError("the documents have no text", where=path)
        ordered = (
            known.with_columns(order=pl.col("kind").replace_strict(KINDS, range(len(KINDS))))
            .sort(["order", "doc_id"], descending=[False, True], maintain_order=True)
            .drop("order")
        )
        doc_ids = ordered["doc_id"].unique().sort(descending=True)
        numbers = {doc_id: number for number, doc_id in enumerate(doc_ids.to_list())}
        segments = {}
        start = 0
        for kind in KINDS:
            ids = ordered.filter(kind=kind)["doc_id"]
            if not len(ids):
                continue
            groups = ids.rle().struct.unnest()
            sizes = groups["len"].to_numpy().astype(np.intp)
            documents = np.array([numbers[doc_id] for doc_id in groups["value"]], dtype=np.intp)
            starts = (start + np.cumsum(sizes) - sizes).astype(np.intp)
            segments[kind] = Segments(starts, sizes, documents)
            start += len(ids)
        digest = sha256_columns(ordered, list(PARTS_SCHEMA))
        return cls(doc_ids.to_list(), ordered["text"].to_list(), segments, digest, path)

    @classmethod
    def of_documents(cls, corpus: Corpus) -> TextParts:
        """Return the title and text of each document as one part, its label."""
        numbers = np.arange(len(corpus), dtype=np.intp)
        segments = {"label": Segments(numbers, np.ones_like(numbers), numbers)}
        ordered = corpus.in_index_order()
        texts, key = ordered.searchable_texts(), ordered.sha256()
        return cls(ordered.doc_ids, texts, segments, key, corpus.path)

    @classmethod
    def from_corpus(cls, corpus: Corpus) -> TextParts:
        """Return the parts of a corpus, or its titles as labels and its texts as definitions.

        Raises:
            InputError: See :meth:`from_frame`.
        """
        if corpus.parts is not None:
            return cls.from_frame(corpus.parts, corpus.path)
        named = {"title": "label", "text": "definition"}
        columns = [
            corpus.frame.select("doc_id", kind=pl.lit(kind), text=pl.col(name))
            for name, kind in named.items()
        ]
        return cls.from_frame(pl.concat(columns), corpus.path)

    def names(self) -> dict[str, list[str]]:
        """Return the label and synonyms of each document, or its definition if it has neither."""
        names: dict[str, list[str]] = {}
        for kind, segments in self.segments.items():
            for start, size, document in zip(
                segments.starts, segments.sizes, segments.documents, strict=True
            ):
                doc_id = self.doc_ids[document]
                if kind == "definition" and doc_id in names:
                    continue
                names.setdefault(doc_id, []).extend(self.texts[start : start + size])
        return names


Float = TypeVar("Float", np.float32, np.float64)


@dataclass(frozen=True, slots=True)
class Aggregation:
    """A strategy that computes a document's score from the scores of its parts.

    Attributes:
        kinds: The aggregated kinds.
        weights: Weights by kind for a weighted mean over the kinds; ``None`` takes the maximum.
    """

    kinds: tuple[str, ...]
    weights: Mapping[str, float] | None = None

    def score(
        self,
        products: Mapping[str, npt.NDArray[Float]],
        segments: Mapping[str, Segments],
        documents: int,
    ) -> npt.NDArray[Float]:
        """Compute the scores of documents from the scores of their parts.

        Args:
            products: By kind, the scores of its parts, of shape ``(queries, parts)``.
            segments: By kind, the documents of the parts; each kind has at least one part.
            documents: Number of documents.

        Returns:
            Scores of shape ``(queries, documents)``, in the precision of the products; ``-inf``
            for a document without a part of the aggregated kinds.
        """
        template = next(iter(products.values()))
        scores = np.full((len(template), documents), -np.inf, dtype=template.dtype)
        sums, weight_sums = np.zeros_like(scores), np.zeros(documents, scores.dtype)
        for kind in filter(segments.__contains__, self.kinds):
            columns, starts = segments[kind].documents, segments[kind].starts
            best = np.maximum.reduceat(products[kind], starts - segments[kind].first, axis=1)
            if self.weights is None:
                scores[:, columns] = np.maximum(scores[:, columns], best)
            else:
                weight = scores.dtype.type(self.weights[kind])
                sums[:, columns] += weight * best
                weight_sums[columns] += weight
        return np.divide(sums, weight_sums, out=scores, where=weight_sums > 0)


AGGREGATIONS: Mapping[str, Aggregation] = {
    "label_only": Aggregation(("label",)),
    "label_synonyms_max": Aggregation(("label", "synonym")),
    "all_max": Aggregation(KINDS),
    "all_weighted": Aggregation(KINDS, {"label": 0.5, "synonym": 0.3, "definition": 0.2}),
}
"""Aggregations by name."""
