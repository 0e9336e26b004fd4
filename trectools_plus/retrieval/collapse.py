"""Chunks to documents: what a service of chunks must be asked for, and how chunks become one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from trectools_plus.retrieval.values import WholeNumber

CollapseMethod = Literal["max", "first", "sum"]
DEEPEST = 16
"""How many times the depth is asked for at most, where ``max_chunks`` does not say."""


class Collapse(BaseModel):
    """How chunks become documents."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    method: CollapseMethod = "max"
    """The document's score: ``max`` of its chunks' scores, that of the ``first`` chunk in the order
    of the service, or their ``sum`` (over the chunks that were fetched)."""
    separator: str | None = Field(default=None, min_length=1)
    """What stands between the document's id and the chunk's own part, as ``#`` in ``d12#3``; the
    last one counts. Without it the ids are those of documents already, and one that comes several
    times is collapsed."""
    max_chunks: WholeNumber | None = Field(default=None, ge=1)
    """The most chunks asked for one query; 16 times the depth by default."""

    def most(self, depth: int) -> int:
        """How many chunks may be asked for a result of ``depth`` documents."""
        return max(depth, DEEPEST * depth if self.max_chunks is None else self.max_chunks)


def document_id(chunk_id: str, separator: str | None) -> str:
    """The id of the document that a chunk is of; one without a separator is a document."""
    if separator is None:
        return chunk_id
    before, found, _ = chunk_id.rpartition(separator)
    return before if found else chunk_id


def collapse_chunks(
    ids: Sequence[str], scores: Sequence[float], collapse: Collapse
) -> dict[str, float]:
    """Scores by document, in the order in which the documents first come.

    Args:
        ids: Of chunks, in the order of the service.
        scores: One per id.
        collapse: How.
    """
    collapsed: dict[str, float] = {}
    for chunk_id, score in zip(ids, scores, strict=True):
        doc_id = document_id(chunk_id, collapse.separator)
        if doc_id not in collapsed:
            collapsed[doc_id] = score
        elif collapse.method == "max":
            collapsed[doc_id] = max(collapsed[doc_id], score)
        elif collapse.method == "sum":
            collapsed[doc_id] += score
    return collapsed
