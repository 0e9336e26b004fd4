"""The report of an extraction: models whose JSON is ``ExtractionReport.json``, schema version 1.0.

Later versions add keys; a reader passes over keys it does not know.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from trectools_plus.errors import InputError
from trectools_plus.extraction.mentions import Assertion
from trectools_plus.extraction.settings import ExtractionSettings
from trectools_plus.formats.files.source import read_source

SCHEMA_VERSION: Literal["1.0"] = "1.0"
REPORT_FILE = "ExtractionReport.json"


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Interval(_Model):
    """A percentile bootstrap interval over documents."""

    low: float
    high: float
    level: float
    resamples: int


class Figure(_Model):
    """A precision, recall or F1, in [0, 1]."""

    value: float
    ci: Interval | None
    """Null where intervals were not asked for."""


class Score(_Model):
    """Precision, recall and F1 of one view, matching and average."""

    precision: Figure
    recall: Figure
    f1: Figure


class DocumentCounts(_Model):
    """What one document contributes to one view and matching."""

    credit_predicted: float
    predicted: int
    credit_gold: float
    gold: int
    precision: float
    recall: float
    f1: float


class DocumentResult(_Model):
    """One document."""

    doc_id: str
    counts: dict[str, dict[str, DocumentCounts]]
    """By view (present, any, strict), then matching (exact, soft)."""


class Mistake(_Model):
    """A term that was missed, or predicted without being gold."""

    doc_id: str
    term_id: str
    label: str
    assertion: Assertion
    score: float | None
    """Of the prediction; null for a missed term."""
    text: str | None
    """The first words it was found in, where known."""


class NearMiss(_Model):
    """A spurious term beside a missed one."""

    doc_id: str
    spurious_id: str
    spurious_label: str
    relation: Literal["parent", "child", "sibling"]
    """What the spurious term is to the missed one."""
    missed_id: str
    missed_label: str


class Mistakes(_Model):
    """The mistakes in one view, exact matching."""

    view: str
    missed: list[Mistake]
    spurious: list[Mistake]
    near: list[NearMiss]


class DatasetFacts(_Model):
    """What was scored against."""

    name: str
    path: str
    documents: int
    annotations: int
    """As the files hold them."""
    terms: int
    """Distinct terms of the documents, added up: what recall is measured over."""
    sha256: str


class SystemFacts(_Model):
    """What was scored."""

    name: str
    settings: ExtractionSettings | None
    """Null for predictions from a file."""
    predictions: str | None
    """The file they come from."""
    sha256: str
    """Hash of the predictions."""


class Manifest(_Model):
    """How the figures came about."""

    created_at: str
    command: str | None
    ontology: str
    similarity: str
    """The formula of the soft matching."""
    seed: int
    packages: dict[str, str]
    python: str
    platform: str


class ExtractionReport(_Model):
    """Everything about one system on one dataset."""

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    manifest: Manifest
    dataset: DatasetFacts
    system: SystemFacts
    scores: dict[str, dict[str, dict[str, Score]]]
    """By view (present, any, strict), matching (exact, soft), average (micro, macro, weighted)."""
    documents: list[DocumentResult]
    mistakes: Mistakes
    notes: list[str]


def read_extraction_report(path: str | Path) -> ExtractionReport:
    """Read a report.

    Args:
        path: ``ExtractionReport.json``, or the folder that holds it.

    Raises:
        InputError: If it cannot be read, or is no such report.
    """
    file = Path(path)
    if file.is_dir():
        file = file / REPORT_FILE
    try:
        return ExtractionReport.model_validate_json(read_source(file).text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(
            f"no report of an extraction: {place + ': ' if place else ''}{first['msg'].lower()}",
            where=str(file),
            remedy="make one with: extraction run",
        ) from error


def extraction_report_schema() -> dict[str, Any]:
    """The JSON Schema of the report."""
    return ExtractionReport.model_json_schema(mode="serialization")
