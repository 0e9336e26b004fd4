"""The texts a document consists of, in the order of a multi-vector index, and their aggregation.

How the scores of a document's parts become the document's score:

========================= =====================================================================
``label_only``            the label's score
``label_synonyms_min``    the lowest score of label and synonyms
``label_synonyms_max``    the highest score of label and synonyms
``all_max``               the highest score of label, synonyms and definition
``all_weighted``          the sum, over the kinds, of weight times highest score of that kind
========================= =====================================================================

The weights are divided by the sum of those whose kind the document has: a term without synonyms
is scored by its label and definition alone, in their proportion. So every document score lies
between the lowest and the highest score of its parts. A document without any part of the kinds
that count is not ranked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.errors import InputError
from trectools_plus.formats.hashing import sha256_columns
from trectools_plus.formats.tables import PARTS_SCHEMA, Corpus

KINDS = ("label", "synonym", "definition")
"""What a part can be. A plain document's title is its label, its text is its definition."""

Places = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """The rows of one kind: a segment of neighbouring rows for each document that has the kind.

    Attributes:
        starts: First row of each segment, rising; counted from the index's first row.
        sizes: Rows of each segment, at least 1.
        documents: The document of each segment, rising.
    """

    starts: Places
    sizes: Places
    documents: Places

    @property
    def first(self) -> int:
        """The kind's first row."""
        return int(self.starts[0])

    @property
    def end(self) -> int:
        """The row behind the kind's last one."""
        return int(self.starts[-1] + self.sizes[-1])

    def gather(self, documents: Places) -> tuple[Places, Segments]:
        """The rows of some documents, and their segments counted among these rows.

        Args:
            documents: Rising.

        Returns:
            Row numbers of the index, and segments whose rows and documents count from 0 within
            what was asked for; both empty where no document has the kind.
        """
        places = np.minimum(np.searchsorted(self.documents, documents), len(self.documents) - 1)
        has = self.documents[places] == documents
        starts, sizes = self.starts[places[has]], self.sizes[places[has]]
        own = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)[: len(sizes)]
        rows = np.repeat(starts - own, sizes) + np.arange(sizes.sum())
        return rows, Segments(own, sizes, np.flatnonzero(has))


@dataclass(frozen=True, slots=True, eq=False)
class TextParts:
    """Parts of documents: kinds in the order of ``KINDS``, in each documents by falling id.

    Attributes:
        doc_ids: Documents with at least one part, ids descending by UTF-8 bytes.
        texts: The parts' texts, one for each row of the index.
        segments: By kind, for the kinds that occur.
        sha256: Hash of ids, kinds and texts in this order.
        path: Where they were read from.
    """

    doc_ids: list[str]
    texts: list[str]
    segments: Mapping[str, Segments]
    sha256: str
    path: str | None = None

    @classmethod
    def from_frame(cls, frame: pl.DataFrame, path: str | None = None) -> TextParts:
        """Sort the parts ``doc_id, kind, text``; empty texts are left out.

        Parts of one document and kind keep their order.

        Raises:
            InputError: If there is no part, a kind is unknown, or a document has two labels or
                definitions.
        """
        known = frame.select(PARTS_SCHEMA.keys()).filter(pl.col("text").str.contains(r"\S"))
        strange = known.filter(~pl.col("kind").is_in(KINDS))["kind"]
        if len(strange):
            raise InputError(
                f"unknown kind of part '{strange[0]}'",
                where=path,
                remedy=f"there are {', '.join(KINDS)}",
            )
        if known.is_empty():
            raise InputError("the documents have no text", where=path)
        ordered = (
            known.with_columns(order=pl.col("kind").replace_strict(KINDS, range(len(KINDS))))
            .sort(["order", "doc_id"], descending=[False, True], maintain_order=True)
            .drop("order")
        )
        doc_ids = ordered["doc_id"].unique().sort(descending=True)
        places = {doc_id: place for place, doc_id in enumerate(doc_ids.to_list())}
        segments = {}
        start = 0
        for kind in KINDS:
            ids = ordered.filter(kind=kind)["doc_id"]
            if not len(ids):
                continue
            runs = ids.rle().struct.unnest()
            sizes = runs["len"].to_numpy().astype(np.intp)
            if kind != "synonym" and sizes.max() > 1:
                twice = runs["value"][int(sizes.argmax())]
                raise InputError(f"document '{twice}' has more than one {kind}", where=path)
            documents = np.array([places[doc_id] for doc_id in runs["value"]], dtype=np.intp)
            starts = (start + np.cumsum(sizes) - sizes).astype(np.intp)
            segments[kind] = Segments(starts, sizes, documents)
            start += len(ids)
        digest = sha256_columns(ordered, list(PARTS_SCHEMA))
        return cls(doc_ids.to_list(), ordered["text"].to_list(), segments, digest, path)

    @classmethod
    def from_corpus(cls, corpus: Corpus) -> TextParts:
        """The corpus' own parts; without them, titles as labels and texts as definitions.

        Raises:
            InputError: As :meth:`from_frame`.
        """
        if corpus.parts is not None:
            return cls.from_frame(corpus.parts, corpus.path)
        named = {"title": "label", "text": "definition"}
        columns = [
            corpus.frame.select("doc_id", kind=pl.lit(kind), text=pl.col(name))
            for name, kind in named.items()
        ]
        return cls.from_frame(pl.concat(columns), corpus.path)


DEFAULT_WEIGHTS: Mapping[str, float] = {"label": 0.5, "synonym": 0.3, "definition": 0.2}

Float = TypeVar("Float", np.float32, np.float64)


@dataclass(frozen=True, slots=True)
class Aggregation:
    """A way from scores of parts to a score of the document.

    Attributes:
        kinds: The kinds that count, as the start of ``KINDS``.
        combine: ``max``, ``min`` or ``sum``, over the kinds.
        weights: By kind, for ``sum``; above 0 for at least one.
    """

    kinds: tuple[str, ...]
    combine: Literal["max", "min", "sum"] = "max"
    weights: Mapping[str, float] | None = None

    def score(
        self,
        products: Mapping[str, npt.NDArray[Float]],
        segments: Mapping[str, Segments],
        documents: int,
    ) -> npt.NDArray[Float]:
        """Scores of documents from scores of parts.

        Args:
            products: By kind, scores of its rows, of shape ``(queries, rows)``.
            segments: By kind, whose rows they are; no kind without rows.
            documents: How many documents there are.

        Returns:
            Shape ``(queries, documents)``, in the products' precision; ``-inf`` for a document
            without any part that counts.
        """
        best = {
            kind: self._reduce(products[kind], segments[kind])
            for kind in self.kinds
            if kind in segments
        }
        some = next(iter(products.values()))
        if self.combine == "sum":
            return self._sum(best, segments, np.zeros((len(some), documents), some.dtype))
        worst, take = (-np.inf, np.maximum) if self.combine == "max" else (np.inf, np.minimum)
        scores = np.full((len(some), documents), worst, dtype=some.dtype)
        for kind, values in best.items():
            own = segments[kind].documents
            scores[:, own] = take(scores[:, own], values)
        scores[np.isinf(scores)] = -np.inf
        return scores

    def _reduce(self, products: npt.NDArray[Float], segments: Segments) -> npt.NDArray[Float]:
        reducer = np.minimum if self.combine == "min" else np.maximum
        return reducer.reduceat(products, segments.starts - segments.first, axis=1)

    def _sum(
        self,
        best: Mapping[str, npt.NDArray[Float]],
        segments: Mapping[str, Segments],
        scores: npt.NDArray[Float],
    ) -> npt.NDArray[Float]:
        assert self.weights is not None
        mass = np.zeros(scores.shape[1], dtype=scores.dtype)
        for kind, values in best.items():
            own, weight = segments[kind].documents, scores.dtype.type(self.weights[kind])
            scores[:, own] += weight * values
            mass[own] += weight
        counts = mass > 0
        scores[:, counts] /= mass[counts]
        scores[:, ~counts] = -np.inf
        return scores


AGGREGATIONS: Mapping[str, Aggregation] = {
    "label_only": Aggregation(("label",)),
    "label_synonyms_min": Aggregation(("label", "synonym"), "min"),
    "label_synonyms_max": Aggregation(("label", "synonym")),
    "all_max": Aggregation(KINDS),
    "all_weighted": Aggregation(KINDS, "sum", DEFAULT_WEIGHTS),
}
"""By name; ``all_weighted`` with the default weights."""


def aggregation_of(name: str, weights: Mapping[str, float]) -> Aggregation:
    """The aggregation of this name.

    Args:
        name: Of ``AGGREGATIONS``.
        weights: By kind, for ``all_weighted``; a kind that is not named, or has weight 0, does
            not count.
    """
    found = AGGREGATIONS[name]
    if found.combine != "sum":
        return found
    used = {kind: weights[kind] for kind in KINDS if weights.get(kind, 0.0) > 0}
    return Aggregation(tuple(used), "sum", used)
