"""Mentions of terms in a text, predictions of terms for a document, and files of predictions.

Files of predictions of this package are JSON Lines with doc_id, hpo_id, assertion and score. Those
of other systems have many forms.
"""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from io import StringIO
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
from trectools_plus.extraction.inputs.phenopackets import features_of, is_phenopacket
from trectools_plus.extraction.segmentation import words_of
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
    """

    term_id: str
    assertion: Assertion
    score: float
    count: int = 1
    spans: tuple[tuple[int, int], ...] = ()
    label: str = ""


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
        score = round(max(scores), _DIGITS)
        prediction = Prediction(term_id, assertion, score, len(scores), tuple(sorted(spans)))
        predictions.append(prediction)
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
            ontology), ``mislabelled`` (the label does not belong to the id) and ``withdrawn``
            (obsolete without exactly one replacement), which are false positives, and ``obsolete``
            (with exactly one replacement, which is scored).
    """

    by_document: dict[str, list[Prediction]]
    problems: dict[str, list[str]]


def read_predictions(
    path: str | Path, doc_ids: Sequence[str], ontology: Ontology, gold: Iterable[str] = ()
) -> ReadPredictions:
    """Read predictions: JSON Lines, JSON, CSV, the answers of language models, or phenopackets.

    A prediction has an id, and optionally a label, an assertion (affirmed by default) and a score
    (1 by default). Its document is named in it or around it, or by the name of its file in a
    folder. JSON may be inside text or a fence of Markdown. Ids are resolved like those of the gold
    terms. Predictions of the same document and term are merged: the assertion is the first of
    affirmed, uncertain, negated, other person, and the score is the highest one with that
    assertion.

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
    found: dict[str, dict[str, list[_Evidence]]] = {doc_id: {} for doc_id in doc_ids}
    problems: dict[str, list[str]] = {name: [] for name in PROBLEMS}
    kept, labels = frozenset(gold), _Labels(ontology)
    for one in _given(path, doc_ids):
        if one.doc_id not in found:
            raise FormatError(
                f"document '{one.doc_id}' is not in the dataset",
                path=one.path,
                line=one.line,
                remedy=f"use the ids of the dataset: {', '.join(doc_ids[:3])}, …",
            )
        resolution = ontology.resolve(one.term_id)
        term_id = resolution.term_id or ontology.ids.find(one.term_id)
        problem = ""
        if term_id is None and one.term_id not in kept:
            problem = "invented" if resolution.status == "unknown" else "withdrawn"
        elif term_id is not None and not labels.belongs(one.label, term_id):
            problem = "mislabelled"
        elif resolution.status == "obsolete" and term_id is not None:
            problem = "obsolete"
        name = f"{one.term_id} ({one.label})" if one.label else one.term_id
        if problem:
            problems[problem].append(name)
        if problem == "mislabelled":
            term_id = name  # no term, so a false positive
        evidence = one.assertion, one.score, None
        found[one.doc_id].setdefault(term_id or one.term_id, []).append(evidence)
    return ReadPredictions({doc_id: _merge(terms) for doc_id, terms in found.items()}, problems)


PROBLEMS = ("invented", "mislabelled", "withdrawn", "obsolete")
_DOCUMENT_KEYS = ("doc_id", "document_id", "document", "doc", "docid")
_ID_KEYS = ("hpo_id", "hpoid", "hp_id", "hpo_code", "term_id", "hpo", "id", "code")
_LABEL_KEYS = ("label", "hpo_label", "hpo_term", "hpo_name", "term", "name", "phenotype")
_TERM_ID = re.compile(
    r"(?P<before>[^\W\d_][^:\[\]{}]*?)??[\s:,|(\[–—-]*"
    r"(?:https?://[\w./-]+[/#])?(?P<id>[A-Za-z]+[:_]\d\w*)"
    r"[)\]]?(?:[\s:,|(–—-]+(?P<after>[^\W\d_].*?)\)?)?"
)
_FENCE = re.compile(r"```\w*\s*\n(.*?)```", re.DOTALL)
_JSON = re.compile(r"[\[{].*[\]}]", re.DOTALL)
_TABLES = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True, slots=True)
class _Given:
    """A prediction as another system wrote it."""

    doc_id: str
    term_id: str
    label: str
    assertion: Assertion
    score: float
    path: str
    line: int | None


class _Labels:
    """Decide whether a label belongs to a term."""

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology

    def belongs(self, label: str, term_id: str) -> bool:
        """Return true if a label is a name of a term, or another text with a word of its names."""
        key = _stems(label)
        own = self._names(term_id)
        if not key or key in own:
            return True
        shares = any(not set(key).isdisjoint(name) for name in own)
        return shares and key not in self._all

    def _names(self, term_id: str) -> set[tuple[str, ...]]:
        term = self._ontology.terms[term_id]
        return {_stems(text) for text in (term.name, *(one.text for one in term.synonyms))}

    @cached_property
    def _all(self) -> set[tuple[str, ...]]:
        return {name for term_id in self._ontology.ids.live for name in self._names(term_id)}


def _stems(text: str) -> tuple[str, ...]:
    return tuple(sorted(word.stem for word in words_of(text) if word.stem))


def _given(path: str | Path, doc_ids: Sequence[str]) -> Iterator[_Given]:
    """Yield the predictions of a file, or of the files of a folder, each named after a document."""
    folder = Path(path)
    if not folder.is_dir():
        yield from _given_in_file(path, doc_ids[0] if len(doc_ids) == 1 else None, doc_ids)
        return
    for file in sorted(one for one in folder.iterdir() if one.is_file()):
        yield from _given_in_file(file, unquote(file.stem), doc_ids)


def _given_in_file(
    path: str | Path, doc_id: str | None, doc_ids: Sequence[str]
) -> Iterator[_Given]:
    content = read_file(path)
    find = partial(_find, path=str(path), doc_ids=frozenset(doc_ids))
    if separator := _TABLES.get(Path(path).suffix.lower()):
        rows = csv.DictReader(StringIO(content.text), delimiter=separator)
        for row in rows:
            yield from find(row, doc_id, rows.line_num)
        return
    text = content.text.strip()
    first = text.partition("\n")[0].rstrip()
    is_lines = not text or (first.startswith("{") and first.endswith("}"))
    parsed = None if is_lines else _parse(text)
    if parsed is not None:
        yield from find(parsed, doc_id, None)
        return
    for line, record in iter_objects(content.lines(), str(path)):
        yield from find(record, doc_id, line)


def _parse(text: str) -> Any:
    """Return the JSON of a text: all of it, in a fence, or between brackets; ``None`` without."""
    fenced = _FENCE.search(text)
    bracketed = _JSON.search(text)
    for candidate in (text, fenced and fenced[1], bracketed and bracketed[0]):
        try:
            return json.loads(candidate or "")
        except ValueError:
            continue
    return None


def _find(
    value: Any, doc_id: str | None, line: int | None, *, path: str, doc_ids: frozenset[str]
) -> Iterator[_Given]:
    """Yield the predictions in a JSON value: records with an id of a term, at any depth."""
    again = partial(_find, line=line, path=path, doc_ids=doc_ids)
    if isinstance(value, str):
        value = _parse(value)
    if isinstance(value, list):
        for one in value:
            is_id = isinstance(one, str) and _TERM_ID.fullmatch(one.strip())
            yield from again({"hpo_id": one} if is_id else one, doc_id)
    if not isinstance(value, dict):
        return
    if is_phenopacket(value):
        named = str(value.get("id", doc_id))
        yield from again(features_of(value, path), named if named in doc_ids else doc_id or named)
        return
    record = {field_name(key): one for key, one in value.items()}
    found = next((record[key] for key in _DOCUMENT_KEYS if record.get(key) is not None), doc_id)
    own = None if found is None else str(found)
    key = next((key for key in _ID_KEYS if _is_term_id(key, record.get(key))), None)
    if key is not None:
        yield _read_record(record, record[key], own, path, line)
        return
    nested = {
        name: one
        for name, one in value.items()
        if isinstance(one, (list, dict)) or (isinstance(one, str) and _parse(one) is not None)
    }
    if not nested and line is not None:
        raise FormatError(
            "expected the id of a term as text in field 'hpo_id'", path=path, line=line
        )
    for name, one in nested.items():
        yield from again(one, str(name) if str(name) in doc_ids else own)


def _is_term_id(key: str, value: object) -> bool:
    return isinstance(value, str) and (key == "hpo_id" or _split_id(value) is not None)


def _split_id(text: str) -> tuple[str, str] | None:
    """Return id and label of a text such as *Short stature (HP:0004322)*; ``None`` without an id.

    The id can be an IRI.
    """
    match = _TERM_ID.fullmatch(text.strip())
    if match is None:
        return None
    return match["id"], " ".join(filter(None, (match["before"], match["after"])))


def _read_record(
    record: dict[str, Any], term_id: str, doc_id: str | None, path: str, line: int | None
) -> _Given:
    if doc_id is None:
        raise FormatError(
            "a prediction names no document",
            path=path,
            line=line,
            remedy="add a field 'doc_id', or give a folder with one file per document",
        )
    own_id, beside = _split_id(term_id) or (term_id.strip(), "")
    label = next((record[key] for key in _LABEL_KEYS if isinstance(record.get(key), str)), beside)
    label = beside if label.strip() == term_id.strip() else label.strip()
    try:
        assertion = read_assertion(record)
    except ValueError as error:
        raise FormatError(str(error), path=path, line=line) from error
    return _Given(doc_id, own_id, label, assertion, _score(record, path, line), path, line)


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
                    "label": prediction.label,
                    "assertion": prediction.assertion,
                    "score": prediction.score,
                    "count": prediction.count,
                    "spans": [list(span) for span in prediction.spans],
                }
                stream.write(json.dumps(record, ensure_ascii=False) + "\n")


def _score(record: dict[str, Any], path: str, line: int | None) -> float:
    value = record.get("score", 1.0)
    if value in (None, ""):
        return 1.0
    if isinstance(value, str) and re.fullmatch(r"[0-9.]+(?:[eE][-+]?[0-9]+)?", value):
        value = float(value)  # of a table
    if isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) > 1e300:
        raise FormatError("expected a number in field 'score'", path=path, line=line)
    return float(value)
