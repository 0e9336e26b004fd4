"""Mentions of terms in a text, predictions of terms for a document, and files of predictions.

Files of predictions are JSON Lines with doc_id, hpo_id, assertion and score, from this package or
any other system.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from trectools_plus.errors import FormatError
from trectools_plus.formats.files.atomic import atomic_write
from trectools_plus.formats.files.content import iter_lines
from trectools_plus.formats.jsonl import get_text, iter_objects
from trectools_plus.ontology.ontology import Ontology

Assertion = Literal["affirmed", "negated", "uncertain", "other_person"]
ASSERTIONS: tuple[Assertion, ...] = get_args(Assertion)
Source = Literal["dictionary", "retrieval"]

ASSERTION_SPELLINGS: dict[str, Assertion] = {
    "affirmed": "affirmed",
    "present": "affirmed",
    "negated": "negated",
    "absent": "negated",
    "excluded": "negated",
    "normal": "negated",
    "uncertain": "uncertain",
    "possible": "uncertain",
    "other_person": "other_person",
    "family": "other_person",
    "family_history": "other_person",
}
"""The accepted names of assertions in files."""

_PRECEDENCE: tuple[Assertion, ...] = ("affirmed", "uncertain", "negated", "other_person")
"""The assertion of a term in a document is the first of these that any of its mentions has."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A span of a text that refers to a term.

    Attributes:
        term_id: The current id of the term.
        start: The start of the span, in characters.
        end: The end of the span, exclusive.
        words: Start positions of the words that belong to the mention. They need not be adjacent:
            *retinal and optic nerve coloboma* contains the mention ``retinal coloboma``.
        confidence: The confidence that the words refer to this term, in [0, 1].
        source: The part of the extraction that found the mention.
        assertion: The assertion of the text about this mention.
    """

    term_id: str
    start: int
    end: int
    words: frozenset[int]
    confidence: float
    source: Source
    assertion: Assertion = "affirmed"


def longest_only(mentions: Iterable[Mention]) -> list[Mention]:
    """Return the mentions whose words are not a proper subset of another mention's words."""
    found = list(mentions)
    by_word: dict[int, set[frozenset[int]]] = {}
    for mention in found:
        for word in mention.words:
            by_word.setdefault(word, set()).add(mention.words)
    return [
        mention
        for mention in found
        if not any(mention.words < other for other in by_word[next(iter(mention.words))])
    ]


@dataclass(frozen=True, slots=True)
class Prediction:
    """A term of a document.

    Attributes:
        term_id: The term.
        assertion: Affirmed if any mention is affirmed, otherwise uncertain, negated, or other
            person, in this order.
        score: The highest confidence of the mentions with this assertion, in [0, 1], or the score
            that another system assigned.
        count: The number of mentions with this assertion, at least 1.
        spans: The spans of these mentions in order: start and exclusive end, in characters.
    """

    term_id: str
    assertion: Assertion
    score: float
    count: int = 1
    spans: tuple[tuple[int, int], ...] = ()


def strongest(assertions: Iterable[Assertion]) -> Assertion:
    """Return the first of affirmed, uncertain, negated and other person that is present."""
    return min(assertions, key=_PRECEDENCE.index)


def parse_assertion(name: object) -> Assertion:
    """Convert the name of an assertion in a file.

    Raises:
        ValueError: If the name is unknown.
    """
    key = str(name).strip().lower().replace(" ", "_").replace("-", "_")
    if key not in ASSERTION_SPELLINGS:
        expected = ", ".join(ASSERTION_SPELLINGS)
        raise ValueError(f"unknown assertion '{name}', expected {expected}")
    return ASSERTION_SPELLINGS[key]


def aggregate(mentions: Iterable[Mention]) -> list[Prediction]:
    """Return one prediction per term, the highest score first.

    Score, count and spans are those of the mentions that have the term's assertion.
    """
    by_term: dict[str, list[_Evidence]] = defaultdict(list)
    for one in mentions:
        by_term[one.term_id].append((one.assertion, one.confidence, (one.start, one.end)))
    return _merge(by_term)


_Evidence = tuple[Assertion, float, tuple[int, int] | None]
"""Assertion, score and span of one mention of a term."""


def _merge(by_term: Mapping[str, Sequence[_Evidence]]) -> list[Prediction]:
    predictions = []
    for term_id, found in by_term.items():
        assertion = strongest(one for one, _, _ in found)
        scores = [score for one, score, _ in found if one == assertion]
        spans = {span for one, _, span in found if one == assertion and span is not None}
        prediction = Prediction(term_id, assertion, max(scores), len(scores), tuple(sorted(spans)))
        predictions.append(prediction)
    return sorted(predictions, key=lambda p: (-p.score, p.term_id))


Predictions = Mapping[str, Sequence[Prediction]]
"""Predictions by document id."""


def read_predictions(
    path: str | Path, doc_ids: Sequence[str], ontology: Ontology
) -> dict[str, list[Prediction]]:
    """Read predictions, one JSON object per line.

    ``doc_id`` and ``hpo_id`` are required; ``assertion`` defaults to affirmed and ``score`` to 1.
    Ids are resolved like those of the gold terms. Lines with the same document and term are merged:
    the assertion is the first of affirmed, uncertain, negated, other person, and the score is the
    highest one with that assertion.

    Args:
        path: The file, compressed or not; ``-`` is standard input.
        doc_ids: The ids of the documents.
        ontology: The ontology that resolves the ids of terms.

    Returns:
        The predictions of every document, the highest score first; an empty list for a document
        without lines.

    Raises:
        InputError: If the file cannot be read.
        FormatError: If a line is not a prediction, or names an unknown document.
    """
    found: dict[str, dict[str, list[_Evidence]]] = {doc_id: {} for doc_id in doc_ids}
    for line, record in iter_objects(iter_lines(path), str(path)):
        doc_id = get_text(record, "doc_id", str(path), line, is_id=True)
        if doc_id not in found:
            raise FormatError(
                f"document '{doc_id}' is not in the dataset",
                path=str(path),
                line=line,
                remedy=f"use the ids of the dataset: {', '.join(doc_ids[:3])}, …",
            )
        given = get_text(record, "hpo_id", str(path), line)
        term_id = ontology.resolve(given).term_id or given
        one = _assertion(record, str(path), line), _score(record, str(path), line), None
        found[doc_id].setdefault(term_id, []).append(one)
    return {doc_id: _merge(by_term) for doc_id, by_term in found.items()}


def write_predictions(predictions: Predictions, path: str | Path) -> None:
    """Write predictions as JSON Lines, atomically.

    Raises:
        InputError: If the file cannot be written.
    """
    with atomic_write(path) as stream:
        for doc_id, found in predictions.items():
            for prediction in found:
                record = {
                    "doc_id": doc_id,
                    "hpo_id": prediction.term_id,
                    "assertion": prediction.assertion,
                    "score": round(prediction.score, 6),
                    "count": prediction.count,
                    "spans": [list(span) for span in prediction.spans],
                }
                stream.write(json.dumps(record, ensure_ascii=False) + "\n")


def _assertion(record: dict[str, Any], path: str, line: int) -> Assertion:
    key = "assertion" if "assertion" in record else "assertion_status"
    if record.get(key) is None:
        return "affirmed"
    try:
        return parse_assertion(get_text(record, key, path, line))
    except ValueError as error:
        raise FormatError(str(error), path=path, line=line) from error


def _score(record: dict[str, Any], path: str, line: int) -> float:
    value = record.get("score", 1.0)
    if value is None:
        return 1.0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) > 1e300:
        raise FormatError("expected a number in field 'score'", path=path, line=line)
    return float(value)
