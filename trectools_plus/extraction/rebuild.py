"""Make the report of an extraction again, from the gold terms and predictions beside it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from trectools_plus.errors import InputError
from trectools_plus.extraction.inputs import (
    PREDICTIONS_FILE,
    AnnotatedDocument,
    AnnotatedDocuments,
    Prediction,
)
from trectools_plus.extraction.report import GOLD_FILE, ExtractionReport, StoredInputs
from trectools_plus.extraction.runner import ExtractionResult
from trectools_plus.extraction.scoring import FORMULA, score_predictions
from trectools_plus.formats.files.closed import ClosedFolder, read_document
from trectools_plus.formats.files.content import iter_lines
from trectools_plus.formats.jsonl import iter_objects
from trectools_plus.ontology.obo import OboFile, Term
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.statistics.arrays import MAX_RESAMPLES


def rebuild_extraction(path: Path, report: ExtractionReport) -> ExtractionResult:
    """Make a report again from the files beside it.

    Args:
        path: The report's file.
        report: The report.

    Returns:
        The result. Statements on the original files, the settings and the machine are those of the
        report.

    Raises:
        InputError: If a file is missing or cannot be used.
    """
    files = ClosedFolder(path.parent)
    try:
        stored = StoredInputs.model_validate_json(read_document(files.file(GOLD_FILE)))
        return _rebuild(files, stored, report)
    except (ValidationError, LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"the inputs of the report cannot be used: {str(error).splitlines()[0]}",
            where=str(files.path),
            remedy="keep the files of one extraction together",
        ) from error


def _rebuild(
    files: ClosedFolder, stored: StoredInputs, report: ExtractionReport
) -> ExtractionResult:
    old, manifest, resampling = report.dataset, report.manifest, report.manifest.resampling
    if resampling is not None and resampling.resamples > MAX_RESAMPLES:
        raise ValueError(f"more than {MAX_RESAMPLES:,} resamples")
    terms = [Term(one.id, one.name, parents=tuple(one.parents)) for one in stored.terms]
    ontology = Ontology(OboFile(GOLD_FILE, "", tuple(terms)))
    documents = AnnotatedDocuments(
        stored.dataset,
        old.path,
        tuple(AnnotatedDocument(one.doc_id, "", one.gold) for one in stored.documents),
        annotations=stored.annotations,
        sha256=old.sha256,
        notes=(),
    )
    predictions = _read_predictions(files, [*documents.texts])
    settings, file = report.system.settings, report.system.predictions
    name = Path(file or "").name if settings is None else settings.method
    seed = manifest.seed if resampling is None else resampling.seed
    made = score_predictions(
        documents,
        predictions,
        ontology,
        report.system.model_copy(update={"name": name}),
        manifest.model_copy(update={"seed": seed, "similarity": FORMULA}),
    )
    dataset = made.dataset.model_copy(update={"sha256": old.sha256})
    made = made.model_copy(update={"dataset": dataset, "reported": report.reported})
    return ExtractionResult(made, predictions, stored)


def _read_predictions(files: ClosedFolder, doc_ids: Iterable[str]) -> dict[str, list[Prediction]]:
    found: dict[str, list[Prediction]] = {doc_id: [] for doc_id in doc_ids}
    path = files.file(PREDICTIONS_FILE)
    for _, record in iter_objects(iter_lines(path), str(path)):
        doc_id, term_id = record.pop("doc_id"), record.pop("hpo_id")
        found[doc_id].append(_PREDICTION.validate_python({"term_id": term_id, **record}))
    return found


_PREDICTION = TypeAdapter(Prediction)
