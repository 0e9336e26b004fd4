"""Annotated documents in the layout of PhenoBERT: ``<dataset>/annotations/*.json``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trectools_plus.errors import FormatError, InputError, TrectoolsPlusError, raise_all
from trectools_plus.extraction.mentions import Assertion, strongest
from trectools_plus.formats.files.source import read_source
from trectools_plus.ontology.ontology import Ontology

ANNOTATIONS_FOLDER = "annotations"
_SHOWN = 6

_SPELLINGS: dict[str, Assertion] = {
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
"""What an assertion may be called in files."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text and the terms that people found in it.

    Attributes:
        doc_id: Its id.
        text: The text.
        gold: What the document says of each term; ids resolved by the ontology.
    """

    doc_id: str
    text: str
    gold: dict[str, Assertion]


@dataclass(frozen=True, slots=True)
class AnnotatedDocuments:
    """The documents of a dataset, in the order of their ids.

    Attributes:
        name: The dataset's name.
        path: Its folder, as the user named it.
        documents: The documents.
        annotations: How many annotations the files hold.
        sha256: Hash of ids, texts and gold terms: equal where figures can be compared.
        notes: What to know of the files: ids that were replaced, merged or are unknown, spans that
            do not fit their text.
    """

    name: str
    path: str
    documents: tuple[Document, ...]
    annotations: int
    sha256: str
    notes: tuple[str, ...]


class _Span(BaseModel):
    model_config = ConfigDict(strict=True)

    start_char: int
    end_char: int
    text_snippet: str | None = None


class _Annotation(BaseModel):
    model_config = ConfigDict(strict=True)

    hpo_id: str = Field(min_length=1)
    assertion_status: str = "affirmed"
    evidence_spans: list[_Span] = Field(default_factory=list)


class _File(BaseModel):
    model_config = ConfigDict(strict=True)

    doc_id: str = Field(min_length=1)
    full_text: str
    annotations: list[_Annotation]


def assertion_named(name: str) -> Assertion | None:
    """The assertion that files call by this name; ``None`` if there is none."""
    return _SPELLINGS.get(name.strip().lower().replace(" ", "_").replace("-", "_"))


def read_documents(
    folder: str | Path, ontology: Ontology, dataset: str | None = None
) -> AnnotatedDocuments:
    """Read annotated documents.

    An alternative id becomes its term's, an obsolete one that of the one term that replaces it; an
    id that stands for no live term is kept, since another system may predict it. Of annotations of
    one term that differ, the first of affirmed, uncertain, negated, other person holds.

    Args:
        folder: The folder of the datasets, or of one dataset.
        ontology: Says what ids stand for.
        dataset: Only the sub-folder of this name; all datasets of the folder when not given.

    Raises:
        InputError: If there is no such folder, or no file in it.
        FormatError: If a file is no such document; every file at fault is named.
    """
    root = Path(folder)
    datasets = _datasets(root, dataset)
    files = [file for one in datasets for file in sorted((one / ANNOTATIONS_FOLDER).glob("*.json"))]
    if not files:
        raise InputError(
            "no document", where=str(datasets[0] / ANNOTATIONS_FOLDER), remedy="it holds no *.json"
        )
    read: list[tuple[Path, _File]] = []
    problems: list[TrectoolsPlusError] = []
    for file in files:
        try:
            read.append((file, _read_file(file)))
        except TrectoolsPlusError as error:
            problems.append(error)
    problems += _repeated_ids(read)
    raise_all(problems)
    name = dataset or (datasets[0].resolve().name if len(datasets) == 1 else root.resolve().name)
    return _gather(name, str(folder), [document for _, document in read], ontology)


def _datasets(root: Path, dataset: str | None) -> list[Path]:
    if dataset is not None:
        root = root / dataset
        if not (root / ANNOTATIONS_FOLDER).is_dir():
            raise _no_layout(root)
        return [root]
    if (root / ANNOTATIONS_FOLDER).is_dir():
        return [root]
    try:
        found = sorted(one for one in root.iterdir() if (one / ANNOTATIONS_FOLDER).is_dir())
    except OSError as error:
        raise InputError(
            f"the folder cannot be read: {(error.strerror or str(error)).lower()}",
            where=str(root),
            remedy="name the folder that holds <dataset>/annotations/*.json",
        ) from error
    if not found:
        raise _no_layout(root)
    return found


def _no_layout(folder: Path) -> InputError:
    beside = folder.parent if not folder.is_dir() else folder
    there = [one.name for one in beside.iterdir() if one.is_dir()] if beside.is_dir() else []
    seen = f"; there are: {', '.join(sorted(there)[:_SHOWN])}" if there else ""
    return InputError(
        "no folder 'annotations' with documents",
        where=str(folder),
        remedy=f"expected <dataset>/annotations/*.json{seen}",
    )


def _read_file(path: Path) -> _File:
    content = read_source(path).text
    try:
        found = _File.model_validate_json(content)
    except ValidationError as error:
        raise _translated(error, str(path)) from error
    for place, annotation in enumerate(found.annotations):
        if assertion_named(annotation.assertion_status) is None:
            raise FormatError(
                f"annotations[{place}]: no assertion is called '{annotation.assertion_status}'",
                path=str(path),
                remedy=f"there are {', '.join(_SPELLINGS)}",
            )
    return found


def _translated(error: ValidationError, path: str) -> FormatError:
    first: Any = error.errors()[0]
    place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in first["loc"]).lstrip(".")
    message = first["msg"][:1].lower() + first["msg"][1:]
    return FormatError(
        f"{place}: {message}" if place else message,
        path=path,
        remedy="a document has doc_id, full_text, annotations [{hpo_id, assertion_status}]",
    )


def _repeated_ids(read: Iterable[tuple[Path, _File]]) -> list[TrectoolsPlusError]:
    first: dict[str, Path] = {}
    return [
        FormatError(
            f"document '{document.doc_id}' is in {first[document.doc_id].name} too",
            path=str(path),
            remedy="give every document an id of its own",
        )
        for path, document in read
        if first.setdefault(document.doc_id, path) != path
    ]


def _gather(name: str, path: str, files: list[_File], ontology: Ontology) -> AnnotatedDocuments:
    notes, unknown, replaced, misfits, merged = [], set[str](), set[str](), 0, 0
    documents = []
    for file in sorted(files, key=lambda one: one.doc_id):
        said: dict[str, list[Assertion]] = {}
        for annotation in file.annotations:
            resolution = ontology.resolve(annotation.hpo_id)
            term_id = resolution.term_id or annotation.hpo_id
            if resolution.term_id is None:
                unknown.add(f"{annotation.hpo_id} ({resolution.status})")
            elif term_id != annotation.hpo_id:
                replaced.add(f"{annotation.hpo_id} → {term_id}")
            assertion = assertion_named(annotation.assertion_status)
            assert assertion is not None
            said.setdefault(term_id, []).append(assertion)
            misfits += sum(not _fits(span, file.full_text) for span in annotation.evidence_spans)
        merged += len(file.annotations) - len(said)
        gold = {term_id: strongest(said[term_id]) for term_id in sorted(said)}
        documents.append(Document(file.doc_id, file.full_text, gold))
    if replaced:
        notes.append(f"gold ids stand for other terms now: {_listed(replaced)}")
    if unknown:
        notes.append(f"gold ids stand for no live term and are kept: {_listed(unknown)}")
    if merged:
        notes.append(f"annotations that repeat a term of their document, counted once: {merged}")
    if misfits:
        notes.append(f"evidence spans that do not fit their text (not used): {misfits}")
    total = sum(len(file.annotations) for file in files)
    return AnnotatedDocuments(name, path, tuple(documents), total, _hash(documents), tuple(notes))


def _fits(span: _Span, text: str) -> bool:
    inside = 0 <= span.start_char < span.end_char <= len(text)
    said = text[span.start_char : span.end_char]
    return inside and span.text_snippet in (None, said)


def _listed(items: set[str]) -> str:
    more = f", … ({len(items)})" if len(items) > _SHOWN else ""
    return ", ".join(sorted(items)[:_SHOWN]) + more


def _hash(documents: Iterable[Document]) -> str:
    digest = hashlib.sha256()
    for document in documents:
        gold = "".join(f"\0{term_id}\0{said}" for term_id, said in document.gold.items())
        digest.update(f"{document.doc_id}\0{document.text}\0{gold}\n".encode())
    return digest.hexdigest()
