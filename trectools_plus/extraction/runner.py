"""Run an extraction: from a folder of documents to the report."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path

from trectools_plus.display import Displayed, TextTable
from trectools_plus.extraction.documents import AnnotatedDocuments, read_documents
from trectools_plus.extraction.extractor import Extractor
from trectools_plus.extraction.names import eligible_terms, root_of
from trectools_plus.extraction.predictions import Prediction, Predictions, read_predictions
from trectools_plus.extraction.report import (
    DatasetFacts,
    DocumentCounts,
    DocumentResult,
    ExtractionReport,
    Figure,
    Interval,
    Manifest,
    Score,
    SystemFacts,
)
from trectools_plus.extraction.scoring import (
    AVERAGES,
    DEFAULT_FORMULA,
    FIGURES,
    MATCHINGS,
    VIEWS,
    FloatArray,
    averages_of,
    bootstrap_averages,
    count,
    exact_credit,
    figures_of,
    find_mistakes,
    method_over_documents,
    soft_credit,
)
from trectools_plus.extraction.settings import ExtractionSettings
from trectools_plus.ontology.hpo import load_ontology
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.progress import Progress, no_progress
from trectools_plus.provenance import describe_machine, format_time, package_versions, utc_now
from trectools_plus.retrieval.source import Retriever
from trectools_plus.statistics.arrays import Resampling
from trectools_plus.statistics.intervals import METHOD_NAMES, RESAMPLED

_MIN_DOCUMENTS = 2
"""The minimum number of documents for intervals."""


@dataclass(frozen=True, slots=True)
class ExtractionOptions:
    """Further options of :func:`run_extraction`.

    Attributes:
        predictions: A file of predictions to score instead of an extraction. Only the root of the
            settings applies to them.
        retriever: A retriever over terms that replaces the one of the settings.
        similarity: The similarity formula of the soft matching.
        intervals: Compute intervals.
        resampling: Settings of the intervals; the report contains the seed.
        command: The command line, for the report.
    """

    predictions: str | Path | None = None
    retriever: Retriever | None = None
    similarity: str = DEFAULT_FORMULA
    intervals: bool = True
    resampling: Resampling = field(default_factory=Resampling)
    command: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class ExtractionResult(Displayed):
    """The result of a run.

    Attributes:
        report: The figures.
        predictions: Predictions by document id, the highest score first.
    """

    report: ExtractionReport
    predictions: dict[str, list[Prediction]]

    def _content(self) -> TextTable:
        return self.report._content()


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
            :func:`trectools_plus.extraction.documents.read_documents`.
        dataset: The name of the sub-folder to read; all datasets of the folder if ``None``.
        ontology: An OBO file; the installed Human Phenotype Ontology if ``None``.
        settings: Settings of the extraction; the defaults if ``None``.
        options: Predictions, retriever, similarity and intervals.
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
    if options.predictions is not None:
        doc_ids = [document.doc_id for document in documents.documents]
        found = read_predictions(options.predictions, doc_ids, loaded)
        used, name = None, Path(options.predictions).name
    else:
        used, retriever = settings or ExtractionSettings(), options.retriever
        extractor = Extractor(loaded, used, retriever=retriever, progress=progress)
        found = extract_all(extractor, documents, progress)
        name = used.method if retriever is None else f"{used.method} with {retriever.name}"
    system = SystemFacts(
        name=name,
        settings=used,
        predictions=None if options.predictions is None else str(options.predictions),
        sha256=_hash(found),
    )
    manifest = Manifest(
        created_at=format_time(utc_now()),
        command=options.command,
        ontology=loaded.version or loaded.path,
        similarity=options.similarity,
        root=root,
        seed=options.resampling.seed,
        packages=package_versions(),
        **describe_machine(),
    )
    resampling = options.resampling if options.intervals else None
    report = score_predictions(documents, found, loaded, system, manifest, resampling)
    return ExtractionResult(report, found)


def extract_all(
    extractor: Extractor, documents: AnnotatedDocuments, progress: Progress = no_progress
) -> dict[str, list[Prediction]]:
    """Extract the terms of every document."""
    found = {}
    for number, document in enumerate(documents.documents, 1):
        found[document.doc_id] = extractor.extract(document.text)
        progress("extracting terms", number, len(documents.documents))
    return found


def score_predictions(
    documents: AnnotatedDocuments,
    predictions: Mapping[str, Sequence[Prediction]],
    ontology: Ontology,
    system: SystemFacts,
    manifest: Manifest,
    resampling: Resampling | None,
) -> ExtractionReport:
    """Score predictions in every view, matching and average.

    If the manifest has a root, only gold and predicted terms below it are scored; the report also
    has the scores of all terms.

    Args:
        documents: The documents with their gold terms.
        predictions: Predictions by document id.
        ontology: The ontology, for soft matching and near misses.
        system: The description of the system that made the predictions.
        manifest: The manifest; its ``similarity`` is the formula of the soft matching, and its
            ``root`` the term below which terms are scored.
        resampling: Settings of the intervals. There are no intervals if this is ``None``, or for a
            single document.
    """
    notes = [*documents.notes, *_notes(predictions, resampling is not None)]
    if len(documents.documents) < _MIN_DOCUMENTS:
        resampling = None
    credit_of = {"exact": exact_credit, "soft": soft_credit(ontology, manifest.similarity)}

    def count_all(gold: AnnotatedDocuments, found: Predictions) -> _Tables:
        return {
            view: {
                matching: count(gold.documents, found, view, credit_of[matching])
                for matching in MATCHINGS
            }
            for view in VIEWS
        }

    scored, found = documents, predictions
    if manifest.root is not None:
        terms = eligible_terms(ontology, manifest.root)
        scored = documents.below(terms)
        found = {
            doc_id: [one for one in ones if one.term_id in terms]
            for doc_id, ones in predictions.items()
        }
    tables = count_all(scored, found)
    return ExtractionReport(
        manifest=manifest,
        dataset=DatasetFacts(
            name=documents.name,
            path=documents.path,
            documents=len(documents.documents),
            annotations=documents.annotations,
            terms=_number_of_terms(scored),
            outside=_number_of_terms(documents) - _number_of_terms(scored),
            unmapped=documents.unmapped,
            sha256=scored.sha256,
        ),
        system=system,
        scores=_all_scores(tables, resampling),
        unfiltered=None
        if manifest.root is None
        else _all_scores(count_all(documents, predictions), resampling),
        documents=[
            DocumentResult(
                doc_id=document.doc_id,
                counts={
                    view: {matching: _row(table[index]) for matching, table in by_matching.items()}
                    for view, by_matching in tables.items()
                },
            )
            for index, document in enumerate(scored.documents)
        ],
        mistakes=find_mistakes(scored.documents, found, ontology),
        notes=notes,
    )


_Tables = dict[str, dict[str, FloatArray]]
"""Counts by view and matching."""


def _number_of_terms(documents: AnnotatedDocuments) -> int:
    return sum(len(document.gold) for document in documents.documents)


def _all_scores(
    tables: _Tables, resampling: Resampling | None
) -> dict[str, dict[str, dict[str, Score]]]:
    return {
        view: {matching: _scores(table, resampling) for matching, table in by_matching.items()}
        for view, by_matching in tables.items()
    }


def _scores(table: FloatArray, resampling: Resampling | None) -> dict[str, Score]:
    values = averages_of(table)[0]
    ends = values, values
    if resampling is not None:
        ends = bootstrap_averages(table, resampling)
    scores = dict[str, Score]()
    for row, average in enumerate(AVERAGES):
        figures = {}
        for column, name in enumerate(FIGURES):
            interval = None
            if resampling is not None and not isnan(ends[0][row, column]):
                method = method_over_documents(resampling.interval)
                interval = Interval(
                    low=float(ends[0][row, column]),
                    high=float(ends[1][row, column]),
                    level=resampling.confidence,
                    resamples=resampling.resamples if method in RESAMPLED else 0,
                    method=METHOD_NAMES[method],
                )
            figures[name] = Figure(value=float(values[row, column]), ci=interval)
        scores[average] = Score(**figures)
    return scores


def _row(counts: FloatArray) -> DocumentCounts:
    precision, recall, f1 = figures_of(counts).tolist()
    return DocumentCounts(
        credit_predicted=float(counts[0]),
        predicted=int(counts[1]),
        credit_gold=float(counts[2]),
        gold=int(counts[3]),
        precision=precision,
        recall=recall,
        f1=f1,
    )


def _notes(predictions: Mapping[str, Sequence[Prediction]], intervals: bool) -> list[str]:
    """Return notes on documents without predictions and on missing intervals."""
    notes = []
    without = [doc_id for doc_id, found in predictions.items() if not found]
    if without:
        named = ", ".join(without[:3]) + (", …" if len(without) > 3 else "")
        notes.append(
            f"documents without a prediction: {len(without)} of {len(predictions)} ({named})"
        )
    if intervals and len(predictions) < _MIN_DOCUMENTS:
        notes.append("no intervals: they need at least two documents")
    return notes


def _hash(predictions: Mapping[str, Sequence[Prediction]]) -> str:
    digest = hashlib.sha256()
    for doc_id, found in predictions.items():
        for one in found:
            digest.update(f"{doc_id}\0{one.term_id}\0{one.assertion}\0{one.score!r}\n".encode())
    return digest.hexdigest()
