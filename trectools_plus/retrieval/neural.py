"""Vectors by a model of sentence-transformers from a local folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trectools_plus.errors import InputError
from trectools_plus.retrieval.base import Scores
from trectools_plus.retrieval.encoder import Encoder, TextEncoder
from trectools_plus.retrieval.models import model_facts, open_model
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.text import clean_text

_TEXTS_PER_BATCH = 32


class NeuralEncoder:
    """Embeds texts with a model; all zeros for an empty text.

    Queries are embedded one at a time, so that a query's vector does not depend on the others.

    Args:
        path: The model's folder.
        settings: ``query_prompt``, ``document_prompt``, ``max_length`` and ``device`` are used.

    Raises:
        MissingExtraError: If the extra ``neural`` is not installed.
        InputError: If the folder holds no such model.
        UsageError: If the device is not there.
    """

    def __init__(self, path: str, settings: RetrievalSettings) -> None:
        self._path, self._device = path, settings.device
        self._model: Any = open_model(
            "SentenceTransformer", path, settings.device, "embedding_model"
        )
        if settings.max_length is not None:
            self._model.max_seq_length = settings.max_length
        own = self._model.prompts or {}
        self._query_prompt = _prompt(settings.query_prompt, own, ("query",))
        self._document_prompt = _prompt(settings.document_prompt, own, ("document", "passage"))
        self.dimensions = self._embed([("warm up", "")]).shape[1]

    def facts(self) -> dict[str, str | int | None]:
        """What decides which vector a text gets."""
        return {
            **model_facts(self._path, self._device, self._model),
            "dimensions": self.dimensions,
            "document_prompt": self._document_prompt,
            "query_prompt": self._query_prompt,
        }

    def embed_documents(self, texts: Sequence[str]) -> Scores:
        """Embed what is searched."""
        return self._rows(texts, self._document_prompt, _TEXTS_PER_BATCH)

    def embed_queries(self, texts: Sequence[str]) -> Scores:
        """Embed what is searched with."""
        return self._rows(texts, self._query_prompt, 1)

    def _rows(self, texts: Sequence[str], prompt: str, batch_size: int) -> Scores:
        cleaned = [clean_text(text) for text in texts]
        vectors = np.zeros((len(cleaned), self.dimensions), dtype=np.float32)
        rows = [row for row, text in enumerate(cleaned) if text]
        if rows:
            vectors[rows] = self._embed([(prompt, cleaned[row]) for row in rows], batch_size)
        return vectors

    def _embed(self, texts: Sequence[tuple[str, str]], batch_size: int = 1) -> Scores:
        vectors = self._model.encode(
            [prompt + text for prompt, text in texts],
            prompt="",
            batch_size=batch_size,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        vectors = np.asarray(vectors, dtype=np.float64)
        if not np.isfinite(vectors).all():
            raise InputError("the model's vectors are not finite", where=self._path)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        return vectors.astype(np.float32)


def make_encoder(settings: RetrievalSettings) -> Encoder:
    """The encoder that the settings ask for: a local model, or the static embeddings.

    Raises:
        MissingExtraError, InputError, UsageError: As :class:`NeuralEncoder`.
    """
    if settings.embedding_model is None:
        return TextEncoder()
    return NeuralEncoder(settings.embedding_model, settings)


def _prompt(given: str | None, own: dict[str, str], names: tuple[str, ...]) -> str:
    """The user's prompt, else the model's own of one of these names, else none."""
    if given is not None:
        return given
    return next((own[name] for name in names if own.get(name)), "")
