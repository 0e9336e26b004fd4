"""The mode ``lexical``: BM25 with Lucene's scoring, computed by ``bm25s``.

Robertson and Zaragoza 2009; the exact variant is "Lucene (accurate)" of Kamphuis et al., ECIR
2020: ``idf = ln(1 + (N - df + 0.5) / (df + 0.5))``, term weight
``tf / (tf + k1 * (1 - b + b * length / average_length))``, summed over the query's terms.
"""

from __future__ import annotations

import json
import logging
import math
import re
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from itertools import count
from pathlib import Path

import numpy as np

from trectools_plus.display import Progress, no_progress
from trectools_plus.formats.tables import Corpus
from trectools_plus.retrieval.index.index import Index, Postings
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import Ranking
from trectools_plus.validation.texts import stop_word_list

# Words of two or more letters, digits or underscores: the pattern of bm25s and scikit-learn.
_WORD = re.compile(r"\b\w\w+\b")


def clean_text(text: str) -> str:
    """Normalise a text to NFC and strip white space, so that texts that look equal are equal."""
    return unicodedata.normalize("NFC", text).strip()


class Analyzer:
    """Converts texts to lower case, splits them into words, drops stop words and stems.

    Documents and queries use the same analyzer.

    Args:
        settings: ``stemmer`` and ``stopwords`` are used.
    """

    def __init__(self, settings: RetrievalSettings) -> None:
        import Stemmer

        stem = Stemmer.Stemmer(settings.stemmer).stemWord if settings.stemmer else str
        language = (settings.stopwords or "").upper().replace("ENGLISH", "EN")
        dropped = stop_word_list(language) if language else frozenset()
        # Each word is stemmed once.
        self._term_of = cache(lambda word: None if word in dropped else stem(word))

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text in their order, including repetitions."""
        words = _WORD.findall(clean_text(text).lower())
        return [*filter(None, map(self._term_of, words))]


_DOCUMENTS_PER_STEP = 2_000


class LexicalRetriever(Index):
    """BM25 over title and text. Documents that share no term with a query are not results.

    Args:
        documents: The corpus.
        settings: ``k1``, ``b``, ``stemmer`` and ``stopwords`` are used.
        progress: Receives the progress of building an index that is not in the cache.
    """

    name = "lexical"

    def __init__(
        self,
        documents: Corpus,
        settings: RetrievalSettings,
        progress: Progress = no_progress,
    ) -> None:
        self._documents = documents.in_index_order()
        self._settings = settings
        self._analyzer = Analyzer(settings)
        facts = {
            "corpus_sha256": self._documents.sha256(),
            "settings": settings.model_dump(
                include={"k1", "b", "stemmer", "stopwords"}, mode="json"
            ),
            "packages": {name: version(name) for name in ("bm25s", "pystemmer")},
        }
        self.open(self._documents.doc_ids, facts, progress)

    def search(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Rank the documents that share a term with each query."""
        postings, rows = self.content
        terms = map(self._analyzer.terms, queries)
        words = ([(rows[term], 1) for term in each if term in rows] for each in terms)
        return [self.best(postings.add(each), depth) for each in words]

    def build(self, folder: Path, progress: Progress) -> None:
        """Write an index of ``bm25s``.

        The weights are those of ``BM25.index``, which counts the words of each document in Python.
        """
        import bm25s
        from scipy.sparse import csr_array

        # Importing bm25s sets its logger to DEBUG.
        logging.getLogger("bm25s").setLevel(logging.WARNING)
        vocabulary = defaultdict[str, int](count().__next__)
        terms, ends, total = array("i"), array("i", [0]), len(self._documents)
        for number, text in enumerate(self._documents.searchable_texts(), 1):
            terms.extend(map(vocabulary.__getitem__, self._analyzer.terms(text)))
            ends.append(len(terms))
            if number % _DOCUMENTS_PER_STEP == 0:
                progress("indexing words", number, total)
        if not vocabulary:
            # The average length must not be 0. No query has this term.
            terms.append(vocabulary[""])
            ends[1:] = array("i", [1] * total)
        shape, settings = (total, len(vocabulary)), self._settings
        counts = csr_array((np.ones(len(terms), np.float32), terms, ends), shape).tocsc()
        counts.sum_duplicates()
        frequencies, lengths = np.diff(counts.indptr), np.diff(ends)
        idf = [math.log(1 + (total - df + 0.5) / (df + 0.5)) for df in frequencies.tolist()]
        norms = settings.k1 * ((1 - settings.b) + settings.b * lengths / lengths.mean())
        weights = counts.data / (norms[counts.indices] + counts.data)
        weights *= np.repeat(np.array(idf, np.float32), frequencies)
        index = bm25s.BM25(method="lucene", k1=settings.k1, b=settings.b)
        index.scores = {
            "data": weights.astype(np.float32),
            "indices": counts.indices,
            "indptr": counts.indptr.astype(np.int64),
            "num_docs": total,
        }
        index.vocab_dict, index.nonoccurrence_array = dict(vocabulary), None
        index.save(folder, show_progress=False)
        progress("indexing words", total, total)

    def load(self, folder: Path) -> tuple[Postings, dict[str, int]]:
        """Return the weights, and the row of each term.

        Searching them does not need ``bm25s``, whose import takes longer than the search.
        """
        terms = json.loads((folder / "vocab.index.json").read_text(encoding="utf-8"))
        shape = len(terms), len(self.doc_ids)
        postings = Postings(folder, np.float32, shape, ".csc.index")
        return postings, {term: row for row, term in enumerate(terms)}
