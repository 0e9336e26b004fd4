"""Annotated documents in the layout of PhenoBERT: ``<dataset>/annotations/*.json``."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from trectools_plus.errors import FormatError, InputError, TrectoolsPlusError, raise_all
from trectools_plus.extraction.inputs.assertion_fields import Assertion, read_assertion, strongest
from trectools_plus.formats.files.content import read_file
from trectools_plus.models import explain_problem
from trectools_plus.ontology.ontology import Ontology

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
            f"there is no document in a sub-folder '{ANNOTATIONS_FOLDER}'",
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
            f"{location}: {what}" if location else what,
            path=str(path),
            remedy="expected doc_id, full_text and annotations: [{hpo_id, assertion_status}]",
        ) from error


def _combine(name: str, path: str, files: list[_File], ontology: Ontology) -> AnnotatedDocuments:
    unknown, replaced = Counter[str](), set[str]()
    documents = []
    for file in sorted(files, key=lambda file: file.doc_id):
        assertions: dict[str, list[Assertion]] = {}
        for annotation in file.annotations:
            given = annotation.hpo_id
            current = ontology.ids.successors(given)
            if not current:
                unknown[f"{given} ({ontology.resolve(given).status})"] += 1
            elif current != (given,):
                replaced.add(f"{given} → {' and '.join(current)}")
            for term_id in current or (given,):
                assertions.setdefault(term_id, []).append(annotation.assertion_status)
        gold = {term_id: strongest(assertions[term_id]) for term_id in sorted(assertions)}
        documents.append(AnnotatedDocument(file.doc_id, file.full_text, gold))
    notes = {
        "gold ids replaced by the ontology (all terms of a split one are gold)": replaced,
        f"gold ids that are not current terms (used unchanged), in {unknown.total()} annotations": (
            unknown
        ),
    }
    return AnnotatedDocuments(
        name,
        path,
        tuple(documents),
        annotations=sum(len(file.annotations) for file in files),
        unmapped=len(unknown),
        sha256=_hash(documents),
        notes=tuple(f"{note}: {join_some(ids)}" for note, ids in notes.items() if ids),
    )


def join_some(items: Collection[str]) -> str:
    """Return the first items in order, and their number if there are more."""
    more = f", … ({len(items)})" if len(items) > _MAX_LISTED else ""
    return ", ".join(sorted(items)[:_MAX_LISTED]) + more


def _hash(documents: Iterable[AnnotatedDocument]) -> str:
    lines = []
    for document in documents:
        gold = "".join(f"\0{term_id}\0{one}" for term_id, one in document.gold.items())
        lines.append(f"{document.doc_id}\0{document.text}\0{gold}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest()
