"""The mode ``splade``: learned sparse vectors over a vocabulary, computed by a local model.

Formal, Piwowarski and Clinchant, SIGIR 2021. The model gives query and document weights for the
words of its vocabulary; the score is the dot product, summed in 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trectools_plus.display import Progress, no_progress
from trectools_plus.errors import UsageError
from trectools_plus.formats.files.index_cache import load_array
from trectools_plus.formats.tables import Corpus
from trectools_plus.retrieval.index.index import Index, Postings
from trectools_plus.retrieval.index.lexical import clean_text
from trectools_plus.retrieval.index.models import first_rows, model_facts, open_model
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import Ranking

_TEXTS_PER_STEP = 256
_TEXTS_PER_BATCH = 16


class SparseRetriever(Index):
    """Dot product of sparse vectors. Documents that share no weighted word are not results.

    Args:
        documents: The corpus.
        settings: ``splade_model``, ``max_length`` and ``device`` are used.
        progress: Receives the progress of building an index that is not in the cache.

    Raises:
        UsageError: If the settings do not name a model, or the device is not available.
        MissingExtraError: If the extra ``neural`` is not installed.
        InputError: If the folder does not contain such a model.
    """

    name = "splade"

    def __init__(
        self,
        documents: Corpus,
        settings: RetrievalSettings,
        progress: Progress = no_progress,
    ) -> None:
        if settings.splade_model is None:
            raise UsageError(
                "the mode splade needs a model",
                remedy="name its local folder: --splade-model DIR, or --set splade_model=DIR",
            )
        self._documents = documents.in_index_order()
        path = settings.splade_model
        self._model = open_model("SparseEncoder", path, settings, "splade_model")
        facts = model_facts(path, settings.device, self._model)
        facts["corpus_sha256"] = self._documents.sha256()
        self.open(self._documents.doc_ids, facts, progress)

    def search(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Rank the documents that share a weighted word with each query."""
        rankings = []
        for query in queries:
            # Encode one query at a time, because the output depends on the batch.
            words = _encode(self._model.encode_query, [query], 1, no_progress)
            pairs = zip(words.indices, words.data.tolist(), strict=True)
            rankings.append(self.best(self.content.add(pairs).astype(np.float32), depth))
        return rankings

    def build(self, folder: Path, progress: Progress) -> None:
        """Write the weights of each word in the documents."""
        texts = [*self._documents.searchable_texts()]
        by_word = _encode(self._model.encode_document, texts, _TEXTS_PER_BATCH, progress).T.tocsr()
        for name in ("data", "indices", "indptr"):
            np.save(folder / f"{name}.npy", getattr(by_word, name))
        np.save(folder / "shape.npy", np.array(by_word.shape))

    def load(self, folder: Path) -> Postings:
        """Map the weights into memory: a row for each word, and a column for each document."""
        words, documents = load_array(folder / "shape.npy", np.integer).tolist()
        return Postings(folder, np.float64, (words, documents))


def _encode(encode: Any, texts: list[str], batch_size: int, progress: Progress) -> Any:
    """Return a 64-bit SciPy matrix with the weights of each text; equal texts have equal rows."""
    from scipy.sparse import csr_array, vstack

    cleaned = [clean_text(text) for text in texts]
    firsts = first_rows(cleaned)
    distinct = np.unique(firsts)
    parts = []
    for start in range(0, len(distinct), _TEXTS_PER_STEP):
        rows = distinct[start : start + _TEXTS_PER_STEP]
        weights = encode(
            [cleaned[row] for row in rows],
            batch_size=batch_size,
            show_progress_bar=False,
            convert_to_sparse_tensor=True,
            save_to_cpu=True,
        ).coalesce()
        values = weights.values().float().numpy().astype(np.float64)
        parts.append(csr_array((values, weights.indices().numpy()), shape=tuple(weights.shape)))
        progress("encoding documents", start + len(rows), len(distinct))
    matrix = vstack(parts, format="csr")[np.searchsorted(distinct, firsts)]
    matrix = matrix.multiply(np.array([[bool(text)] for text in cleaned])).tocsr()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix
