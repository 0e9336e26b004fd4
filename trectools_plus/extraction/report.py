"""The settings of an extraction, and its report: the models of ``ExtractionReport.json``.

The schema version is 1.0. Later versions add keys; readers ignore unknown keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field, ValidationError, model_validator

from trectools_plus.errors import InputError
from trectools_plus.extraction.words import Assertion
from trectools_plus.formats.files.guards import read_document
from trectools_plus.models import BaseManifest, Model, ReportModel
from trectools_plus.retrieval.setting_types import Option, make_model, setting
from trectools_plus.statistics.arrays import Resampling
from trectools_plus.statistics.comparison import ConfidenceInterval

RETRIEVAL = "Retrieval"
"""A panel of the help."""
OF_RETRIEVAL = frozenset({"retriever", "num_results", "chunk_threshold", "top_term_only", "verify"})
"""Settings that the method ``dictionary`` does not use."""


class ExtractionSettings(Model):
    """Settings of an extraction; every report contains them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    method: Literal["dictionary", "retrieval", "both"] = setting(
        "dictionary",
        "Find terms with a dictionary of their names, with retrieval, or with both: retrieval adds "
        "mentions where the dictionary found none, and never replaces one.",
        Option(default="dictionary; both if an option of retrieval is given"),
    )
    retriever: Literal["lexical", "vector", "hybrid"] = setting(
        "vector",
        "Search that finds names of terms for a phrase: lexical, vector or hybrid.",
        Option("NAME", RETRIEVAL),
    )
    num_results: int = setting(
        10, "Number of names to retrieve per chunk.", Option("N", RETRIEVAL), ge=1, le=1000
    )
    chunk_threshold: float = setting(
        0.5,
        "Drop names with a lower retrieval score.",
        Option("SCORE", RETRIEVAL, default="0.5 (cosine); 0 for lexical and hybrid"),
        ge=0,
        allow_inf_nan=False,
    )
    min_confidence: float = setting(
        0.5,
        "Drop mentions with a lower confidence, between 0 and 1. At 0.5, a mention is as likely to "
        "be correct as to be wrong.",
        Option("NUMBER"),
        ge=0,
        le=1,
    )
    top_term_only: bool = setting(
        False, "Keep only the first retrieved term of each chunk.", Option(panel=RETRIEVAL)
    )
    verify: bool = setting(
        True,
        "Keep a result only if words of the chunk match a name of the term, with at most one word "
        "replaced by a word that the ontology uses interchangeably.",
        Option(
            panel=RETRIEVAL,
            names="--unverified",
            help="Accept every retrieved name without checking it word by word.",
            constant=False,
        ),
    )
    style: Literal["abstract", "notes"] = setting(
        "abstract",
        "Style of the texts: notes also finds abbreviations, lay words and values, and findings in "
        "German, French, Spanish and Dutch. It suits letters and finds more wrong terms elsewhere.",
        Option(),
    )
    language: Literal["", "en", "de", "fr", "es", "nl"] = setting(
        "",
        "Language of the texts, as ISO 639-1 code.",
        Option("CODE", default="recognised for each text"),
    )
    root: str = setting(
        "",
        "Extract and score only terms below this term, in predictions and gold.",
        Option("ID", default="HP:0000118, Phenotypic abnormality, if the ontology has it"),
    )

    @model_validator(mode="before")
    @classmethod
    def _set_defaults(cls, values: Any) -> Any:
        """Set the method if only settings of retrieval are given, and the threshold."""
        if not isinstance(values, dict):
            return values
        defaults = dict[str, Any]()
        if not OF_RETRIEVAL.isdisjoint(values):
            defaults["method"] = "both"
        if values.get("retriever") in ("lexical", "hybrid"):
            defaults["chunk_threshold"] = 0.0
        return {**defaults, **values}


def make_extraction_settings(values: Mapping[str, object]) -> ExtractionSettings:
    """Build settings from a user's values.

    Args:
        values: Values by the names of the settings.

    Raises:
        UsageError: If a name is unknown or a value is out of range.
    """
    return make_model(ExtractionSettings, values)


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
