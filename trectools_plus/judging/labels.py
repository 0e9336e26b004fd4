"""Labels of pooled documents: who judged what, and how.

``labels.jsonl`` of a plan has a line for each answer of a model. Lines are only appended, and
synced to disk one by one, so a killed process loses nothing and leaves at most one incomplete line.
The labels of people are in the database of the review page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, TypeVar

import polars as pl
from pydantic import Field, ValidationError

from trectools_plus.choices import MODEL_JUDGED
from trectools_plus.errors import FormatError
from trectools_plus.formats import writing
from trectools_plus.formats.files.guards import find_inside
from trectools_plus.formats.hashing import sha256_text
from trectools_plus.formats.jsonl import iter_objects
from trectools_plus.formats.tables import QRELS_SCHEMA, Qrels
from trectools_plus.formats.writing import valid_tag
from trectools_plus.judging.judgments import read_shown
from trectools_plus.judging.store import DATABASE_NAME, Store, read_store
from trectools_plus.models import ReportModel

LABELS_FILE = "labels.jsonl"
MAX_GRADE = 3

Kind = Literal["person", "model"]
Price = tuple[float, float]
"""The price of a million tokens of questions, and of answers."""


class LabelOrigin(ReportModel):
    """The settings that determine the answers of a model."""

    model: str
    """The model, or the function ``module:name``."""
    host: str | None = None
    """The host of the endpoint, without path and secrets; null for a function."""
    prompt_sha256: str
    """SHA-256 of the prompt; for a function, of its source."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """Parameters of the request, for example ``temperature``."""
    longest: int | None = None
    """The number of characters of a document after which it is cut."""


class Usage(ReportModel):
    """Tokens, as a service counts them."""

    prompt_tokens: int = Field(ge=0)
    """Tokens of questions."""
    completion_tokens: int = Field(ge=0)
    """Tokens of answers."""

    @classmethod
    def total(cls, usages: Iterable[Usage | None]) -> Usage | None:
        """Return the sum of all tokens that a service counted; ``None`` if it counted none."""
        known = [usage for usage in usages if usage is not None]
        prompts = sum(usage.prompt_tokens for usage in known)
        completions = sum(usage.completion_tokens for usage in known)
        return cls(prompt_tokens=prompts, completion_tokens=completions) if known else None

    def cost(self, price: Price) -> float:
        """Return the cost of the tokens."""
        return (self.prompt_tokens * price[0] + self.completion_tokens * price[1]) / 1e6


class Label(ReportModel):
    """The judgment of a pooled document by a person or a model."""

    query_id: str
    """The query."""
    doc_id: str
    """The document."""
    grade: int | None = Field(ge=0, le=MAX_GRADE)
    """0 (not relevant) to 3 (highly relevant); null is a missing judgment, which is never 0."""
    annotator: str
    """The name of the person, or the model."""
    kind: Kind
    """Who judged."""
    time: str
    """The time in UTC."""
    reason: str | None = None
    """Why the judgment is missing."""
    final: bool = False
    """Always false; labels of earlier versions can have decisions of adjudicators."""
    origin: LabelOrigin | None = None
    """For models: what determines the answer."""
    answer: str | None = None
    """For models: the raw text."""
    cut: bool = False
    """For models: whether the document was too long and only its beginning was shown."""
    repeat: int = 0
    """For models: 0 for the first answer, 1 if the pair was asked again to measure agreement."""
    text_sha256: str | None = None
    """For models: SHA-256 of the texts that the model judged."""
    usage: Usage | None = None
    """For models: the tokens of the call that was answered, if the service counts them."""

    @property
    def pair(self) -> tuple[str, str]:
        """The query and the document."""
        return self.query_id, self.doc_id

    @property
    def key(self) -> tuple[str, str, str | None, int]:
        """The identity of an answer of the same judge."""
        return self.query_id, self.doc_id, self.text_sha256, self.repeat

    @property
    def judge(self) -> LabelOrigin:
        """The model and the prompt, which determine the answers."""
        return self.origin or LabelOrigin(model=self.annotator, prompt_sha256="")

    def as_line(self) -> bytes:
        """Return the line in ``labels.jsonl``, without what the service did not name."""
        uncounted = {"usage"} if self.usage is None else None
        return f"{self.model_dump_json(exclude=uncounted)}\n".encode()


def read_labels(file: Path) -> list[Label]:
    """Read the labels of models, in the order in which they were made.

    If a model was asked again after a failure, only its last label is returned. An incomplete last
    line, which a killed process leaves, is ignored.

    Raises:
        FormatError: If another line is not a label.
    """
    last: dict[object, Label] = {}
    for label in iter_labels(file):
        key = f"{label.annotator} {label.origin}", label.key
        last.pop(key, None)
        last[key] = label
    return list(last.values())


def iter_labels(file: Path) -> Iterator[Label]:
    """Yield all labels of models, also those that a later one replaces; see :func:`read_rows`."""
    return read_rows(file, Label, "a label")


Row = TypeVar("Row", bound=ReportModel)


def read_rows(file: Path, model: type[Row], noun: str) -> Iterator[Row]:
    """Yield the rows of a file to which another process may be appending.

    Args:
        file: The file; nothing is yielded if it is missing.
        model: The model of a row.
        noun: Its name, for messages.

    Raises:
        FormatError: If a line other than an incomplete last one is no such row.
        InputError: If it is a link to another folder, or not a regular file.
    """
    if find_inside(file, file.parent) is None:
        return
    lines = file.read_bytes().splitlines(keepends=True)
    whole = [line for line in lines if line.endswith(b"\n")]
    for number, row in iter_objects(whole, str(file)):
        try:
            yield model.model_validate(row)
        except ValidationError as error:
            raise FormatError(f"not {noun}", path=str(file), line=number) from error


def group_models(labels: Iterable[Label]) -> dict[str, list[Label]]:
    """Return the labels of each model by its name, without those of people.

    A model that was asked in several ways (prompt, host or parameters) is several; their names end
    with the first characters of a hash.
    """
    groups: dict[tuple[str, str], list[Label]] = {}
    for label in labels:
        if label.kind == "model":
            groups.setdefault((label.annotator, label.judge.model_dump_json()), []).append(label)
    ways = Counter(name for name, _ in groups)
    return {
        name if ways[name] == 1 else f"{name} ({sha256_text(how)[:8]})": group
        for (name, how), group in groups.items()
    }


def write_qrels(labels: Iterable[Label], path: str | Path) -> None:
    """Write labels as qrels whose second column names who judged: ``model:NAME`` or ``person``.

    Missing judgments are left out. Of several labels of a pair, the last one is written.

    Raises:
        InputError: If no label has a grade, or the file cannot be written.
    """
    rows = {}
    for label in labels:
        is_person = label.kind == "person"
        judge = "person" if is_person else MODEL_JUDGED + valid_tag(label.annotator)
        if label.grade is not None:
            rows[label.pair] = (label.query_id, judge, label.doc_id, label.grade)
    frame = pl.DataFrame([*rows.values()], schema=QRELS_SCHEMA, orient="row")
    writing.write_qrels(Qrels(frame), path)


_CURRENT = """
    SELECT a.name, j.query_id, j.doc_id, j.grade, coalesce(j.missing, j.value), j.made_at
    FROM judgment j JOIN annotator a ON a.id = j.annotator WHERE j.id IN (
        SELECT max(id) FROM judgment
        WHERE undone_at IS NULL AND (doc_id IS NOT NULL OR kind = 'cannot_judge')
        GROUP BY annotator, query_id, doc_id)
    ORDER BY j.id"""


def read_people(folder: Path) -> list[Label]:
    """Read the current answers of people for each pooled document.

    A document that a person cannot judge has a label without a grade, and so have all documents of
    a query that the person cannot judge.

    Args:
        folder: The folder of a plan. People may be judging at the same time.

    Returns:
        One label for each person and document, in the order in which they were made; empty if
        nobody has judged yet.

    Raises:
        InputError: If the database cannot be read.
    """
    if find_inside(folder / DATABASE_NAME, folder) is None:
        return []
    with closing(read_store(folder)) as store:
        return list(_iter_labels(store))


def _iter_labels(store: Store) -> Iterator[Label]:
    rows, shown = store.rows(_CURRENT), read_shown(store)
    unusable = {
        (name, query_id)
        for name, query_id, doc_id, _, reason, _ in rows
        if doc_id is None and reason is not None
    }
    for name, query_id, doc_id, grade, reason, made_at in rows:
        is_of_query = doc_id is None
        if is_of_query != ((name, query_id) in unusable) or (grade is None and reason is None):
            continue
        shown_ids = sorted(set().union(*shown[query_id].values())) if is_of_query else [doc_id]
        for shown_id in shown_ids:
            yield Label(
                query_id=query_id,
                doc_id=shown_id,
                grade=grade,
                annotator=name,
                kind="person",
                time=made_at,
                reason=reason,
            )
