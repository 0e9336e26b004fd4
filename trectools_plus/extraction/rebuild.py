"""Make the report of an extraction again, from the gold terms and predictions beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from trectools_plus.errors import InputError
from trectools_plus.extraction.inputs.documents import AnnotatedDocument, AnnotatedDocuments
from trectools_plus.extraction.inputs.predictions import PREDICTIONS_FILE, Prediction
from trectools_plus.extraction.report import ExtractionReport, SystemFacts
from trectools_plus.extraction.runner import ExtractionResult, score_predictions
from trectools_plus.extraction.stored import GOLD_FILE, StoredInputs
from trectools_plus.formats.files.closed import ClosedFolder, read_document
from trectools_plus.formats.files.content import iter_lines
from trectools_plus.formats.jsonl import iter_objects
from trectools_plus.ontology.obo import OboFile, Term
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.ontology.similarity import INFORMATION_FORMULAS, formula_named
from trectools_plus.statistics.arrays import MAX_RESAMPLES


def rebuild_extraction(path: Path, report: ExtractionReport) -> tuple[ExtractionResult, bool]:
    """Make a report again from the files beside it.

    Args:
        path: The report's file.
        report: The report.

    Returns:
        The result, and whether its ontology-aware figures were made again too. Statements on the
        original files, the settings and the machine are those of the report.

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
) -> tuple[ExtractionResult, bool]:
    old, manifest = report.dataset, report.manifest
    if manifest.resampling is not None and manifest.resampling.resamples > MAX_RESAMPLES:
        raise ValueError(f"more than {MAX_RESAMPLES:,} resamples")
    terms = [Term(one.id, one.name, parents=tuple(one.parents)) for one in stored.terms]
    ontology = Ontology(OboFile(GOLD_FILE, "", tuple(terms)))
    gold_ids = {term_id for one in stored.documents for term_id in one.gold}
    documents = AnnotatedDocuments(
        stored.dataset,
        old.path,
        tuple(AnnotatedDocument(one.doc_id, "", one.gold) for one in stored.documents),
        annotations=stored.annotations,
        unmapped=len([one for one in gold_ids if one not in ontology]),
        sha256=old.sha256,
        notes=(),
    )
    predictions = _read_predictions(files, [one.doc_id for one in stored.documents])
    made = score_predictions(
        documents,
        predictions,
        ontology,
        _describe_system(report.system),
        manifest.model_copy(
            update={"seed": manifest.resampling.seed if manifest.resampling else manifest.seed}
        ),
    )
    texts = {one.doc_id: one.texts for one in stored.documents}
    spurious = [
        one.model_copy(update={"text": texts[one.doc_id].get(one.term_id)})
        for one in made.mistakes.spurious
    ]
    changes = {
        "dataset": made.dataset.model_copy(update={"sha256": old.sha256}),
        "mistakes": made.mistakes.model_copy(update={"spurious": spurious}),
        "reported": report.reported,
    }
    is_soft_known = formula_named(manifest.similarity) not in INFORMATION_FORMULAS
    return ExtractionResult(made.model_copy(update=changes), predictions, stored), is_soft_known


def _describe_system(old: SystemFacts) -> SystemFacts:
    """Return the description with a name that follows from the file or the settings."""
    if old.settings is None:
        return old.model_copy(update={"name": Path(old.predictions or "").name})
    method = old.settings.method
    is_replaced = re.fullmatch(rf"{re.escape(method)} with \S{{1,60}}", old.name)
    return old if is_replaced else old.model_copy(update={"name": method})


def _read_predictions(files: ClosedFolder, doc_ids: Iterable[str]) -> dict[str, list[Prediction]]:
    found: dict[str, list[Prediction]] = {doc_id: [] for doc_id in doc_ids}
    path = files.file(PREDICTIONS_FILE)
    for _, record in iter_objects(iter_lines(path), str(path)):
        score, count = float(record["score"]), int(record["count"])
        spans = tuple((int(start), int(end)) for start, end in record["spans"])
        term_id, label = str(record["hpo_id"]), str(record["label"])
        prediction = Prediction(term_id, record["assertion"], score, count, spans, label)
        found[str(record["doc_id"])].append(prediction)
    return found
