"""An extraction from the folder of documents to the report."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trectools_plus.extraction.documents import AnnotatedDocuments, read_documents
from trectools_plus.extraction.extractor import Extractor
from trectools_plus.extraction.predictions import Prediction, read_predictions
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
    Resampling,
    averages_of,
    bootstrap_averages,
    count,
    exact_credit,
    figures_of,
    find_mistakes,
    soft_credit,
)
from trectools_plus.extraction.settings import ExtractionSettings
from trectools_plus.ontology.hpo import load_ontology
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.progress import Progress, no_progress
from trectools_plus.provenance import describe_machine, format_time, package_versions, utc_now
from trectools_plus.retrieval.source import Retriever

_FEWEST = 2
"""Documents that intervals need."""


@dataclass(frozen=True, slots=True)
class ExtractionResult:
    """What a run gives.

    Attributes:
        report: The figures.
        predictions: Predictions by document id, the best score first.
    """

    report: ExtractionReport
    predictions: dict[str, list[Prediction]]


def run_extraction(
    folder: str | Path,
    *,
    dataset: str | None = None,
    ontology: str | Path | None = None,
    settings: ExtractionSettings | None = None,
    predictions: str | Path | None = None,
    retriever: Retriever | None = None,
    similarity: str = DEFAULT_FORMULA,
    intervals: bool = True,
    resampling: Resampling | None = None,
    command: str | None = None,
    progress: Progress = no_progress,
) -> ExtractionResult:
    """Extract terms from annotated documents, or take another system's, and score them.

    Args:
        folder: Where the documents are; see
            :func:`trectools_plus.extraction.documents.read_documents`.
        dataset: Only this sub-folder.
        ontology: An OBO file; the installed Human Phenotype Ontology when not given.
        settings: How terms are extracted.
        predictions: JSON Lines to score in place of an extraction of our own.
        retriever: Any retriever over terms, in place of the one that the settings name.
        similarity: The formula of the soft matching.
        intervals: Whether to make bootstrap intervals.
        resampling: How; also the seed that the report records.
        command: The command line, for the report.
        progress: Told of each document.

    Raises:
        MissingExtraError: If no ontology is given and the extra ``hpo`` is not installed.
        InputError: If something cannot be read.
        FormatError: If a file is wrong.
        UsageError: If an option is out of range.
    """
    loaded = load_ontology(ontology)
    documents = read_documents(folder, loaded, dataset)
    resampling = resampling or Resampling()
    if predictions is not None:
        doc_ids = [document.doc_id for document in documents.documents]
        found = read_predictions(predictions, doc_ids, loaded)
        used, name = None, Path(predictions).name
    else:
        used = settings or ExtractionSettings()
        extractor = Extractor(loaded, used, retriever=retriever, progress=progress)
        found = extract_all(extractor, documents, progress)
        name = used.method if retriever is None else f"{used.method} with {retriever.name}"
    system = SystemFacts(
        name=name,
        settings=used,
        predictions=None if predictions is None else str(predictions),
        sha256=_hash(found),
    )
    manifest = _manifest(loaded, similarity, resampling.seed, command)
    report = score_predictions(
        documents, found, loaded, system, manifest, resampling if intervals else None
    )
    return ExtractionResult(report, found)


def extract_all(
    extractor: Extractor, documents: AnnotatedDocuments, progress: Progress = no_progress
) -> dict[str, list[Prediction]]:
    """Extract the terms of every document."""
    found = {}
    for place, document in enumerate(documents.documents, 1):
        found[document.doc_id] = extractor.extract(document.text)
        progress("extracting terms", place, len(documents.documents))
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

    Args:
        documents: The gold.
        predictions: By document id.
        ontology: For the soft matching and the near misses.
        system: What made the predictions.
        manifest: How the figures came about; its ``similarity`` is the soft matching's formula.
        resampling: How intervals are made; none when ``None``, or of a single document.
    """
    asked = resampling
    resampling = None if len(documents.documents) < _FEWEST else resampling
    credit_of = {"exact": exact_credit, "soft": soft_credit(ontology, manifest.similarity)}
    tables = {
        view: {
            matching: count(documents.documents, predictions, view, credit_of[matching]).table()
            for matching in MATCHINGS
        }
        for view in VIEWS
    }
    return ExtractionReport(
        manifest=manifest,
        dataset=DatasetFacts(
            name=documents.name,
            path=documents.path,
            documents=len(documents.documents),
            annotations=documents.annotations,
            terms=sum(len(document.gold) for document in documents.documents),
            sha256=documents.sha256,
        ),
        system=system,
        scores={
            view: {matching: _scores(table, resampling) for matching, table in by.items()}
            for view, by in tables.items()
        },
        documents=[
            DocumentResult(
                doc_id=document.doc_id,
                counts={
                    view: {matching: _row(table[place]) for matching, table in by.items()}
                    for view, by in tables.items()
                },
            )
            for place, document in enumerate(documents.documents)
        ],
        mistakes=find_mistakes(documents.documents, predictions, ontology),
        notes=[*documents.notes, *_notes(predictions, asked)],
    )


def _scores(table: FloatArray, resampling: Resampling | None) -> dict[str, Score]:
    values = averages_of(table)[0]
    ends = None if resampling is None else bootstrap_averages(table, resampling)
    scores = dict[str, Score]()
    for row, average in enumerate(AVERAGES):
        figures = {}
        for column, name in enumerate(FIGURES):
            interval = None
            if ends is not None and resampling is not None:
                interval = Interval(
                    low=float(ends[0][row, column]),
                    high=float(ends[1][row, column]),
                    level=resampling.confidence,
                    resamples=resampling.resamples,
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


def _notes(
    predictions: Mapping[str, Sequence[Prediction]], resampling: Resampling | None
) -> list[str]:
    """Which documents have no predictions, and why there are no intervals."""
    notes = []
    without = [doc_id for doc_id, found in predictions.items() if not found]
    if without:
        named = ", ".join(without[:3]) + (", …" if len(without) > 3 else "")
        notes.append(
            f"documents without a prediction: {len(without)} of {len(predictions)} ({named})"
        )
    if resampling is not None and len(predictions) < _FEWEST:
        notes.append("no intervals: one document does not show how much documents differ")
    return notes


def _manifest(ontology: Ontology, similarity: str, seed: int, command: str | None) -> Manifest:
    return Manifest(
        created_at=format_time(utc_now()),
        command=command,
        ontology=ontology.version or ontology.path,
        similarity=similarity,
        seed=seed,
        packages=package_versions(),
        **describe_machine(),
    )


def _hash(predictions: Mapping[str, Sequence[Prediction]]) -> str:
    digest = hashlib.sha256()
    for doc_id, found in predictions.items():
        for one in found:
            digest.update(f"{doc_id}\0{one.term_id}\0{one.assertion}\0{one.score!r}\n".encode())
    return digest.hexdigest()
