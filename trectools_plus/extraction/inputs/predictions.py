"""Mentions of terms in a text, predictions of terms for a document, and files of predictions.

Files of predictions of this package are JSON Lines with doc_id, hpo_id, assertion and score. Those
of other systems have similar fields, in JSON, in tables or in phenopackets.
"""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from trectools_plus.errors import FormatError
from trectools_plus.extraction.inputs.assertion_fields import (
    Assertion,
    field_name,
    read_assertion,
    strongest,
)
from trectools_plus.formats.files.atomic import atomic_write
from trectools_plus.formats.files.content import read_file
from trectools_plus.formats.jsonl import iter_objects
from trectools_plus.ontology.ontology import Ontology

PREDICTIONS_FILE = "predictions.jsonl"
_DIGITS = 6
"""Decimals of scores."""


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
        assertion: The assertion of the text about this mention.
    """

    term_id: str
    start: int
    end: int
    words: frozenset[int]
    confidence: float
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
        label: The name of the term; empty if it is not known.
        text: The text of the first span; empty if it is not known.
    """

    term_id: str
    assertion: Assertion
    score: float
    count: int = 1
    spans: tuple[tuple[int, int], ...] = ()
    label: str = ""
    text: str = ""


def aggregate(mentions: Iterable[Mention]) -> list[Prediction]:
    """Return one prediction per term, the highest score first.

    Score, count and spans are those of the mentions that have the term's assertion. A mention of
    another system, which ends at 0, has no span.
    """
    by_term: dict[str, list[Mention]] = defaultdict(list)
    for mention in mentions:
        by_term[mention.term_id].append(mention)
    predictions = []
    for term_id, own in by_term.items():
        assertion = strongest(mention.assertion for mention in own)
        agreeing = [mention for mention in own if mention.assertion == assertion]
        score = round(max(mention.confidence for mention in agreeing), _DIGITS)
        spans = sorted({(mention.start, mention.end) for mention in agreeing if mention.end})
        predictions.append(Prediction(term_id, assertion, score, len(agreeing), tuple(spans)))
    return sorted(predictions, key=lambda p: (-p.score, p.term_id))


Predictions = Mapping[str, Sequence[Prediction]]
"""Predictions by document id."""


@dataclass(frozen=True, slots=True)
class ReadPredictions:
    """The predictions of another system.

    Attributes:
        by_document: The predictions of every document, the highest score first; an empty list for a
            document without any.
        problems: The ids with each problem, once for each prediction: ``invented`` (not in the
            ontology) and ``withdrawn`` (obsolete without exactly one replacement), which are false
            positives, and ``obsolete`` (with exactly one replacement, which is scored).
    """

    by_document: dict[str, list[Prediction]]
    problems: dict[str, list[str]]


def read_predictions(
    path: str | Path, doc_ids: Sequence[str], ontology: Ontology, gold: Iterable[str] = ()
) -> ReadPredictions:
    """Read predictions: JSON Lines, JSON, CSV, TSV or phenopackets.

    A prediction has an id, and optionally a label, an assertion (affirmed by default) and a score
    (1 by default). Its document is named in it or around it, or by the name of its file in a
    folder. Ids are resolved like those of the gold terms. Predictions of the same document and term
    are merged: the assertion is the first of affirmed, uncertain, negated, other person, and the
    score is the highest one with that assertion.

    Args:
        path: The file, compressed or not, or a folder with one file per document; ``-`` is standard
            input.
        doc_ids: The ids of the documents.
        ontology: The ontology that resolves the ids of terms.
        gold: Ids that are used unchanged if the ontology does not know them.

    Raises:
        InputError: If a file cannot be read.
        FormatError: If a record is not a prediction, or names an unknown document.
    """
    mentions: dict[str, list[Mention]] = {doc_id: [] for doc_id in doc_ids}
    problems: dict[str, list[str]] = {name: [] for name in PROBLEMS}
    kept = frozenset(gold)
    for doc_id, mention in _read_given(Path(path), doc_ids):
        given = mention.term_id
        resolution = ontology.resolve(ontology.ids.spelled(given))
        if resolution.term_id is None and given not in kept:
            problems["invented" if resolution.status == "unknown" else "withdrawn"].append(given)
        elif resolution.status == "obsolete" and resolution.term_id is not None:
            problems["obsolete"].append(given)
        mentions[doc_id].append(replace(mention, term_id=resolution.term_id or given))
    found = {doc_id: aggregate(own) for doc_id, own in mentions.items()}
    return ReadPredictions(found, problems)


PROBLEMS = {
    "invented": "predicted ids that are not in the ontology (false positives)",
    "withdrawn": "predicted obsolete ids without exactly one replacement (false positives)",
    "obsolete": "predicted obsolete ids, replaced by the ontology",
}
"""Problems of ids, and what they mean."""
_DOCUMENT_KEYS = ("doc_id", "document_id", "document")
_ID_KEYS = ("hpo_id", "term_id", "id")
_TERM_ID = re.compile(r"(?:https?://\S*/)?\b([A-Za-z]+[:_]\d\w*)")
"""The id of a term in a text such as *Short stature (HP:0004322)*, also as an IRI."""
_TABLES = {".csv": ",", ".tsv": "\t"}


_FEATURES = "phenotypicFeatures"
"""The findings of a phenopacket (Jacobsen et al., Nat Biotechnol 2022; 40:817–820)."""


def _read_given(path: Path, doc_ids: Sequence[str]) -> Iterator[tuple[str, Mention]]:
    """Yield the predictions of a file, or of the files of a folder, each named after a document."""
    if path.is_dir():
        for file in sorted(file for file in path.iterdir() if file.is_file()):
            yield from _Reader(file, doc_ids).read(unquote(file.stem))
    else:
        yield from _Reader(path, doc_ids).read(doc_ids[0] if len(doc_ids) == 1 else None)


class _Reader:
    """Read a file of predictions.

    Args:
        path: The file.
        doc_ids: The ids of the documents.
    """

    def __init__(self, path: Path, doc_ids: Sequence[str]) -> None:
        self._path, self._doc_ids = str(path), dict.fromkeys(doc_ids)

    def read(self, doc_id: str | None) -> Iterator[tuple[str, Mention]]:
        """Yield the predictions; ``doc_id`` is the document of those that name none."""
        content = read_file(self._path)
        records: Iterable[tuple[int | None, Any]]
        if separator := _TABLES.get(Path(self._path).suffix.lower()):
            rows = csv.DictReader(StringIO(content.text), delimiter=separator)
            records = ((rows.line_num, row) for row in rows)
        else:
            try:
                records = [(None, json.loads(content.text))]
            except (ValueError, RecursionError):
                records = iter_objects(content.lines(), self._path)
        for line, value in records:
            yield from self._find(value, doc_id, line)

    def _find(
        self, value: Any, doc_id: str | None, line: int | None
    ) -> Iterator[tuple[str, Mention]]:
        """Yield the predictions in a JSON value: objects with the id of a term, at any depth."""
        if isinstance(value, list):
            for item in value:
                record = {"hpo_id": item} if isinstance(item, str) else item
                yield from self._find(record, doc_id, line)
            return
        fields = dict(value) if isinstance(value, dict) else {}
        if isinstance(fields.get("type"), dict):  # of a phenopacket
            fields |= fields.pop("type")
        record = {field_name(key): item for key, item in fields.items() if item not in (None, "")}
        doc_id = next((str(record[key]) for key in _DOCUMENT_KEYS if key in record), doc_id)
        key = next((key for key in _ID_KEYS if _is_term_id(key, record.get(key))), None)
        if key is not None:
            yield self._read_record(record, record[key], doc_id, line)
            return
        nested = {str(name): item for name, item in fields.items() if isinstance(item, list | dict)}
        if not fields.keys().isdisjoint((_FEATURES, "metaData")):
            nested = {str(fields.get("id")): fields.get(_FEATURES, [])}
        if not nested:
            raise FormatError(
                "expected the id of a term as text in field 'hpo_id'", path=self._path, line=line
            )
        for name, item in nested.items():
            yield from self._find(item, name if name in self._doc_ids else doc_id, line)

    def _read_record(
        self, record: Mapping[str, Any], text: str, doc_id: str | None, line: int | None
    ) -> tuple[str, Mention]:
        if doc_id not in self._doc_ids:
            raise FormatError(
                f"the document of a prediction, '{doc_id}', is not in the dataset"
                if doc_id
                else "a prediction names no document",
                path=self._path,
                line=line,
                remedy="write an id of the dataset in 'doc_id', or give a folder with one file per "
                f"document: {', '.join([*self._doc_ids][:3])}, …",
            )
        ids = _TERM_ID.findall(text)
        term_id = ids[0] if len(ids) == 1 else text.strip()
        try:
            assertion, score = read_assertion(record), float(record.get("score", 1.0))
            if not isfinite(score):
                raise ValueError("expected a finite number in field 'score'")
        except (TypeError, ValueError) as error:
            raise FormatError(str(error), path=self._path, line=line) from error
        return doc_id, Mention(term_id, 0, 0, frozenset(), score, assertion)


def _is_term_id(key: str, value: object) -> bool:
    return isinstance(value, str) and (key == "hpo_id" or _TERM_ID.search(value) is not None)


def write_predictions(predictions: Predictions, path: str | Path) -> None:
    """Write predictions as JSON Lines, atomically.

    Raises:
        InputError: If the file cannot be written.
    """
    with atomic_write(path) as stream:
        for doc_id, own in predictions.items():
            for prediction in own:
                fields = asdict(prediction)
                record = {"doc_id": doc_id, "hpo_id": fields.pop("term_id"), **fields}
                stream.write(json.dumps(record, ensure_ascii=False) + "\n")
