"""Inputs: annotated documents, and predictions of this package and of other systems.

Documents are in the layout of PhenoBERT: ``<dataset>/annotations/*.json``. Files of predictions of
this package are JSON Lines with doc_id, hpo_id, assertion and score. Those of other systems have
similar fields, in JSON, in tables or in phenopackets.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from trectools_plus.errors import FormatError, InputError, TrectoolsPlusError, raise_all
from trectools_plus.extraction.words import ASSERTIONS, Assertion, Mention
from trectools_plus.formats.files.atomic import atomic_write
from trectools_plus.formats.files.content import read_file
from trectools_plus.formats.jsonl import iter_objects
from trectools_plus.models import SEPARATOR, explain_problem
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.text import listed, split_list

_VALUES: tuple[tuple[Assertion, str], ...] = (
    ("affirmed", "affirmed,present,positive,observed,confirmed,asserted,detected,found,definite"),
    ("affirmed", "current,historical,resolved,patient,proband,index,index_patient,self,subject,+"),
    ("negated", "negated,absent,excluded,normal,negative,denied,not_present,not_observed,none"),
    ("negated", "not_found,not_detected,ruled_out,unaffected,-,−,–,-1"),
    ("uncertain", "uncertain,possible,probable,suspected,hypothetical,questionable,unclear,?"),
    ("uncertain", "likely,conditional,indeterminate,unknown,equivocal,speculated"),
    ("other_person", "other_person,family,family_history,other,someone_else,relative,familial"),
    ("other_person", "family_member,mother,father,parent,brother,sister,sibling,grandmother"),
    ("other_person", "grandfather,grandparent,aunt,uncle,cousin,son,daughter,child,maternal"),
    ("other_person", "paternal,associated_with_someone_else"),
)
"""The values of fields, by what they say."""
_FIELDS: tuple[tuple[Assertion, str], ...] = (
    ("affirmed", "present,presence,observed,affirmed,polarity,positive,assertion,status"),
    ("negated", "negated,negation,negative,absent,absence,excluded,exclusion,denied"),
    ("uncertain", "uncertain,uncertainty,hypothetical,suspected"),
    ("other_person", "experiencer,subject,family"),
)
_SPELLINGS, _MEANINGS = (
    {name: assertion for assertion, names in rows for name in split_list(names)}
    for rows in (_VALUES, _FIELDS)
)
"""What a value says, and what a field means if it is true; ``false`` negates a field of the
assertion affirmed."""
_SIGNS = {"asserted", "ruled", *_MEANINGS} - {"status", "subject", "family", "positive"}
"""Words in the names of fields about assertion."""
_FILLERS = re.compile(r"^(?:is|was|in)_|_(?:status|value|flag|type|history)$")
_ABOUT_SOMETHING_ELSE = re.compile(
    r"_(?:id|text|spans?|start|end|evidence|reason|score|confidence|date|at|by)$"
)
_TRUE, _FALSE = ("true", "yes", "1", "1.0", "y"), ("false", "no", "0", "0.0", "n")
_PRECEDENCE: tuple[Assertion, ...] = ("affirmed", "uncertain", "negated", "other_person")
"""The assertion of a term in a document is the first of these that any of its mentions has."""


def strongest(assertions: Iterable[Assertion]) -> Assertion:
    """Return the first of affirmed, uncertain, negated and other person that is present."""
    return min(assertions, key=_PRECEDENCE.index)


def field_name(key: object) -> str:
    """Return the name of a field in lower case, with its words separated by underscores."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(key).strip())
    return re.sub(r"[\s_-]+", "_", words.lower())


def read_assertion(record: Mapping[str, object]) -> Assertion:
    """Return the assertion that the fields of a record say; affirmed if there are none.

    If fields differ, the last of affirmed, uncertain, negated and other person applies.

    Raises:
        ValueError: If a field about assertion, or its value, is unknown.
    """
    said: list[Assertion] = ["affirmed"]
    for key, value in record.items():
        name = _FILLERS.sub("", field_name(key))
        if value in (None, "", [], {}) or _ABOUT_SOMETHING_ELSE.search(name):
            continue
        if name in _MEANINGS:
            said.append(_read_value(name, value, _MEANINGS[name]))
        elif not _SIGNS.isdisjoint(name.split("_")):
            known = ", ".join(_MEANINGS)
            raise ValueError(f"unknown field '{key}' about assertion, expected one of {known}")
    return max(said, key=_PRECEDENCE.index)


def _read_value(name: str, value: object, meaning: Assertion) -> Assertion:
    text = re.sub(r"(?<=\w)[\s_-]+(?=\w)", "_", str(value).strip().lower())
    opposite: Assertion = "negated" if meaning == "affirmed" else "affirmed"
    values = {**_SPELLINGS, **dict.fromkeys(_TRUE, meaning), **dict.fromkeys(_FALSE, opposite)}
    if text not in values:
        expected = ", ".join(ASSERTIONS)
        raise ValueError(f"unknown assertion '{value}' in field '{name}', expected {expected}")
    return values[text]


ANNOTATIONS_FOLDER = "annotations"


@dataclass(frozen=True, slots=True)
class AnnotatedDocument:
    """A text and its gold annotations.

    Attributes:
        doc_id: The id.
        text: The text.
        gold: The assertion of each annotated term, by its current id in the ontology.
    """

    doc_id: str
    text: str
    gold: dict[str, Assertion]


@dataclass(frozen=True, slots=True)
class AnnotatedDocuments:
    """The documents of a dataset, in the order of their ids.

    Attributes:
        name: The name of the dataset.
        path: The folder as given by the user.
        documents: The documents.
        annotations: The number of annotations in the files.
        sha256: Hash of ids, texts and gold terms; reports with equal hashes can be compared.
        notes: Notes on the files: replaced, split and unknown ids.
    """

    name: str
    path: str
    documents: tuple[AnnotatedDocument, ...]
    annotations: int
    sha256: str
    notes: tuple[str, ...]

    @property
    def texts(self) -> dict[str, str]:
        """The texts by document id."""
        return {document.doc_id: document.text for document in self.documents}

    @property
    def terms(self) -> frozenset[str]:
        """All gold terms."""
        return frozenset(term_id for document in self.documents for term_id in document.gold)

    @property
    def size(self) -> int:
        """The sum over documents of the number of their gold terms."""
        return sum(len(document.gold) for document in self.documents)

    def below(self, terms: frozenset[str]) -> AnnotatedDocuments:
        """Return the documents with only those gold terms that are in a set."""
        documents = tuple(
            replace(
                document, gold={term: said for term, said in document.gold.items() if term in terms}
            )
            for document in self.documents
        )
        return replace(self, documents=documents, sha256=_hash(documents))


class _Annotation(BaseModel):
    model_config = ConfigDict(strict=True)

    hpo_id: str = Field(min_length=1)
    assertion_status: Assertion = "affirmed"

    @model_validator(mode="before")
    @classmethod
    def _read_assertion(cls, values: Any) -> Any:
        """Read the assertion, which several fields can say."""
        if not isinstance(values, dict):
            return values
        return {**values, "assertion_status": read_assertion(values)}


class _File(BaseModel):
    model_config = ConfigDict(strict=True)

    doc_id: str = Field(min_length=1)
    full_text: str
    annotations: list[_Annotation]


def read_texts(path: str | Path) -> dict[str, str] | None:
    """Read texts without annotations, by the name of their file; ``None`` for annotated documents.

    Args:
        path: A text file, a folder with files that end in ``.txt`` and without other documents, or
            ``-`` for standard input.

    Raises:
        InputError: If a file cannot be read.
    """
    if str(path) == "-":
        return {"stdin": read_file(path).text}
    source = Path(path)
    files = sorted(source.glob("*.txt")) if source.is_dir() else [source]
    if not files or not all(file.is_file() for file in files) or any(source.glob("*/")):
        return None
    return {file.name.removesuffix(".txt"): read_file(file).text for file in files}


def read_documents(
    folder: str | Path, ontology: Ontology, dataset: str | None = None
) -> AnnotatedDocuments:
    """Read annotated documents.

    An alternative id is replaced by the main id of its term, and an obsolete id by the terms that
    replace it, or that the ontology suggests to consider; if these are several, all are gold terms.
    Other unknown ids remain, because another system may predict them. If
    annotations of a term in a document differ, the first of affirmed, uncertain, negated, other
    person applies.

    Args:
        folder: A folder of datasets, or of one dataset.
        ontology: The ontology that resolves the ids of terms.
        dataset: The name of the sub-folder to read; ``None`` reads all datasets of the folder.

    Raises:
        InputError: If there is no document.
        FormatError: If a file is malformed.
        SeveralFilesError: If several files are malformed; the error lists all of them.
    """
    root = Path(folder, dataset or "")
    files = sorted(root.glob(f"{ANNOTATIONS_FOLDER}/*.json"))
    if not files and dataset is None:
        files = sorted(root.glob(f"*/{ANNOTATIONS_FOLDER}/*.json"))
    if not files:
        raise InputError(
            f"no such folder, or no document in a sub-folder '{ANNOTATIONS_FOLDER}'",
            where=str(root),
            remedy="expected <dataset>/annotations/*.json",
        )
    paths, documents = dict[str, Path](), list[_File]()
    problems: list[TrectoolsPlusError] = []
    for path in files:
        try:
            document = _read_file(path)
            if (first := paths.setdefault(document.doc_id, path)) != path:
                raise FormatError(
                    f"document '{document.doc_id}' is also in {first.name}",
                    path=str(path),
                    remedy="give every document a unique id",
                )
            documents.append(document)
        except TrectoolsPlusError as error:
            problems.append(error)
    raise_all(problems)
    folders = {path.parent.parent for path in files}
    base = folders.pop() if len(folders) == 1 else root
    return _combine(dataset or base.resolve().name, str(folder), documents, ontology)


def _read_file(path: Path) -> _File:
    try:
        return _File.model_validate_json(read_file(path).text)
    except ValidationError as error:
        first = error.errors()[0]
        what, _ = explain_problem(first)
        location = ".".join(map(str, first["loc"]))
        raise FormatError(
            f"{location}: {what}",
            path=str(path),
            remedy="expected doc_id, full_text and annotations: [{hpo_id, assertion_status}]",
        ) from error


def _combine(name: str, path: str, files: list[_File], ontology: Ontology) -> AnnotatedDocuments:
    documents, others = [], set[str]()
    for file in sorted(files, key=lambda file: file.doc_id):
        assertions: dict[str, list[Assertion]] = {}
        for annotation in file.annotations:
            hpo_id = annotation.hpo_id
            current = ontology.ids.successors(hpo_id)
            if current != (hpo_id,):
                others.add(hpo_id)
            for term_id in current or (hpo_id,):
                assertions.setdefault(term_id, []).append(annotation.assertion_status)
        gold = {term_id: strongest(assertions[term_id]) for term_id in sorted(assertions)}
        documents.append(AnnotatedDocument(file.doc_id, file.full_text, gold))
    note = (
        "gold ids that are not current terms (replaced by the ontology, a split one by all its "
        f"terms; unknown ones are used unchanged): {listed(sorted(others))}"
    )
    return AnnotatedDocuments(
        name,
        path,
        tuple(documents),
        annotations=sum(len(file.annotations) for file in files),
        sha256=_hash(documents),
        notes=(note,) if others else (),
    )


def _hash(documents: Iterable[AnnotatedDocument]) -> str:
    lines = []
    for document in documents:
        gold = "".join(f"\0{term_id}\0{assertion}" for term_id, assertion in document.gold.items())
        lines.append(f"{document.doc_id}\0{document.text}\0{gold}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest()


PREDICTIONS_FILE = "predictions.jsonl"
_DIGITS = 6
"""Decimals of scores."""


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
    path: str | Path, doc_ids: Sequence[str], ontology: Ontology, gold: Container[str] = ()
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
    for doc_id, mention in _read_given(Path(path), doc_ids):
        term_id = mention.term_id
        resolution = ontology.resolve(ontology.ids.spelled(term_id))
        if resolution.term_id is None and term_id not in gold:
            problems["invented" if resolution.status == "unknown" else "withdrawn"].append(term_id)
        elif resolution.status == "obsolete" and resolution.term_id is not None:
            problems["obsolete"].append(term_id)
        mentions[doc_id].append(replace(mention, term_id=resolution.term_id or term_id))
    return ReadPredictions({doc_id: aggregate(own) for doc_id, own in mentions.items()}, problems)


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
    is_folder = path.is_dir()
    for file in sorted(filter(Path.is_file, path.iterdir())) if is_folder else [path]:
        named = unquote(file.stem) if is_folder else None
        for line, value in _records_of(file):
            try:
                yield from _find(value, named, dict.fromkeys(doc_ids))
            except ValueError as error:
                what, _, remedy = str(error).partition(SEPARATOR)
                raise FormatError(what, path=str(file), line=line, remedy=remedy or None) from error


def _records_of(path: Path) -> Iterable[tuple[int | None, Any]]:
    """Return the records of a file, with their lines if they are known."""
    content = read_file(path)
    if separator := _TABLES.get(path.suffix.lower()):
        rows = csv.DictReader(StringIO(content.text), delimiter=separator)
        return ((rows.line_num, row) for row in rows)
    try:
        return [(None, json.loads(content.text))]
    except (ValueError, RecursionError):
        return iter_objects(content.lines(), str(path))


def _find(
    value: Any, doc_id: str | None, doc_ids: Collection[str]
) -> Iterator[tuple[str, Mention]]:
    """Yield the predictions in a JSON value: objects with the id of a term, at any depth.

    Raises:
        ValueError: If there is none, or one cannot be read.
    """
    if isinstance(value, list):
        for item in value:
            record = {"hpo_id": item} if isinstance(item, str) else item
            yield from _find(record, doc_id, doc_ids)
        return
    fields = dict(value) if isinstance(value, dict) else {}
    if isinstance(fields.get("type"), dict):  # of a phenopacket
        fields |= fields.pop("type")
    record = {field_name(key): item for key, item in fields.items() if item not in (None, "")}
    doc_id = next((str(record[key]) for key in _DOCUMENT_KEYS if key in record), doc_id)
    key = next((key for key in _ID_KEYS if _is_term_id(key, record.get(key))), None)
    if key is not None:
        yield _read_record(record, record[key], doc_id, doc_ids)
        return
    nested = {str(name): item for name, item in fields.items() if isinstance(item, list | dict)}
    if not fields.keys().isdisjoint((_FEATURES, "metaData")):
        nested = {str(fields.get("id")): fields.get(_FEATURES, [])}
    if not nested:
        raise ValueError("expected the id of a term as text in field 'hpo_id'")
    for name, item in nested.items():
        yield from _find(item, name if name in doc_ids else doc_id, doc_ids)


def _read_record(
    record: Mapping[str, Any], text: str, doc_id: str | None, doc_ids: Collection[str]
) -> tuple[str, Mention]:
    if doc_id is None or doc_id not in doc_ids:
        what = f"the document of a prediction, '{doc_id}', is not in the dataset"
        raise ValueError(
            f"{what if doc_id else 'a prediction names no document'} — write an id of the dataset "
            "in 'doc_id', or give a folder with one file per document: "
            f"{', '.join([*doc_ids][:3])}, …"
        )
    ids, score = _TERM_ID.findall(text), record.get("score", 1.0)
    if not (isinstance(score, str | int | float) and isfinite(float(score))):
        raise ValueError("expected a finite number in field 'score'")
    term_id = ids[0] if len(ids) == 1 else text.strip()
    return doc_id, Mention(term_id, 0, 0, frozenset(), float(score), read_assertion(record))


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
