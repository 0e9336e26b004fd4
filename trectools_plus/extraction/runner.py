"""Run an extraction, from a folder of documents to the report, and for several values of a setting.

The report can be made again from the gold terms and predictions beside it.

A sweep computes precision and recall for several values of one setting. The score of the best value
is too high as an estimate for new documents, because the value was chosen on the same documents.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pydantic import TypeAdapter, ValidationError

from trectools_plus.choices import View
from trectools_plus.display import Displayed, Progress, no_progress
from trectools_plus.errors import InputError, UsageError
from trectools_plus.extraction.extractor import Extractor
from trectools_plus.extraction.inputs import (
    PREDICTIONS_FILE,
    PROBLEMS,
    AnnotatedDocument,
    AnnotatedDocuments,
    Prediction,
    Predictions,
    read_documents,
    read_predictions,
    read_texts,
)
from trectools_plus.extraction.report import (
    GOLD_FILE,
    ExtractionManifest,
    ExtractionReport,
    ExtractionSettings,
    StoredDocument,
    StoredInputs,
    StoredTerm,
    SystemFacts,
    make_extraction_settings,
)
from trectools_plus.extraction.scoring import (
    FORMULA,
    count,
    exact_credit,
    score_predictions,
    scores_of,
)
from trectools_plus.extraction.words import eligible_terms, root_of
from trectools_plus.formats.files.content import iter_lines
from trectools_plus.formats.files.guards import ClosedFolder, read_document
from trectools_plus.formats.jsonl import iter_objects
from trectools_plus.models import describe_conditions, utc_now
from trectools_plus.ontology.obo import OboFile, Term
from trectools_plus.ontology.ontology import Ontology, load_ontology
from trectools_plus.statistics.arrays import MAX_RESAMPLES, Resampling, check_choice
from trectools_plus.statistics.comparison import ends_of
from trectools_plus.text import listed


@dataclass(frozen=True, slots=True)
class ExtractionOptions:
    """Further options of :func:`run_extraction`.

    Attributes:
        predictions: A file of predictions to score instead of an extraction. Only the root of the
            settings applies to them.
        intervals: Compute intervals.
        resampling: Settings of the intervals; the report contains the seed.
        command: The command line, for the report.
    """

    predictions: str | Path | None = None
    intervals: bool = True
    resampling: Resampling = field(default_factory=Resampling)
    command: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class ExtractionResult(Displayed):
    """The result of a run.

    Attributes:
        report: The figures.
        predictions: Predictions by document id, the highest score first.
        inputs: The gold terms.
    """

    report: ExtractionReport
    predictions: dict[str, list[Prediction]]
    inputs: StoredInputs


Extracted = tuple[dict[str, list[Prediction]], list[str]]
"""Predictions by the name of each text, the highest score first; and a note on texts in a language
whose negations are not known, which have none."""


def run_extraction(
    folder: str | Path,
    *,
    dataset: str | None = None,
    ontology: str | Path | None = None,
    settings: ExtractionSettings | None = None,
    options: ExtractionOptions | None = None,
    progress: Progress = no_progress,
) -> ExtractionResult:
    """Extract terms from annotated documents, or read another system's predictions, and score them.

    Args:
        folder: The folder of the documents; see
            :func:`trectools_plus.extraction.inputs.read_documents`.
        dataset: The name of the sub-folder to read; all datasets of the folder if ``None``.
        ontology: An OBO file; the installed Human Phenotype Ontology if ``None``.
        settings: Settings of the extraction; the defaults if ``None``.
        options: Predictions and intervals.
        progress: Called after each document.

    Returns:
        The report with all scores, and the predictions.

    Raises:
        MissingExtraError: If no ontology is given and the extra ``hpo`` is not installed.
        InputError: If a file cannot be read.
        FormatError: If a file is malformed.
        UsageError: If an option is out of range.
    """
    options = options or ExtractionOptions()
    loaded = load_ontology(ontology)
    root = root_of(loaded, settings.root if settings else None)
    documents = read_documents(folder, loaded, dataset)
    if options.predictions is None:
        extractor = Extractor(loaded, settings, progress=progress)
        predictions, notes = extract_all(extractor, documents.texts, progress)
        used = extractor.settings
        facts: dict[str, Any] = {"name": used.method, "settings": used, "predictions": None}
    else:
        file = options.predictions
        read = read_predictions(file, [*documents.texts], loaded, documents.terms)
        predictions = read.by_document
        notes = [
            f"{PROBLEMS[problem]}: {len(ids)} ({listed(sorted({*ids}))})"
            for problem, ids in read.problems.items()
            if ids
        ]
        problems = {problem: len(ids) for problem, ids in read.problems.items()}
        facts = {
            "name": Path(file).name,
            "settings": None,
            "predictions": str(file),
            "problems": problems,
        }
    manifest = ExtractionManifest(
        **describe_conditions(utc_now()),
        command=options.command,
        ontology=loaded.version or loaded.path,
        similarity=FORMULA,
        root=root,
        seed=options.resampling.seed,
        resampling=options.resampling if options.intervals else None,
    )
    report = score_predictions(
        documents, predictions, loaded, SystemFacts(**facts, sha256=_hash(predictions)), manifest
    )
    report.reported[:0] = notes
    predicted = {prediction.term_id for own in predictions.values() for prediction in own}
    depths = loaded.hierarchy.depths
    deepest = {loaded.ids.live[int(depths.argmax())]} if len(loaded) else set()
    named = {*documents.terms, *predicted, *deepest, *filter(None, [root])}
    kept = frozenset[str]().union(*map(loaded.ancestors, named & loaded.terms.keys()))
    inputs = StoredInputs(
        dataset=documents.name,
        annotations=documents.annotations,
        documents=[
            StoredDocument(doc_id=document.doc_id, gold=document.gold)
            for document in documents.documents
        ],
        terms=[
            StoredTerm(
                id=term_id, name=loaded.terms[term_id].name, parents=list(loaded.parents[term_id])
            )
            for term_id in sorted(kept)
        ],
    )
    return ExtractionResult(report, predictions, inputs)


def extract_texts(
    path: str | Path,
    *,
    ontology: str | Path | None = None,
    settings: ExtractionSettings | None = None,
    progress: Progress = no_progress,
) -> Extracted | None:
    """Extract the terms of texts without annotations, which are not scored.

    Args:
        path: A text file, a folder of them, or ``-`` for standard input.
        ontology: An OBO file; the installed Human Phenotype Ontology if ``None``.
        settings: Settings of the extraction; the defaults if ``None``.
        progress: Called after each text.

    Returns:
        The terms; ``None`` if the path has annotated documents instead.

    Raises:
        MissingExtraError: If no ontology is given and the extra ``hpo`` is not installed.
        InputError: If a file cannot be read.
    """
    texts = read_texts(path)
    if texts is None:
        return None
    return extract_all(
        Extractor(load_ontology(ontology), settings, progress=progress), texts, progress
    )


def extract_all(
    extractor: Extractor, texts: Mapping[str, str], progress: Progress = no_progress
) -> Extracted:
    """Extract the terms of every text."""
    predictions, unread = {}, list[str]()
    for number, (doc_id, text) in enumerate(texts.items(), 1):
        predictions[doc_id] = extractor.extract(text)
        if not extractor.languages_of(text):
            unread.append(doc_id)
        progress("extracting terms", number, len(texts))
    note = (
        "documents in a language whose negations are not known (not extracted; --language names "
        f"another one): {len(unread)} ({listed(unread)})"
    )
    return predictions, [note] if unread else []


def _hash(predictions: Predictions) -> str:
    lines = [
        f"{doc_id}\0{prediction.term_id}\0{prediction.assertion}\0{prediction.score!r}\n"
        for doc_id, own in predictions.items()
        for prediction in own
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


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
        return _rebuild(
            files, StoredInputs.model_validate_json(read_document(files.file(GOLD_FILE))), report
        )
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
    terms = [Term(term.id, term.name, parents=tuple(term.parents)) for term in stored.terms]
    ontology = Ontology(OboFile(GOLD_FILE, "", tuple(terms)))
    documents = AnnotatedDocuments(
        stored.dataset,
        old.path,
        tuple(
            AnnotatedDocument(document.doc_id, "", document.gold) for document in stored.documents
        ),
        annotations=stored.annotations,
        sha256=old.sha256,
        notes=(),
    )
    predictions: dict[str, list[Prediction]] = {doc_id: [] for doc_id in documents.texts}
    path, prediction = files.file(PREDICTIONS_FILE), TypeAdapter(Prediction)
    for _, record in iter_objects(iter_lines(path), str(path)):
        doc_id, term_id = record.pop("doc_id"), record.pop("hpo_id")
        predictions[doc_id].append(prediction.validate_python({"term_id": term_id, **record}))
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


SYSTEMS: dict[str, dict[str, Any]] = {
    "both": {"method": "both"},
    "dictionary": {"method": "dictionary"},
    "retrieval": {"method": "retrieval"},
    "unverified": {"method": "retrieval", "verify": False},
}
"""The systems of a sweep, with their settings."""

DEFAULT_VALUES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_VIEW: View = "present"
_PARAMETER = "min_confidence"


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """The scores of one system with one value of the setting: micro, exact matching.

    Attributes:
        value: The value of the setting.
        precision: Precision over all documents.
        recall: Recall over all documents.
        f1: F1 over all documents.
        low: Lower end of the interval of F1; ``None`` without one.
        high: Upper end of the interval.
        is_default: True if the value is the default of the setting.
    """

    value: float
    precision: float
    recall: float
    f1: float
    low: float | None
    high: float | None
    is_default: bool


@dataclass(frozen=True, slots=True)
class SweepCurve:
    """The scores of one system with all values.

    Attributes:
        system: The name of the system in ``SYSTEMS``.
        points: The scores in the order of the values.
    """

    system: str
    points: tuple[SweepPoint, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Sweep(Displayed):
    """The result of a sweep.

    Attributes:
        dataset: The name of the dataset.
        documents: The number of its documents.
        parameter: The name of the setting that varied.
        view: The terms that count: ``present``.
        curves: One curve per system.
    """

    _entries: ClassVar = "curves"

    dataset: str
    documents: int
    parameter: str
    view: View
    curves: tuple[SweepCurve, ...]


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """The systems and values of a sweep, and the options of scoring.

    Attributes:
        systems: Names in ``SYSTEMS``.
        values: The values of ``min_confidence``.
        resampling: Settings of the intervals.
    """

    systems: Sequence[str] = tuple(SYSTEMS)
    values: Sequence[float] = DEFAULT_VALUES
    resampling: Resampling = field(default_factory=Resampling)


def sweep_extraction(
    folder: str | Path,
    *,
    dataset: str | None = None,
    ontology: str | Path | None = None,
    settings: ExtractionSettings | None = None,
    options: SweepOptions | None = None,
    progress: Progress = no_progress,
) -> Sweep:
    """Extract terms and score them with every value of a setting.

    Args:
        folder: The folder of the documents, as in
            :func:`trectools_plus.extraction.runner.run_extraction`.
        dataset: The name of the sub-folder to read; all datasets of the folder if ``None``.
        ontology: An OBO file; the installed Human Phenotype Ontology if ``None``.
        settings: All other settings; the defaults if ``None``. The root also applies to the gold
            terms.
        options: Systems and values; the defaults if ``None``.
        progress: Called after each document.

    Returns:
        Precision, recall and F1 of each system by value of the setting.

    Raises:
        UsageError: If a system, setting or value is unknown or out of range.
        InputError: If a file cannot be read.
        FormatError: If a file is malformed.
    """
    options = options or SweepOptions()
    for system in options.systems:
        check_choice(system, SYSTEMS, "system")
    if not (options.systems and options.values):
        raise UsageError(
            "no system or value is given", where="--systems, --values", remedy="write --values 0.3"
        )
    base = (settings or ExtractionSettings()).model_dump()
    loaded = load_ontology(ontology)
    documents = read_documents(folder, loaded, dataset)
    if (root := root_of(loaded, str(base["root"]))) is not None:
        documents = documents.below(eligible_terms(loaded, root))
    curves = list[SweepCurve]()
    for system in options.systems:
        chosen = {**base, **SYSTEMS[system]}
        extractor = Extractor(loaded, make_extraction_settings(chosen), progress=progress)
        points = []
        for value in options.values:
            # The extractor stores the mentions of every confidence.
            extractor.settings = make_extraction_settings({**chosen, _PARAMETER: value})
            predictions, _ = extract_all(extractor, documents.texts, progress)
            table = count(documents.documents, predictions, _VIEW, exact_credit)
            score = scores_of(table, options.resampling)["micro"]
            figures = score.precision.value, score.recall.value, score.f1.value
            default = ExtractionSettings.model_fields[_PARAMETER].default
            points.append(SweepPoint(value, *figures, *ends_of(score.f1.ci), value == default))
        curves.append(SweepCurve(system, tuple(points)))
    return Sweep(documents.name, len(documents.documents), _PARAMETER, _VIEW, tuple(curves))
