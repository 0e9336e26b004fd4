"""Predictions as JSON Lines: doc_id, hpo_id, assertion, score; ours and any other system's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trectools_plus.errors import FormatError
from trectools_plus.extraction.documents import assertion_named
from trectools_plus.extraction.mentions import ASSERTIONS, Assertion, Prediction, strongest
from trectools_plus.formats.files.atomic import atomic_write
from trectools_plus.formats.files.content import iter_lines
from trectools_plus.formats.jsonl import get_id, get_text, iter_objects
from trectools_plus.ontology.ontology import Ontology

Predictions = Mapping[str, Sequence[Prediction]]
"""Predictions by document id."""


def read_predictions(
    path: str | Path, doc_ids: Sequence[str], ontology: Ontology
) -> dict[str, list[Prediction]]:
    """Read predictions, one JSON object a line.

    ``doc_id`` and ``hpo_id`` must be there; ``assertion`` is affirmed and ``score`` 1 where they
    are not. Ids are resolved as those of the gold. A term given several times for a document is one
    prediction: its assertion is the first of affirmed, uncertain, negated, other person that is
    given, its score the best with that assertion.

    Args:
        path: The file, compressed or not; ``-`` is standard input.
        doc_ids: The documents there are.
        ontology: Says what ids stand for.

    Returns:
        The predictions of every document, the best score first; none for documents not named.

    Raises:
        InputError: If the file cannot be read.
        FormatError: If a line is no prediction, or names a document that is not there.
    """
    said: dict[str, dict[str, list[tuple[Assertion, float]]]] = {one: {} for one in doc_ids}
    for line, record in iter_objects(iter_lines(path), str(path)):
        doc_id = get_id(record, "doc_id", str(path), line)
        if doc_id not in said:
            raise FormatError(
                f"document '{doc_id}' is not in the dataset",
                path=str(path),
                line=line,
                remedy=f"its documents are {', '.join(doc_ids[:3])}, …",
            )
        given = get_text(record, "hpo_id", str(path), line)
        term_id = ontology.resolve(given).term_id or given
        pair = _assertion(record, str(path), line), _score(record, str(path), line)
        said[doc_id].setdefault(term_id, []).append(pair)
    return {doc_id: _merged(terms) for doc_id, terms in said.items()}


def write_predictions(predictions: Predictions, path: str | Path) -> None:
    """Write predictions, whole or not at all.

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
    name = get_text(record, key, path, line)
    assertion = assertion_named(name)
    if assertion is None:
        raise FormatError(
            f"no assertion is called '{name}'",
            path=path,
            line=line,
            remedy=f"there are {', '.join(ASSERTIONS)}",
        )
    return assertion


def _score(record: dict[str, Any], path: str, line: int) -> float:
    value = record.get("score", 1.0)
    if value is None:
        return 1.0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) > 1e300:
        raise FormatError("expected a number in field 'score'", path=path, line=line)
    return float(value)


def _merged(terms: dict[str, list[tuple[Assertion, float]]]) -> list[Prediction]:
    found = []
    for term_id, said in terms.items():
        assertion = strongest(one for one, _ in said)
        scores = [score for one, score in said if one == assertion]
        found.append(Prediction(term_id, assertion, max(scores), len(scores)))
    return sorted(found, key=lambda p: (-p.score, p.term_id))
