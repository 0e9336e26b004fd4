"""Encoders of texts as unit vectors: static embeddings (``wordllama``) and local models."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from functools import lru_cache, partial
from importlib.metadata import distribution, version
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import InputError
from trectools_plus.retrieval.index.lexical import clean_text
from trectools_plus.retrieval.index.models import Facts, model_facts, open_model
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import Scores

MODEL = "l2_supercat"
DIMENSIONS = 256
_TEXTS_PER_BATCH = 32
# No token of the model has a space after another character, so words are tokenised separately.
# ▁ stands for a space; the names of special tokens are between < and >.
_WORD_END = re.compile(" (?<![ >▁] )(?!<)")


class Encoder(Protocol):
    """An object that encodes texts as vectors; equal texts get equal vectors."""

    dimensions: int

    def facts(self) -> Facts:
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
        # The files of the package, because importing it takes longer than the search for a query.
        folder = distribution("wordllama").locate_file("wordllama")
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        model = Tokenizer.from_file(f"{folder}/tokenizers/{MODEL}_tokenizer_config.json")
        tensors = load_file(f"{folder}/weights/{MODEL}_{DIMENSIONS}.safetensors")
        self._vectors = tensors["embedding.weight"]
        encode = partial(model.encode, add_special_tokens=False)
        # The numbers of a word's tokens, with 32 bits each.
        self._tokens_of = lru_cache(1 << 17)(lambda word: array("i", encode(word).ids).tobytes())

    @staticmethod
    def facts() -> Facts:
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
        from scipy.sparse import csr_array

        tokens = [*map(self._tokens, texts)]
        ids = np.frombuffer(b"".join(tokens), np.int32)
        ends = np.cumsum([0, *map(len, tokens)]) // ids.itemsize
        known, columns = np.unique(ids, return_inverse=True)
        counts = csr_array((np.ones(len(ids), np.float32), columns, ends), (len(texts), len(known)))
        # The product adds the vectors of a text in their order, as numpy.sum does.
        sums = counts @ self._vectors[known].astype(np.float32)
        return _unit(sums / np.maximum(1, np.diff(ends), dtype=np.float32)[:, np.newaxis])

    def embed_queries(self, texts: Sequence[str]) -> Scores:
        """Embed queries; the vector of a text is the same as that of a document.

        This does not need SciPy, whose import takes longer than the search for a few queries.
        """
        ids = [np.frombuffer(self._tokens(text), np.int32) for text in texts]
        sums = [self._vectors[of_text].astype(np.float32).sum(axis=0) for of_text in ids]
        means = [total / max(1, len(of_text)) for total, of_text in zip(sums, ids, strict=True)]
        return _unit(np.array(means, np.float32).reshape(-1, self.dimensions))

    def _tokens(self, text: str) -> bytes:
        # Convert to lower case first, because this can produce accents that NFC then composes.
        return b"".join(map(self._tokens_of, _WORD_END.split(clean_text(text.lower()))))


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
        known, prompt = self._model.prompts or {}, settings.document_prompt
        usual = known.get("document") or known.get("passage") or ""
        self._document_prompt: str = usual if prompt is None else prompt
        prompt = settings.query_prompt
        self._query_prompt: str = known.get("query") or "" if prompt is None else prompt
        self.dimensions = len(self._model.encode("warm up", show_progress_bar=False))

    def facts(self) -> Facts:
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
