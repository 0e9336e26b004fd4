"""Search for the chunks of a text with a retriever, and verify the proposed terms word by word.

The names of a term often differ in one word: *Renal cyst*, *Kidney cyst*. From the names of an
ontology, :class:`WordReplacements` learns which words can replace each other. Two words are
exchanged in every name that contains one of them. Some results are names of the same term, others
are names of another term (*left* for *right*). The trust in a replacement is the proportion of the
former. The lower end of its one-sided 95 % Wilson interval (Wilson 1927) is used, so a single
observation counts little.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from math import sqrt

import polars as pl

from trectools_plus.extraction.dictionary import Key, Name
from trectools_plus.extraction.predictions import Mention, longest_only
from trectools_plus.extraction.segmentation import Chunk, Word, chunk, words_of
from trectools_plus.extraction.settings import ExtractionSettings
from trectools_plus.formats.tables import CORPUS_SCHEMA, Corpus
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.retrieval.ontology_terms import corpus_of
from trectools_plus.retrieval.source import Ranking, Retriever

_Z = 1.6448536269514722
"""The 95 % point of the normal distribution."""
_MOST_WORDS = 8
"""The most content words of a window that is compared with a name."""


class WordReplacements:
    """Trust in the replacement of one word of a name by another.

    Args:
        names: Names of all terms; abbreviations are ignored.
    """

    def __init__(self, names: Iterable[Name]) -> None:
        terms: dict[Key, set[str]] = defaultdict(set)
        for name in names:
            if name.stems and not name.is_abbreviation:
                terms[tuple(sorted(name.stems))].add(name.term_id)
        self._trust = _learn_trust(terms)

    def replacements(self, word: str) -> Mapping[str, float]:
        """Return the stems that a stem in a text can mean, with the trust in each, in [0, 1]."""
        return self._trust.get(word, {})

    def trust(self, words: Iterable[str], name: Iterable[str]) -> float:
        """Return the trust that some words mean a name, in [0, 1].

        Args:
            words: Stems of content words in a text.
            name: Stems of the name.

        Returns:
            1 for the same stems in any order. The learnt trust if exactly one stem is replaced and
            at least one is the same. Otherwise 0.
        """
        given, wanted = Counter(words), Counter(name)
        missing, extra = list((wanted - given).elements()), list((given - wanted).elements())
        if not missing and not extra:
            return 1.0
        if len(missing) != 1 or len(extra) != 1 or not given & wanted:
            return 0.0
        return self.replacements(extra[0]).get(missing[0], 0.0)


def wilson_low(successes: int, trials: int) -> float:
    """Return the lower end of the one-sided 95 % Wilson interval of a proportion.

    Args:
        successes: At most ``trials``.
        trials: At least 1.
    """
    proportion, square = successes / trials, _Z * _Z / trials
    spread = _Z * sqrt(proportion * (1 - proportion) / trials + square / (4 * trials))
    return max(0.0, (proportion + square / 2 - spread) / (1 + square))


def _learn_trust(terms: Mapping[Key, set[str]]) -> dict[str, dict[str, float]]:
    """Return the trust in each replacement, by the stem in a text and the stem of the name."""
    fillers: dict[Key, dict[str, set[str]]] = defaultdict(dict)
    for key, term_ids in terms.items():
        for place, stem in enumerate(key):
            frame = key[:place] + key[place + 1 :]
            if frame:
                fillers[frame][stem] = term_ids
    same = Counter[tuple[str, str]]()
    for filling in fillers.values():
        by_term: dict[str, list[str]] = defaultdict(list)
        for stem, term_ids in filling.items():
            for term_id in term_ids:
                by_term[term_id].append(stem)
        same.update({pair for stems in by_term.values() for pair in permutations(stems, 2)})
    replaced: dict[str, set[str]] = defaultdict(set)
    for word, meant in same:
        replaced[word].add(meant)
    tried = Counter[tuple[str, str]]()
    for filling in fillers.values():
        for word in filling.keys() & replaced.keys():
            tried.update((word, meant) for meant in replaced[word] & filling.keys())
    trust: dict[str, dict[str, float]] = defaultdict(dict)
    for (word, meant), count in same.items():
        trust[word][meant] = wilson_low(count, tried[word, meant])
    return dict(trust)


def corpus_of_names(names: Iterable[Name], path: str) -> Corpus:
    """Return a corpus with one document per name: ``HP:0001250#2`` is the third name of a term."""
    counts = Counter[str]()
    rows = []
    for name in names:
        rows.append((f"{name.term_id}#{counts[name.term_id]}", "", name.text))
        counts[name.term_id] += 1
    return Corpus(pl.DataFrame(rows, schema=CORPUS_SCHEMA, orient="row"), path=path)


def corpus_of_terms(ontology: Ontology, terms: Iterable[str]) -> Corpus:
    """Return a corpus with one document per term; its parts are label, synonyms and definition.

    Args:
        ontology: The ontology of the terms.
        terms: Ids of the current terms to include.
    """
    whole, wanted = corpus_of(ontology), pl.col("doc_id").is_in(sorted(terms))
    assert whole.parts is not None
    return Corpus(whole.frame.filter(wanted), path=whole.path, parts=whole.parts.filter(wanted))


class Searcher:
    """Find terms by retrieval.

    Args:
        retriever: Any retriever whose documents are terms (``HP:0001250``) or names of terms
            (``HP:0001250#2``).
        names: The names of all terms that can be predicted.
        settings: The level of chunks, the number of results, the threshold and the verification.
    """

    def __init__(
        self, retriever: Retriever, names: Sequence[Name], settings: ExtractionSettings
    ) -> None:
        self._retriever = retriever
        self._settings = settings
        self._names: dict[str, list[Name]] = defaultdict(list)
        for name in names:
            self._names[name.term_id].append(name)
        self._replacements = WordReplacements(names) if settings.verify else None

    def find(self, text: str) -> list[Mention]:
        """Find the mentions of a text, in the order of their places."""
        chunks = chunk(text, self._settings.level)
        queries = list(dict.fromkeys(part.text for part in chunks))
        found = self._retriever.search(queries, self._settings.num_results)
        rankings = dict(zip(queries, found, strict=True))
        mentions = [mention for part in chunks for mention in self._mentions(text, part, rankings)]
        return sorted(mentions, key=lambda m: (m.start, m.end, m.term_id))

    def _mentions(self, text: str, part: Chunk, rankings: Mapping[str, Ranking]) -> list[Mention]:
        """Return the mentions of a chunk, the most trusted first."""
        ranking = rankings[part.text]
        scores = dict[str, float]()
        for doc_id, score in zip(ranking.doc_ids, ranking.scores.tolist(), strict=True):
            term_id = doc_id.partition("#")[0]
            if score >= self._settings.chunk_threshold and term_id in self._names:
                scores.setdefault(term_id, score)
        words = words_of(text, part.start, part.end)
        if self._replacements is None:
            places = frozenset(word.start for word in words)
            found = [
                Mention(term, part.start, part.end, places, min(max(score, 0.0), 1.0), "retrieval")
                for term, score in scores.items()
            ]
        else:
            verified = longest_only(self._verify(words, scores, self._replacements))
            found = _best_of_each_place(verified, scores)
        return found[:1] if self._settings.top_term_only else found

    def _verify(
        self, words: Sequence[Word], terms: Iterable[str], replacements: WordReplacements
    ) -> Iterator[Mention]:
        """Yield the places where words of a chunk are a name of a proposed term."""
        content = [word for word in words if word.stem]
        stems = {word.stem for word in content}
        for term_id in terms:
            for name in self._names[term_id]:
                size = len(name.stems)
                if name.is_abbreviation or not 0 < size <= _MOST_WORDS:
                    continue
                if len(stems.union(name.stems)) > len(stems) + 1:  # two words or more are missing
                    continue
                for first in range(len(content) - size + 1):
                    window = content[first : first + size]
                    trust = replacements.trust([word.stem for word in window], name.stems)
                    if trust:
                        places = frozenset(word.start for word in window)
                        start, end = window[0].start, window[-1].end
                        yield Mention(term_id, start, end, places, trust, "retrieval")


def _best_of_each_place(found: Iterable[Mention], scores: Mapping[str, float]) -> list[Mention]:
    """Return the most trusted mention of each place, by trust and then by retrieval score."""
    best: dict[frozenset[int], Mention] = {}
    for mention in sorted(found, key=lambda m: (-m.confidence, -scores[m.term_id], m.term_id)):
        best.setdefault(mention.words, mention)
    return list(best.values())
