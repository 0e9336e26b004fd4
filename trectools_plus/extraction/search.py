"""Retrieve terms with the chunks of a text as queries, and verify them word by word.

The names of a term often differ in one word: *Renal cyst*, *Kidney cyst*. From the names of an
ontology, :class:`WordReplacements` learns which words can replace each other. It replaces a word by
another in every name where the result is a name too. The result is a name of the same term
(*kidney* for *renal*) or of another term (*left* for *right*). The trust in a replacement is the
lower end of the one-sided 95 % Wilson interval (Wilson 1927) of the proportion of names of the same
term. So a replacement that was observed only once has a low trust.
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
"""The 95 % quantile of the normal distribution."""
_MAX_WORDS = 8
"""Maximum number of content words of a name that is compared with the text."""


class WordReplacements:
    """Learn which words of names can replace each other, and how reliably.

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
        """Return the stems of names that a stem in a text can replace, with trusts in [0, 1]."""
        return self._trust.get(word, {})

    def trust(self, words: Iterable[str], name: Iterable[str]) -> float:
        """Return the trust that words of a text express a name, in [0, 1].

        Args:
            words: Stems of content words in the text.
            name: Stems of the name.

        Returns:
            1 if the stems are the same, in any order. The learnt trust if exactly one stem differs
            and at least one is the same. Otherwise 0.
        """
        in_text, in_name = Counter(words), Counter(name)
        missing, extra = list((in_name - in_text).elements()), list((in_text - in_name).elements())
        if not missing and not extra:
            return 1.0
        if len(missing) != 1 or len(extra) != 1 or not in_text & in_name:
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
    # By the other stems of a name: each stem that completes them to a name, and the terms.
    completions: dict[Key, dict[str, set[str]]] = defaultdict(dict)
    for key, term_ids in terms.items():
        for index, stem in enumerate(key):
            others = key[:index] + key[index + 1 :]
            if others:
                completions[others][stem] = term_ids
    same_term = Counter[tuple[str, str]]()
    for stems_to_terms in completions.values():
        by_term: dict[str, list[str]] = defaultdict(list)
        for stem, term_ids in stems_to_terms.items():
            for term_id in term_ids:
                by_term[term_id].append(stem)
        same_term.update({pair for stems in by_term.values() for pair in permutations(stems, 2)})
    replaced: dict[str, set[str]] = defaultdict(set)
    for in_text, in_name in same_term:
        replaced[in_text].add(in_name)
    all_terms = Counter[tuple[str, str]]()
    for stems_to_terms in completions.values():
        for in_text in stems_to_terms.keys() & replaced.keys():
            possible = replaced[in_text] & stems_to_terms.keys()
            all_terms.update((in_text, in_name) for in_name in possible)
    trust: dict[str, dict[str, float]] = defaultdict(dict)
    for (in_text, in_name), count in same_term.items():
        trust[in_text][in_name] = wilson_low(count, all_terms[in_text, in_name])
    return dict(trust)


def corpus_of_names(names: Iterable[Name], path: str) -> Corpus:
    """Return a corpus with one document per name; ``HP:0001250#2`` is the third name of a term."""
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
        """Return the mentions in a text, in the order of the text."""
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
            found = _best_per_span(verified, scores)
        return found[:1] if self._settings.top_term_only else found

    def _verify(
        self, words: Sequence[Word], terms: Iterable[str], replacements: WordReplacements
    ) -> Iterator[Mention]:
        """Yield the mentions in a chunk whose words match a name of a proposed term."""
        content = [word for word in words if word.stem]
        stems = {word.stem for word in content}
        for term_id in terms:
            for name in self._names[term_id]:
                size = len(name.stems)
                if name.is_abbreviation or not 0 < size <= _MAX_WORDS:
                    continue
                if len(stems.union(name.stems)) > len(stems) + 1:
                    continue  # the chunk lacks two or more words of the name
                for first in range(len(content) - size + 1):
                    window = content[first : first + size]
                    trust = replacements.trust([word.stem for word in window], name.stems)
                    if trust:
                        places = frozenset(word.start for word in window)
                        start, end = window[0].start, window[-1].end
                        yield Mention(term_id, start, end, places, trust, "retrieval")


def _best_per_span(found: Iterable[Mention], scores: Mapping[str, float]) -> list[Mention]:
    """Return the best mention of each set of words, by trust and then by retrieval score."""
    best: dict[frozenset[int], Mention] = {}
    for mention in sorted(found, key=lambda m: (-m.confidence, -scores[m.term_id], m.term_id)):
        best.setdefault(mention.words, mention)
    return list(best.values())
