"""Sweep one setting: compute precision and recall for several values.

The score of the best value is too high as an estimate for new documents, because the value was
chosen on the same documents. So each document is also scored with the value that is best on the
others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trectools_plus.choices import View
from trectools_plus.display import Displayed, TextTable, as_cell
from trectools_plus.errors import UsageError
from trectools_plus.extraction.documents import read_documents
from trectools_plus.extraction.extractor import Extractor
from trectools_plus.extraction.names import eligible_terms, root_of
from trectools_plus.extraction.runner import extract_all
from trectools_plus.extraction.scoring import (
    FloatArray,
    averages_of,
    bootstrap_averages,
    count,
    exact_credit,
    figures_of,
)
from trectools_plus.extraction.settings import ExtractionSettings, make_extraction_settings
from trectools_plus.ontology.hpo import load_ontology
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.progress import Progress, no_progress
from trectools_plus.statistics.arrays import Resampling
from trectools_plus.text import plural

SYSTEMS: dict[str, dict[str, Any]] = {
    "both": {"method": "both"},
    "dictionary": {"method": "dictionary"},
    "retrieval": {"method": "retrieval"},
    "unverified": {"method": "retrieval", "verify": False},
}
"""The systems of a sweep, with their settings."""

DEFAULT_PARAMETER = "min_confidence"
DEFAULT_VALUES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_PARAMETERS = (
    "min_confidence",
    "chunk_threshold",
    "num_results",
    "max_gap",
    "min_depth",
    "shortest_abbreviation",
)


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
class LeaveOneOut:
    """The scores if each document is processed with the value that is best on all others.

    Attributes:
        precision: Micro precision over the documents.
        recall: Micro recall.
        f1: Micro F1: an estimate for new documents if the value is chosen on these documents.
        chosen: The number of documents for which each value was chosen.
    """

    precision: float
    recall: float
    f1: float
    chosen: dict[float, int]


@dataclass(frozen=True, slots=True)
class SweepCurve:
    """The scores of one system with all values.

    Attributes:
        system: The name of the system in ``SYSTEMS``.
        points: The scores in the order of the values.
        left_out: The leave-one-out scores; ``None`` for fewer than two documents.
    """

    system: str
    points: tuple[SweepPoint, ...]
    left_out: LeaveOneOut | None


@dataclass(frozen=True, slots=True, repr=False)
class Sweep(Displayed):
    """The result of a sweep.

    Attributes:
        dataset: The name of the dataset.
        documents: The number of its documents.
        parameter: The name of the setting that varied.
        view: ``present``, ``any`` or ``strict``.
        curves: One curve per system.
    """

    dataset: str
    documents: int
    parameter: str
    view: View
    curves: tuple[SweepCurve, ...]

    def _content(self) -> TextTable:
        rows = [
            [curve.system, *map(as_cell, (one.value, one.precision, one.recall, one.f1))]
            for curve in self.curves
            for one in curve.points
        ]
        caption = f"{self.parameter}: {self.dataset}, {plural(self.documents, 'document')}"
        return TextTable.of(["System", "Value", "Precision", "Recall", "F1"], rows, caption=caption)


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """The systems and values of a sweep, and the options of scoring.

    Attributes:
        systems: Names in ``SYSTEMS``, each once.
        parameter: The name of a numeric setting.
        values: The values of the setting, each once.
        view: ``present``, ``any`` or ``strict``.
        resampling: Settings of the intervals.
    """

    systems: Sequence[str] = tuple(SYSTEMS)
    parameter: str = DEFAULT_PARAMETER
    values: Sequence[float] = DEFAULT_VALUES
    view: View = "present"
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
        progress: Called after every value.

    Returns:
        Precision, recall and F1 of each system by value of the setting.

    Raises:
        UsageError: If a system, setting or value is unknown, repeated or out of range.
        InputError: If a file cannot be read.
        FormatError: If a file is malformed.
    """
    options = options or SweepOptions()
    _check(options)
    base = (settings or ExtractionSettings()).model_dump()
    plans = {
        system: [
            make_extraction_settings(
                {**base, **SYSTEMS[system], options.parameter: value},
                {options.parameter: "--values"},
            )
            for value in options.values
        ]
        for system in options.systems
    }
    loaded = load_ontology(ontology)
    documents = read_documents(folder, loaded, dataset)
    root = root_of(loaded, str(base["root"]))
    if root is not None:
        documents = documents.below(eligible_terms(loaded, root))
    curves, done = [], 0
    for system, plan in plans.items():
        tables = []
        for extractor in _extractors(loaded, plan, progress):
            found = extract_all(extractor, documents)
            tables.append(count(documents.documents, found, options.view, exact_credit))
            done += 1
            progress("trying values", done, len(options.systems) * len(options.values))
        curves.append(_curve(system, options, tables))
    size = len(documents.documents)
    return Sweep(documents.name, size, options.parameter, options.view, tuple(curves))


def _check(options: SweepOptions) -> None:
    if not options.systems:
        raise UsageError(
            "no system is given", where="--systems", remedy=f"expected some of {', '.join(SYSTEMS)}"
        )
    for where, given, known in (
        ("--systems", options.systems, tuple(SYSTEMS)),
        ("--parameter", [options.parameter], _PARAMETERS),
    ):
        unknown = [name for name in given if name not in known]
        if unknown:
            raise UsageError(
                f"unknown name '{unknown[0]}'", where=where, remedy=f"expected {', '.join(known)}"
            )
    if not options.values:
        raise UsageError("no value is given", where="--values", remedy="write --values 0.3,0.5")
    for what, items in (("system", options.systems), ("value", options.values)):
        if len(set(items)) < len(items):
            raise UsageError(f"a {what} is given twice", remedy=f"name each {what} once")


def _extractors(
    ontology: Ontology, plan: Sequence[ExtractionSettings], progress: Progress
) -> Iterator[Extractor]:
    """Yield an extractor for each settings object.

    If only ``min_confidence`` differs from the previous settings, index and mentions are reused.
    """
    latest: Extractor | None = None
    for settings in plan:
        if latest is not None and latest.settings == settings.model_copy(
            update={"min_confidence": latest.settings.min_confidence}
        ):
            latest = latest.at_confidence(settings.min_confidence)
        else:
            latest = Extractor(ontology, settings, progress=progress, remember=True)
        yield latest


def _curve(system: str, options: SweepOptions, tables: Sequence[FloatArray]) -> SweepCurve:
    default = ExtractionSettings.model_fields[options.parameter].default
    points = []
    for value, table in zip(options.values, tables, strict=True):
        precision, recall, f1 = averages_of(table)[0, 0].tolist()
        low = high = None
        if len(table) > 1:
            ends = bootstrap_averages(table, options.resampling)
            low, high = (None if np.isnan(end[0, 2]) else float(end[0, 2]) for end in ends)
        points.append(SweepPoint(value, precision, recall, f1, low, high, value == default))
    return SweepCurve(system, tuple(points), leave_one_out(options.values, tables))


def leave_one_out(values: Sequence[float], tables: Sequence[FloatArray]) -> LeaveOneOut | None:
    """Score every document with the value that has the highest micro F1 on the other documents.

    If values are equally good, the first is used.

    Args:
        values: The values.
        tables: Counts with each value, shape (n_documents, 4).

    Returns:
        ``None`` for fewer than two documents.
    """
    stacked = np.stack(tables)
    documents = stacked.shape[1]
    if documents < 2:
        return None
    others = stacked.sum(axis=1, keepdims=True) - stacked
    best = figures_of(others)[..., 2].argmax(axis=0)
    total = stacked[best, np.arange(documents)].sum(axis=0)
    precision, recall, f1 = figures_of(total).tolist()
    chosen = Counter(values[index] for index in best.tolist())
    return LeaveOneOut(precision, recall, f1, dict(sorted(chosen.items())))
