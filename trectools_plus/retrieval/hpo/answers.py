"""Answer a text: find the terms of each finding that it names, and what speaks against them.

A text can name several findings, negate them, give a normal value, or mean nothing. The terms of an
:class:`TextAnswer` are those of its text only if the answer is confident and not negated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from statistics import fmean

import polars as pl

from trectools_plus.formats.tables import Corpus
from trectools_plus.retrieval.hpo.glossary import function_words
from trectools_plus.retrieval.hpo.mentions import AMBIGUOUS, find_measurements, prepare
from trectools_plus.retrieval.hpo.ontology_terms import (
    GLOSSARY_LANGUAGES,
    Rewording,
    TermNames,
)
from trectools_plus.retrieval.rerank import rewording_of
from trectools_plus.retrieval.source import Retriever, leaves_of
from trectools_plus.validation.texts import guess_language, stop_words, words_of

Assertions = Mapping[tuple[int, int], str]
"""By the start and end of each word that is not about the patient's findings: ``negated``, or
``other_person`` if a relative has the finding."""

_BETWEEN = re.compile(
    r"\s*(?:[,;](?!\d)(?:\s+(?:and|or|but|und|oder|aber|et|ou|mais|y|o|pero|en|of|maar)\b)?"
    r"|\s(?:and|or|but|und|oder|aber|et|ou|mais|y|e|o|pero|en|maar)(?=\s)"
    r"|(?<!\babsence)(?<!\black)(?<!\bfree)\sof(?=\s))\s*",
    re.IGNORECASE,
)
"""Between two findings, in five languages; *of* is Dutch."""
_WORD = re.compile(r"[^\W\d_]+")
_ID = re.compile(r"\s*([a-z]+)[:_]\d+\s*", re.IGNORECASE)
_NORMAL = re.compile(
    r"(?<!\bthan )(?<!\bnot )(?<!\bals )\b(?:normal(?:e[nrs]?|es|ly|aux)?|normaal|unremarkable"
    r"|(?:im|in der) norm(?:bereich)?|dans les normes|unauff[äa]e?llig\w*|regelrecht\w*)\b",
    re.IGNORECASE,
)
_PREFIX = 5
"""Words with the same first letters are forms of one word."""


@dataclass(frozen=True)
class TextAnswer:
    """The terms of a text.

    Attributes:
        query: The text, or its part that names one finding.
        doc_ids: The terms, best first.
        scores: Their scores in the search, without those of exact matches that it did not find.
        exact: The terms that the text names exactly.
        confidence: The confidence in the first term, at least 0 if it is probably right; ``None``
            if that is not known.
        negated: The words that the text negates, or says of a relative; empty if there are none.
        assertion: ``negated`` or ``other_person`` with such words, otherwise ``affirmed``.
        note: Why the text has no term, or only a doubtful one.
    """

    query: str
    doc_ids: list[str]
    scores: Mapping[str, float]
    exact: list[str]
    confidence: float | None
    negated: str = ""
    assertion: str = "affirmed"
    note: str = ""

    @property
    def confident(self) -> bool | None:
        """True if the first term is probably right; ``None`` if that is not known."""
        return None if self.confidence is None else self.confidence >= 0


class TextSearcher:
    """Answers texts with the results of a retriever.

    Args:
        documents: The documents.
        retriever: Their retriever.
        depth: The number of terms that are searched.
        find_negated: Returns the words that a text in a language negates, or says of a relative.
        knows_confidence: Whether the scores of the retriever show confidence, if the documents are
            terms of the HPO.
    """

    def __init__(
        self,
        documents: Corpus,
        retriever: Retriever,
        depth: int,
        find_negated: Callable[[str, str], Assertions],
        *,
        knows_confidence: bool,
    ) -> None:
        self._documents, self._retriever, self._depth = documents, retriever, depth
        self._negated_in = find_negated
        self._find_exact = documents.find_exact or (lambda _: [])
        self._ids = self._find_exact.ids if isinstance(self._find_exact, TermNames) else None
        self._is_hpo = documents.open_rewording is not None
        self._knows_confidence = knows_confidence and self._is_hpo
        rewording = rewording_of(retriever)
        self._rewording = rewording if isinstance(rewording, Rewording) else None

    def answer(self, text: str) -> list[TextAnswer]:
        """Return an answer for each finding of a text."""
        match, ids = _ID.fullmatch(text), self._ids
        prefix = match[1].upper() if match and ids and not ids.find(text) else None
        if ids and prefix == ids.live[0].partition(":")[0].upper():
            status = ids.resolve(ids.spelled(text.strip())).status
            why = (
                "is obsolete, without a term for it"
                if status == "obsolete"
                else "is no id of a term"
            )
            return [TextAnswer(text, [], {}, [], -1.0, note=f"{text.strip()} {why}.")]
        whole = self._search(text)
        if whole.exact:
            return [whole]
        negated = self._find_negated(text)
        return self._split(text, whole, negated) or [self._examine(whole, text, negated)]

    def _search(self, text: str) -> TextAnswer:
        """Search a text alone, without a look at its meaning."""
        term_id = self._ids and self._ids.find(text)
        searched = self._title(term_id) if term_id else text
        (ranking,) = self._retriever.search([searched], self._depth)
        scores = dict(zip(ranking.doc_ids, ranking.scores.tolist(), strict=True))
        exact = self._find_exact(text)
        doc_ids = list(dict.fromkeys([*exact, *ranking.doc_ids]))
        confidence, note = None, ""
        if text.strip(" .") in AMBIGUOUS and exact:
            confidence, note = -1.0, "The abbreviation has several meanings."
        elif exact:
            confidence = float("inf")
        elif self._knows_confidence and doc_ids:
            confidence = confidence_in(self._retriever, searched, doc_ids[0])
        return TextAnswer(text, doc_ids, scores, exact, confidence, note=note)

    def _title(self, doc_id: str) -> str:
        return str(self._documents.find(pl.Series([doc_id]))["title"].item())

    def _split(self, text: str, whole: TextAnswer, negated: Assertions) -> list[TextAnswer]:
        """Return the answers for several findings of a text; empty if it names one."""
        spans = _spans_of_findings(text)
        if len(spans) == 1 or whole.confidence is None:
            return []
        parts = [
            self._examine(
                self._search(text[first:last]),
                text,
                {span: said for span, said in negated.items() if first <= span[0] < last},
            )
            for first, last in spans
        ]
        certain = [part.confidence or 0.0 for part in parts if not part.note]
        return parts if min(certain, default=0.0) >= max(0.0, whole.confidence) else []

    def _find_negated(self, text: str) -> Assertions:
        """Return the words that a text negates, or says of a relative."""
        words = {*words_of(text)} - stop_words("en")
        languages = [name for name in GLOSSARY_LANGUAGES if words & function_words(name)]
        languages += (
            self._rewording.languages_of(text)
            if self._rewording
            else [guess_language(text) or "en"]
        )
        for language in languages:
            if negated := self._negated_in(text, language):
                return negated
        return {}

    def _examine(self, answer: TextAnswer, text: str, negated: Assertions) -> TextAnswer:
        """Add what a text, or the part of an answer, negates, or why it has no term."""
        is_name = answer.exact and len(negated) < len(words_of(answer.query))
        if is_name or not (negated or self._is_hpo):
            return answer
        if not negated or (self._is_hpo and find_measurements(answer.query)):
            return answer if answer.exact else self._without_values(answer)
        phrases = [text[start:end] for start, _ in negated for _, end in negated if start < end]
        phrases.sort(key=len, reverse=True)
        words = next(filter(self._find_exact, phrases), phrases[0])
        assertion = "other_person" if "other_person" in negated.values() else "negated"
        return replace(
            self._search(words), query=answer.query, exact=[], negated=words, assertion=assertion
        )

    def _without_values(self, answer: TextAnswer) -> TextAnswer:
        """Return the answer for a text without its normal values."""
        values = find_measurements(answer.query)
        if any(value.term_id for value in values):
            return answer
        if not values:
            first = answer.doc_ids[:1] if _NORMAL.search(answer.query) else []
            title = "".join(map(self._title, first))
            others = self._rewording.other_texts(answer.query) if self._rewording else ()
            texts = " ".join([answer.query, *others])
            note = "The text says that something is normal."
            is_other = not _prefixes(title) <= _prefixes(texts)
            return replace(answer, confidence=-1.0, note=note) if is_other else answer
        rest = prepare(answer.query)
        for value in values:
            rest = rest.replace(value.text, " ")
        other = self._search(
            " ".join(word for word in words_of(rest) if word not in stop_words("en")) or "-"
        )
        if other.exact:
            return replace(other, query=answer.query)
        if any(value.is_normal for value in values):
            return TextAnswer(answer.query, [], {}, [], -1.0, note="Normal value, no term.")
        note = "The value may be normal: its limits depend on the age or the unit."
        return replace(answer, confidence=-1.0, note=note)


def _prefixes(text: str) -> frozenset[str]:
    return frozenset(word[:_PREFIX] for word in _WORD.findall(text.casefold()))


def _spans_of_findings(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each part of a text that may name a finding."""
    ends = [match.span() for match in _BETWEEN.finditer(text)]
    starts, stops = [0, *(end for _, end in ends)], [*(start for start, _ in ends), len(text)]
    spans = [*zip(starts, stops, strict=True)]
    return [span for span in spans if _WORD.search(text[slice(*span)])] or [(0, len(text))]


_DEPTH = 100
"""The size of the rankings with which the first result is compared."""
LEAST_CONFIDENCE: Mapping[tuple[str, ...], float] = {
    ("ngram",): 0.4,
    ("multi-vector",): 0.4,
    ("multi-vector", "ngram"): 3.8,
    ("lexical", "multi-vector", "ngram"): 3.9,
}
"""By the searched indexes: the least confidence in a first result that is probably right.

At most a tenth of the right first results of the included test sets are below; see the figures in
docs/retrieval.md.
"""


def confidence_in(retriever: Retriever, query: str, doc_id: str) -> float | None:
    """Return the confidence in the first result of a query, less the least confidence.

    The confidence is the mean over the searched indexes of the standard deviations between the
    score and the mean score, plus twice the mean similarity of n-grams and embeddings. Of a single
    index, it is the similarity alone, which separates right and wrong results better.

    Args:
        retriever: The retriever that found it.
        query: The query.
        doc_id: The first result.

    Returns:
        At least 0 if the result is probably right; ``None`` if the retriever searches other
        indexes.
    """
    deviations = dict[str, float]()
    similarities = list[float]()
    for leaf in leaves_of(retriever):
        (ranking,) = leaf.search([query], _DEPTH)
        scores = dict(zip(ranking.doc_ids, ranking.scores.tolist(), strict=True))
        deviations[leaf.name] = -1.0
        if doc_id in scores and (spread := float(ranking.scores.std())) > 0:
            deviations[leaf.name] = (scores[doc_id] - fmean(scores.values())) / spread
        if leaf.name in ("ngram", "multi-vector"):
            similarities.append(scores.get(doc_id, 0.0))
    least = LEAST_CONFIDENCE.get(tuple(sorted(deviations)))
    if least is None:
        return None
    if len(deviations) == 1:
        return similarities[0] - least
    return fmean(deviations.values()) + 2 * fmean(similarities) - least
