"""Encoders of texts as unit vectors: static embeddings (``wordllama``) and local models."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import InputError
from trectools_plus.retrieval.index.lexical import clean_text
from trectools_plus.retrieval.index.models import model_facts, open_model
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import Scores

MODEL = "l2_supercat"
DIMENSIONS = 256
_TEXTS_PER_BATCH = 32


class Encoder(Protocol):
    """An object that encodes texts as vectors; equal texts get equal vectors."""

    dimensions: int

    def facts(self) -> Mapping[str, str | int | None]:
        """Return everything that determines the vector of a text; part of index keys."""

    def embed_documents(self, texts: Sequence[str]) -> Scores:
        """Embed documents.

        Returns:
            ``float32`` of shape ``(len(texts), dimensions)``; rows of length 1, or all 0.
        """

    def embed_queries(self, texts: Sequence[str]) -> Scores:
        """Embed queries; see :meth:`embed_documents`."""


class TextEncoder:
    """The mean of a text's token vectors, scaled to length 1; all zeros for an empty text.

    Texts are converted to lower case, as in the lexical mode, because the embeddings of tokens in
    upper case are poor. The vector of a text does not depend on the other texts of its batch.
    """

    dimensions = DIMENSIONS

    def __init__(self) -> None:
        root = logging.getLogger()
        handlers, level = root.handlers[:], root.level
        import wordllama  # calls basicConfig

        root.handlers[:] = handlers
        root.setLevel(level)
        model = wordllama.WordLlama.load(
            MODEL,
            cache_dir=Path(wordllama.__file__).parent,
            dim=DIMENSIONS,
            disable_download=True,
        )
        self._vectors: Scores = model.embedding
        self._tokenizer = model.tokenizer
        self._tokenizer.no_padding()

    @staticmethod
    def facts() -> dict[str, str | int | None]:
        """Return everything that determines the vector of a text."""
        return {
            "model": MODEL,
            "dimensions": DIMENSIONS,
            "lowercase": True,
            "wordllama": version("wordllama"),
        }

    def embed_documents(self, texts: Sequence[str]) -> Scores:
        """Embed documents.

        Returns:
            ``float32`` of shape ``(len(texts), 256)``; rows of length 1, or all 0.
        """
        # Convert to lower case first, because this can produce accents that NFC then composes.
        cleaned = [clean_text(text.lower()) for text in texts]
        vectors = np.zeros((len(cleaned), DIMENSIONS), dtype=np.float32)
        for start in range(0, len(cleaned), _TEXTS_PER_BATCH):
            batch = cleaned[start : start + _TEXTS_PER_BATCH]
            encoded = self._tokenizer.encode_batch(batch, add_special_tokens=False)
            for row, tokens in enumerate(encoded, start):
                vectors[row] = self._vectors[tokens.ids].sum(axis=0) / max(1, len(tokens.ids))
        return _unit(vectors)

    def embed_queries(self, texts: Sequence[str]) -> Scores:
        """Embed queries; the vector of a text is the same as that of a document."""
        return self.embed_documents(texts)


def _unit(vectors: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Scale rows to length 1; rows of zeros remain."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    np.divide(vectors, lengths, out=vectors, where=lengths > 0)
    return vectors


class NeuralEncoder:
    """Embeddings by a local model; all zeros for an empty text.

    Queries are embedded one at a time, so that a query's vector does not depend on the others.

    Args:
        path: The model's folder.
        settings: ``query_prompt``, ``document_prompt``, ``max_length`` and ``device`` are used.

    Raises:
        MissingExtraError: If the extra ``neural`` is not installed.
        InputError: If the folder does not contain such a model.
        UsageError: If the device is not available.
    """

    def __init__(self, path: str, settings: RetrievalSettings) -> None:
        self._path, self._device = path, settings.device
        self._model: Any = open_model("SentenceTransformer", path, settings, "embedding_model")
        known, given = self._model.prompts or {}, settings.document_prompt
        usual = known.get("document") or known.get("passage") or ""
        self._document_prompt: str = usual if given is None else given
        given = settings.query_prompt
        self._query_prompt: str = known.get("query") or "" if given is None else given
        self.dimensions = len(self._model.encode("warm up", show_progress_bar=False))

    def facts(self) -> dict[str, str | int | None]:
        """Return everything that determines the vector of a text."""
        return {
            **model_facts(self._path, self._device, self._model),
            "dimensions": self.dimensions,
            "document_prompt": self._document_prompt,
            "query_prompt": self._query_prompt,
        }

    def embed_documents(self, texts: Sequence[str]) -> Scores:
        """Embed documents."""
        return self._embed(texts, self._document_prompt, _TEXTS_PER_BATCH)

    def embed_queries(self, texts: Sequence[str]) -> Scores:
        """Embed queries."""
        return self._embed(texts, self._query_prompt, 1)

    def _embed(self, texts: Sequence[str], prompt: str, batch_size: int) -> Scores:
        cleaned = [clean_text(text) for text in texts]
        vectors = np.zeros((len(cleaned), self.dimensions), dtype=np.float64)
        rows = [row for row, text in enumerate(cleaned) if text]
        if rows:
            vectors[rows] = self._model.encode(
                [prompt + cleaned[row] for row in rows],
                prompt="",
                batch_size=batch_size,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        if not np.isfinite(vectors).all():
            raise InputError("the model's vectors are not finite", where=self._path)
        return _unit(vectors).astype(np.float32)


def make_encoder(settings: RetrievalSettings, model: str = "") -> Encoder:
    """Create the encoder that the settings name: a model, or the static embeddings.

    Args:
        settings: The settings.
        model: The name of one of several models; empty for the only one.

    Raises:
        MissingExtraError, InputError, UsageError: See :class:`NeuralEncoder`.
    """
    folder = settings.model_folder(model)
    return TextEncoder() if folder is None else NeuralEncoder(folder, settings)
