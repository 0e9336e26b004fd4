"""Annotated documents in the layout of PhenoBERT: ``<dataset>/annotations/*.json``."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from trectools_plus.errors import FormatError, InputError, TrectoolsPlusError, raise_all
from trectools_plus.extraction.inputs.assertion_fields import Assertion, read_assertion, strongest
from trectools_plus.extraction.inputs.phenopackets import (
    features_of,
    is_phenopacket,
)
from trectools_plus.formats.files.content import read_file
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.text import plural

ANNOTATIONS_FOLDER = "annotations"
_MAX_LISTED = 6


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
        unmapped: The number of distinct gold ids that are not current terms of the ontology, after
            alternative and replaced ids are resolved.
        sha256: Hash of ids, texts and gold terms; reports with equal hashes can be compared.
        notes: Notes on the files: replaced, split and unknown ids.
    """

    name: str
    path: str
    documents: tuple[AnnotatedDocument, ...]
    annotations: int
    unmapped: int
    sha256: str
    notes: tuple[str, ...]

    @property
    def texts(self) -> dict[str, str]:
        """The texts by document id."""
        return {document.doc_id: document.text for document in self.documents}

    def below(self, terms: frozenset[str]) -> AnnotatedDocuments:
        """Return the documents with only those gold terms that are in a set."""
        documents = tuple(
            replace(one, gold={term: said for term, said in one.gold.items() if term in terms})
            for one in self.documents
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
    """Read annotated documents, also phenopackets.

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
        InputError: If the folder is missing or contains no document.
        FormatError: If a file is malformed.
        SeveralFilesError: If several files are malformed; the error lists all of them.
    """
    root = Path(folder)
    datasets = _datasets(root, dataset)
    files = [file for one in datasets for file in sorted((one / ANNOTATIONS_FOLDER).glob("*.json"))]
    if not files:
        raise InputError(
            "the folder contains no documents",
            where=str(datasets[0] / ANNOTATIONS_FOLDER),
            remedy="add documents with names that end in .json",
        )
    read: list[tuple[Path, _File]] = []
    problems: list[TrectoolsPlusError] = []
    for file in files:
        try:
            read.append((file, _read_file(file)))
        except TrectoolsPlusError as error:
            problems.append(error)
    problems += _repeated_id_errors(read)
    raise_all(problems)
    name = dataset or (datasets[0].resolve().name if len(datasets) == 1 else root.resolve().name)
    return _combine(name, str(folder), [document for _, document in read], ontology)


def _datasets(root: Path, dataset: str | None) -> list[Path]:
    if dataset is not None:
        root = root / dataset
        if not (root / ANNOTATIONS_FOLDER).is_dir():
            raise _missing_layout_error(root)
        return [root]
    if (root / ANNOTATIONS_FOLDER).is_dir():
        return [root]
    try:
        found = sorted(one for one in root.iterdir() if (one / ANNOTATIONS_FOLDER).is_dir())
    except OSError as error:
        raise InputError(
            f"the folder cannot be read: {(error.strerror or str(error)).lower()}",
            where=str(root),
            remedy="give the folder that contains <dataset>/annotations/*.json",
        ) from error
    if not found:
        raise _missing_layout_error(root)
    return found


def _missing_layout_error(folder: Path) -> InputError:
    return InputError(
        "there is no sub-folder 'annotations' with documents",
        where=str(folder),
        remedy="expected <dataset>/annotations/*.json",
    )


def _read_file(path: Path) -> _File:
    text = read_file(path).text
    try:
        record = json.loads(text)
        fields = _fields_of_phenopacket(record, path) if is_phenopacket(record) else record
        return _File.model_validate(fields)
    except json.JSONDecodeError as error:
        raise FormatError(
            f"invalid JSON: {error.msg.lower()}",
            path=str(path),
            line=error.lineno,
            column=error.colno,
            remedy="write one JSON object",
        ) from error
    except ValidationError as error:
        raise _as_format_error(error, str(path)) from error


def _fields_of_phenopacket(record: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the fields of a document; its text is in a file of the same name that ends in .txt."""
    beside = path.with_suffix(".txt")
    annotations = [
        {"hpo_id": one["hpo_id"], "assertion_status": one["assertion"]}
        for one in features_of(record, str(path))
    ]
    return {
        "doc_id": record.get("id", ""),
        "full_text": read_file(beside).text if beside.exists() else "",
        "annotations": annotations,
    }


def _as_format_error(error: ValidationError, path: str) -> FormatError:
    first: Any = error.errors()[0]
    location = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in first["loc"]).lstrip(
        "."
    )
    message = first["msg"].removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    return FormatError(
        f"{location}: {message}" if location else message,
        path=path,
        remedy="expected doc_id, full_text and annotations: [{hpo_id, assertion_status}]",
    )


def _repeated_id_errors(read: Iterable[tuple[Path, _File]]) -> list[TrectoolsPlusError]:
    first: dict[str, Path] = {}
    return [
        FormatError(
            f"document '{document.doc_id}' is also in {first[document.doc_id].name}",
            path=str(path),
            remedy="give every document a unique id",
        )
        for path, document in read
        if first.setdefault(document.doc_id, path) != path
    ]


def _combine(name: str, path: str, files: list[_File], ontology: Ontology) -> AnnotatedDocuments:
    notes, unknown, replaced, split = [], Counter[str](), set[str](), set[str]()
    documents = []
    for file in sorted(files, key=lambda one: one.doc_id):
        assertions: dict[str, list[Assertion]] = {}
        for annotation in file.annotations:
            given = annotation.hpo_id
            current = ontology.ids.successors(given)
            if not current:
                unknown[f"{given} ({ontology.resolve(given).status})"] += 1
            elif len(current) > 1:
                split.add(f"{given} → {' and '.join(current)}")
            elif current[0] != given:
                replaced.add(f"{given} → {current[0]}")
            for term_id in current or (given,):
                assertions.setdefault(term_id, []).append(annotation.assertion_status)
        gold = {term_id: strongest(assertions[term_id]) for term_id in sorted(assertions)}
        documents.append(AnnotatedDocument(file.doc_id, file.full_text, gold))
    if replaced:
        notes.append(f"gold ids replaced by the ontology: {join_some(replaced)}")
    if split:
        notes.append(f"gold ids split by the ontology (all terms are gold): {join_some(split)}")
    if unknown:
        notes.append(
            f"gold ids that are not current terms: {len(unknown)}, in "
            f"{plural(unknown.total(), 'annotation')} (used unchanged): {join_some(set(unknown))}"
        )
    return AnnotatedDocuments(
        name,
        path,
        tuple(documents),
        annotations=sum(len(file.annotations) for file in files),
        unmapped=len(unknown),
        sha256=_hash(documents),
        notes=tuple(notes),
    )


def join_some(items: set[str]) -> str:
    """Return the first items in order, and their number if there are more."""
    more = f", … ({len(items)})" if len(items) > _MAX_LISTED else ""
    return ", ".join(sorted(items)[:_MAX_LISTED]) + more


def _hash(documents: Iterable[AnnotatedDocument]) -> str:
    digest = hashlib.sha256()
    for document in documents:
        gold = "".join(f"\0{term_id}\0{one}" for term_id, one in document.gold.items())
        digest.update(f"{document.doc_id}\0{document.text}\0{gold}\n".encode())
    return digest.hexdigest()
