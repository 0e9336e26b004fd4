"""The report of an extraction: the models of ``ExtractionReport.json``, schema version 1.0.

Later versions add keys; readers ignore unknown keys.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from trectools_plus.errors import InputError
from trectools_plus.extraction.inputs import Assertion
from trectools_plus.extraction.settings import ExtractionSettings
from trectools_plus.formats.files.guards import read_document
from trectools_plus.models import BaseManifest, ReportModel
from trectools_plus.statistics.arrays import Resampling
from trectools_plus.statistics.comparison import ConfidenceInterval

REPORT_FILE = "ExtractionReport.json"
GOLD_FILE = "gold.json"
"""The inputs of a report that are stored beside it, besides the predictions."""


class ExtractionFigure(ReportModel):
    """The value of precision, recall or F1, in [0, 1]."""

    value: float
    ci: ConfidenceInterval | None
    """Null if intervals were not requested, or if no interval is valid because no document changes
    the value."""


class Score(ReportModel):
    """Precision, recall and F1 of one view, matching and average."""

    precision: ExtractionFigure
    recall: ExtractionFigure
    f1: ExtractionFigure


class DocumentCounts(ReportModel):
    """The counts and figures of one document, for one view and matching."""

    credit_predicted: float
    predicted: int
    credit_gold: float
    gold: int
    precision: float
    recall: float
    f1: float


class DocumentResult(ReportModel):
    """One document."""

    doc_id: str
    counts: dict[str, dict[str, DocumentCounts]]
    """By view (present, any, strict), then matching (exact, soft)."""


class Mistake(ReportModel):
    """A missed gold term, or a predicted term that is not a gold term."""

    doc_id: str
    term_id: str
    label: str
    assertion: Assertion
    score: float | None
    """The score of the prediction; null for a missed term."""
    text: str | None
    """The text of the first mention; null if unknown."""


class Mistakes(ReportModel):
    """The mistakes in one view, with exact matching."""

    view: str
    missed: list[Mistake]
    spurious: list[Mistake]


class DatasetFacts(ReportModel):
    """The annotated documents."""

    name: str
    path: str
    documents: int
    annotations: int
    """Number of annotations in the files."""
    terms: int
    """Sum over documents of the number of distinct annotated terms that are scored; in the views
    any and strict, the denominator of micro recall."""
    outside: int = 0
    """Sum over documents of the number of annotated terms that are not below the root."""
    unmapped: int = 0
    """Number of distinct annotated ids that are not current terms of the ontology."""
    sha256: str


class SystemFacts(ReportModel):
    """The system that was scored."""

    name: str
    settings: ExtractionSettings | None
    """Null for predictions from a file."""
    predictions: str | None
    """The file with the predictions; null if this package extracted the terms."""
    sha256: str
    """Hash of the predictions."""
    problems: dict[str, int] | None = None
    """Number of predictions from a file with an id that is invented or withdrawn (these are false
    positives), or obsolete with one replacement (scored); null for an extraction."""


class ExtractionManifest(BaseManifest):
    """The conditions under which the report was created."""

    ontology: str
    similarity: str
    """The similarity formula of the soft matching."""
    resampling: Resampling | None = None
    """Settings of the intervals; null without intervals."""
    root: str | None = None
    """Only terms below this term are scored, both gold and predicted; null if all are."""


class ExtractionReport(ReportModel):
    """The results of one system on one dataset."""

    schema_version: Literal["1.0"] = "1.0"
    manifest: ExtractionManifest
    dataset: DatasetFacts
    system: SystemFacts
    scores: dict[str, dict[str, dict[str, Score]]]
    """By view (present, any, strict), matching (exact, soft), average (micro, macro, weighted)."""
    documents: list[DocumentResult]
    mistakes: Mistakes
    notes: list[str]
    """Notes on the figures."""
    reported: list[str] = Field(default_factory=list)
    """Notes on the original files."""


class StoredTerm(ReportModel):
    """A term of the ontology."""

    id: str
    name: str
    parents: list[str]


class StoredDocument(ReportModel):
    """The gold annotations of a document."""

    doc_id: str
    gold: dict[str, Assertion]
    """The assertion of each term."""


class StoredInputs(ReportModel):
    """The contents of ``gold.json``."""

    dataset: str
    """The name of the dataset."""
    annotations: int
    """The number of annotations in the files."""
    documents: list[StoredDocument]
    terms: list[StoredTerm]
    """The gold and predicted terms, the root, and a deepest term, with all their ancestors."""


def load_extraction_report(path: str | Path) -> ExtractionReport:
    """Read a report.

    Args:
        path: ``ExtractionReport.json``, or its folder.

    Raises:
        InputError: If the file cannot be read, or is not an extraction report.
    """
    file = Path(path)
    if file.is_dir():
        file = file / REPORT_FILE
    try:
        return ExtractionReport.model_validate_json(read_document(file))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(
            f"not an extraction report: {place} {first['msg'].lower()}",
            where=str(file),
            remedy="create a report with the command 'extraction run'",
        ) from error


def extraction_report_schema() -> dict[str, Any]:
    """Return the JSON Schema of the report."""
    return ExtractionReport.model_json_schema(mode="serialization")
