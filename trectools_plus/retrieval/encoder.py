"""Texts to unit vectors: by the static token embeddings that ``wordllama`` carries, by default."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

import numpy as np

from trectools_plus.errors import InputError
from trectools_plus.retrieval.base import Scores
from trectools_plus.retrieval.text import clean_text

MODEL = "l2_supercat"
DIMENSIONS = 256
_TEXTS_PER_BATCH = 64
# A text has at most about as many tokens as bytes, and a token takes 1 KiB while it is pooled.
_BYTES_PER_BATCH = 1 << 18


class Encoder(Protocol):
    """Anything that turns texts into vectors; equal texts get equal vectors."""

    dimensions: int

    def facts(self) -> Mapping[str, str | int | None]:
        """What decides which vector a text gets: part of index keys."""

    def embed_documents(self, texts: Sequence[str]) -> Scores:
        """Embed what is searched.

        Returns:
            ``float32`` of shape ``(len(texts), dimensions)``; rows of length 1, or all 0.
        """

    def embed_queries(self, texts: Sequence[str]) -> Scores:
        """Embed what is searched with; as :meth:`embed_documents`."""


class TextEncoder:
    """The mean of a text's token vectors, scaled to length 1; all zeros for an empty text.

    Texts are lower-cased, as the lexical mode's are: the tokens of *SEIZURE* are rare and say
    little. A text's vector depends on that text alone, not on the others of its batch.

    Raises:
        InputError: If the installed ``wordllama`` does not carry its model.
    """

    dimensions = DIMENSIONS

    def __init__(self) -> None:
        with _root_logger_untouched():
            import wordllama

        try:
            self._model = wordllama.WordLlama.load(
                MODEL,
                cache_dir=Path(wordllama.__file__).parent,
                dim=DIMENSIONS,
                disable_download=True,
            )
        except FileNotFoundError as error:
            raise InputError(
                f"the embedding model {MODEL} is not where wordllama installs it",
                where=str(Path(wordllama.__file__).parent),
                remedy="install wordllama again: pip install --force-reinstall wordllama",
            ) from error

    @staticmethod
    def facts() -> dict[str, str | int | None]:
        """What decides which vector a text gets."""
        return {
            "model": MODEL,
            "dimensions": DIMENSIONS,
            "lowercase": True,
            "wordllama": version("wordllama"),
        }

    def embed_documents(self, texts: Sequence[str]) -> Scores:
        """Embed what is searched; see :meth:`embed`."""
        return self.embed(texts)

    def embed_queries(self, texts: Sequence[str]) -> Scores:
        """Embed what is searched with, in no other way."""
        return self.embed(texts)

    def embed(self, texts: Sequence[str]) -> Scores:
        """Embed texts.

        Returns:
            ``float32`` of shape ``(len(texts), 256)``; rows of length 1, or all 0.
        """
        # Lower-cased first: lower-casing can leave accents that compose.
        cleaned = [clean_text(text.lower()) for text in texts]
        vectors = np.zeros((len(cleaned), DIMENSIONS), dtype=np.float32)
        for rows in _batches([len(text.encode()) for text in cleaned]):
            vectors[rows] = self._model.embed([cleaned[row] for row in rows], norm=False)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        return vectors


def _batches(sizes: list[int]) -> Iterator[list[int]]:
    """Rows grouped by size, so that little is padded and memory stays bounded."""
    batch: list[int] = []
    for row in sorted(range(len(sizes)), key=sizes.__getitem__):
        # Sorted, so this row is the longest of its batch, to which the others are padded.
        too_large = (len(batch) + 1) * sizes[row] > _BYTES_PER_BATCH
        if batch and (too_large or len(batch) == _TEXTS_PER_BATCH):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


@contextmanager
def _root_logger_untouched() -> Iterator[None]:
    """Undo what importing wordllama does to logging: it calls ``basicConfig``."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
