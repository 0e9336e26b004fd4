"""The mode ``ngram``: cosine of TF-IDF vectors of character n-grams, after folding of spellings.

Medical words of many languages come from Greek and Latin and differ only in their spelling:
*Makrozephalie*, *macrocéphalie* and *macrocephaly* are equal after :func:`fold_spelling`. So the
mode finds terms for queries in languages that the documents do not have, and for words with
spelling errors, without a model.

The n-grams are those of each word, with one space before and after it. The weight of an n-gram is
``(1 + ln tf) * idf`` with ``idf = ln((1 + N) / (1 + df)) + 1``, and vectors have the length 1: the
definitions of scikit-learn's ``TfidfVectorizer(analyzer="char_wb", sublinear_tf=True)``. The score
of a document is the highest of its names.
"""

from __future__ import annotations

import json
import re
import unicodedata
from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, count
from pathlib import Path

import numpy as np

from trectools_plus.display import Progress, no_progress
from trectools_plus.formats.files.index_cache import load_array
from trectools_plus.formats.tables import Corpus
from trectools_plus.retrieval.index.index import Index, Postings
from trectools_plus.retrieval.index.parts import Positions, TextParts
from trectools_plus.retrieval.source import Ranking, Scores, Values

_NAMES_PER_STEP = 5_000
_SIZES = range(3, 6)
"""The characters of n-grams."""
_NGRAMS_FILE = "ngrams.json"
_WORD = re.compile(r"\w+")
_UMLAUT = re.compile("(?<=[aou])\u0308")
_MARKS = re.compile("[\u0300-\u036f]")
# Applied in this order.
_SPELLINGS = [
    (re.compile(pattern), letters)
    for pattern, letters in (
        ("æ|ae", "e"),
        ("œ|oe", "e"),
        ("ue", "u"),
        ("ph", "f"),
        ("qu", "cv"),
        ("x", "cs"),
        ("[kz]", "c"),
        ("w", "v"),
        ("(?<=[rt])h", ""),
        ("[eiy]+", "i"),
        (r"([^\W\d_])\1+", r"\1"),
        (r"(?<=\w{4})(?:[aou]|us|um)\b", ""),
    )
]
# Part of the index key.
_RULES = [[pattern.pattern, letters] for pattern, letters in _SPELLINGS]


def fold_spelling(text: str) -> str:
    """Return a text in lower case with one spelling for the letters of Greek and Latin words.

    Accents are removed, and doubled letters become one. Equal are: ä, ae, ö, oe, y, e and i; ü, ue
    and u; ph and f; c, k and z; x, ks and cs; w and v; r and rh; t and th. Words of more than four
    letters lose the endings -a, -o, -u, -us and -um.

    >>> fold_spelling("Makrozephalie") == fold_spelling("MACROCEPHALY")
    True
    """
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    folded = _MARKS.sub("", _UMLAUT.sub("e", folded))
    for pattern, letters in _SPELLINGS:
        folded = pattern.sub(letters, folded)
    return folded


class NgramRetriever(Index):
    """Cosine of n-gram vectors. Documents that share no n-gram with a query are not results.

    Args:
        corpus: The documents.
        parts: Their parts: the names of a document are its label and synonyms (its definition if it
            has neither). With ``None``, its title and text are one name.
        progress: Receives the progress of building an index that is not in the cache.
    """

    name = "ngram"

    def __init__(
        self,
        corpus: Corpus,
        parts: TextParts | None = None,
        progress: Progress = no_progress,
    ) -> None:
        self._documents = corpus.in_index_order()
        self._parts = parts
        facts = {
            "corpus_sha256": self._documents.sha256(),
            "parts_sha256": parts and parts.sha256,
            "ngrams": [_SIZES[0], _SIZES[-1]],
            "folding": _RULES,
            "unicode": unicodedata.unidata_version,
        }
        self.open(self._documents.doc_ids, facts, progress)

    def search(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Rank the documents that share an n-gram with each query."""
        return [self.best(self._score(query), depth) for query in queries]

    def _score(self, query: str) -> Scores:
        """Return the cosine of the best name of each document with a query."""
        postings, idf, rows, sizes = self.content
        ngrams = count_ngrams(query)
        counts = {rows[ngram]: count for ngram, count in ngrams.items() if ngram in rows}
        scores = np.zeros(len(sizes), dtype=np.float32)
        if not counts:
            return scores
        known = np.array(sorted(counts))
        vector = _dampen([counts[row] for row in known.tolist()]) * idf[known]
        vector /= np.linalg.norm(vector)
        of_names = postings.add(zip(known.tolist(), vector.tolist(), strict=True))
        named = np.flatnonzero(sizes)
        scores[named] = np.maximum.reduceat(of_names, (np.cumsum(sizes) - sizes)[named])
        return scores

    def build(self, folder: Path, progress: Progress) -> None:
        """Write the weights of the n-grams in the names of each document."""
        from scipy.sparse import csr_array

        if self._parts is None:
            names: list[Sequence[str]] = [[text] for text in self._documents.searchable_texts()]
        else:
            by_id = self._parts.names()
            names = [by_id.get(doc_id, ()) for doc_id in self._documents.doc_ids]
        rows = defaultdict[str, int](count().__next__)
        rows_of = lru_cache(1 << 16)(lambda text: [*map(rows.__getitem__, _ngrams_of(text))])
        columns, counts = array("i"), array("i")
        ends = [0]
        total = sum(map(len, names))
        for name in chain.from_iterable(names):
            ngrams = Counter(chain.from_iterable(map(rows_of, name.split())))
            columns.extend(ngrams)
            counts.extend(ngrams.values())
            ends.append(len(columns))
            if len(ends) % _NAMES_PER_STEP == 0:
                progress("indexing n-grams", len(ends) - 1, total)
        frequencies = np.bincount(columns, minlength=len(rows))
        idf = np.log((1 + total) / (1 + frequencies)) + 1
        of_names = csr_array((_dampen(counts), columns, ends), (total, len(rows)))
        of_names.data *= idf[of_names.indices]
        lengths = np.sqrt(of_names.multiply(of_names).sum(axis=1))
        of_names.data /= np.repeat(lengths, np.diff(of_names.indptr))
        weights = of_names.T.tocsr()
        weights.sort_indices()
        for file, values in (
            ("data", weights.data),
            ("indices", weights.indices.astype(np.int32)),
            ("indptr", weights.indptr),
            ("idf", idf),
            ("sizes", np.array([len(of_document) for of_document in names])),
        ):
            np.save(folder / f"{file}.npy", values)
        (folder / _NGRAMS_FILE).write_text(json.dumps([*rows], ensure_ascii=False), "utf-8")
        progress("indexing n-grams", total, total)

    def load(self, folder: Path) -> tuple[Postings, Values, dict[str, int], Positions]:
        """Map the weights into memory.

        Returns:
            The weights, with a row for each n-gram and a column for each name, in the order of
            documents; the inverse document frequency and the row of each n-gram; and the number of
            names of each document.
        """
        idf = load_array(folder / "idf.npy", np.float64)
        sizes = load_array(folder / "sizes.npy", np.integer)
        ngrams = json.loads((folder / _NGRAMS_FILE).read_text(encoding="utf-8"))
        postings = Postings(folder, np.float64, (len(ngrams), int(sizes.sum())))
        return postings, idf, {ngram: row for row, ngram in enumerate(ngrams)}, sizes


def count_ngrams(text: str) -> Counter[str]:
    """Count the n-grams of a text's words after :func:`fold_spelling`.

    Each word has a space before and after it. A shorter word is one n-gram.
    """
    return Counter(chain.from_iterable(map(_ngrams_of, text.split())))


@lru_cache(1 << 16)
def _ngrams_of(text: str) -> list[str]:
    ngrams = list[str]()
    for word in _WORD.findall(fold_spelling(text)):
        padded = f" {word} "
        for size in _SIZES[: len(word)]:
            ngrams += (padded[at : at + size] for at in range(len(padded) - size + 1))
    return ngrams


def _dampen(counts: Sequence[int]) -> Values:
    return 1 + np.log(np.array(counts, dtype=np.float64))
