"""Precision against recall while one setting varies, and what choosing it would really give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trectools_plus.choices import View
from trectools_plus.errors import UsageError
from trectools_plus.extraction.counting import FloatArray, count, exact_credit
from trectools_plus.extraction.documents import read_documents
from trectools_plus.extraction.extractor import Extractor
from trectools_plus.extraction.runner import extract_all
from trectools_plus.extraction.scores import (
    Resampling,
    averages_of,
    bootstrap_averages,
    figures_of,
)
from trectools_plus.extraction.settings import ExtractionSettings, make_extraction_settings
from trectools_plus.ontology.hpo import load_ontology
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.progress import Progress, no_progress

SYSTEMS: dict[str, dict[str, Any]] = {
    "both": {"method": "both"},
    "dictionary": {"method": "dictionary"},
    "retrieval": {"method": "retrieval"},
    "unverified": {"method": "retrieval", "verify": False},
}
"""What can be swept, by name: the settings that make it."""

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
    """One system at one value of the setting; micro figures with exact matching.

    Attributes:
        value: The setting's value.
        precision: Over all documents.
        recall: Over all documents.
        f1: Over all documents.
        low: Lower end of the interval of F1, over documents; ``None`` for a single document.
        high: Upper end.
        is_default: Whether the value is the setting's default.
    """

    value: float
    precision: float
    recall: float
    f1: float
    low: float | None
    high: float | None
    is_default: bool


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Every document scored with the value that was best on all others.

    Attributes:
        precision: Micro, over the documents so scored.
        recall: Likewise.
        f1: Likewise: what choosing the value on such documents gives on one not seen.
        chosen: How many documents each value was chosen for.
    """

    precision: float
    recall: float
    f1: float
    chosen: dict[float, int]


@dataclass(frozen=True, slots=True)
class SweepCurve:
    """One system over all values.

    Attributes:
        system: A name of ``SYSTEMS``.
        points: In the order of the values.
        left_out: ``None`` for fewer than two documents.
    """

    system: str
    points: tuple[SweepPoint, ...]
    left_out: LeftOut | None


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a sweep found.

    Attributes:
        dataset: The dataset's name.
        documents: How many documents it has.
        parameter: The setting that varied.
        view: What counted.
        curves: One per system.
    """

    dataset: str
    documents: int
    parameter: str
    view: View
    curves: tuple[SweepCurve, ...]


def run_sweep(
    folder: str | Path,
    *,
    dataset: str | None = None,
    ontology: str | Path | None = None,
    systems: Sequence[str] = tuple(SYSTEMS),
    parameter: str = DEFAULT_PARAMETER,
    values: Sequence[float] = DEFAULT_VALUES,
    settings: ExtractionSettings | None = None,
    view: View = "present",
    resampling: Resampling | None = None,
    progress: Progress = no_progress,
) -> Sweep:
    """Extract and score with every value of a setting.

    Args:
        folder: As in :func:`trectools_plus.extraction.runner.run_extraction`.
        dataset: As there.
        ontology: As there.
        systems: Names of ``SYSTEMS``, none twice.
        parameter: A setting that is a number.
        values: Its values, none twice.
        settings: All other settings.
        view: What counts.
        resampling: How intervals are made.
        progress: Told of every value.

    Raises:
        UsageError: If a system, setting or value is unknown, repeated or out of range.
        InputError: If something cannot be read.
        FormatError: If a file is wrong.
    """
    _check(systems, parameter, values)
    base = (settings or ExtractionSettings()).model_dump()
    plans = {
        system: [
            make_extraction_settings(
                {**base, **SYSTEMS[system], parameter: value}, {parameter: "--values"}
            )
            for value in values
        ]
        for system in systems
    }
    loaded = load_ontology(ontology)
    documents = read_documents(folder, loaded, dataset)
    curves, done = [], 0
    for system, plan in plans.items():
        tables = []
        for extractor in _extractors(loaded, plan, progress):
            found = extract_all(extractor, documents)
            tables.append(count(documents.documents, found, view, exact_credit).table())
            done += 1
            progress("trying values", done, len(systems) * len(values))
        curves.append(_curve(system, parameter, values, tables, resampling or Resampling()))
    return Sweep(documents.name, len(documents.documents), parameter, view, tuple(curves))


def _check(systems: Sequence[str], parameter: str, values: Sequence[float]) -> None:
    unknown = [system for system in systems if system not in SYSTEMS]
    if unknown or not systems:
        what = f"no system is called '{unknown[0]}'" if unknown else "no system is named"
        raise UsageError(what, where="--systems", remedy=f"there are {', '.join(SYSTEMS)}")
    if parameter not in _PARAMETERS:
        raise UsageError(
            f"'{parameter}' cannot be swept",
            where="--parameter",
            remedy=f"there are {', '.join(_PARAMETERS)}",
        )
    if not values:
        raise UsageError("no value is given", where="--values", remedy="write --values 0.3,0.5")
    for what, given in (("system", list(systems)), ("value", list(values))):
        if len(set(given)) < len(given):
            raise UsageError(f"a {what} is given twice", remedy="name each once")


def _extractors(
    ontology: Ontology, plan: Sequence[ExtractionSettings], progress: Progress
) -> Iterator[Extractor]:
    """An extractor for each settings; what does not change is built once."""
    latest: Extractor | None = None
    for settings in plan:
        if latest is not None and latest.settings == settings.model_copy(
            update={"min_confidence": latest.settings.min_confidence}
        ):
            latest = latest.at_confidence(settings.min_confidence)
        else:
            latest = Extractor(ontology, settings, progress=progress, remember=True)
        yield latest


def _curve(
    system: str,
    parameter: str,
    values: Sequence[float],
    tables: Sequence[FloatArray],
    resampling: Resampling,
) -> SweepCurve:
    default = ExtractionSettings.model_fields[parameter].default
    points = []
    for value, table in zip(values, tables, strict=True):
        precision, recall, f1 = averages_of(table)[0, 0].tolist()
        low = high = None
        if len(table) > 1:
            low, high = (float(end[0, 2]) for end in bootstrap_averages(table, resampling))
        points.append(SweepPoint(value, precision, recall, f1, low, high, value == default))
    return SweepCurve(system, tuple(points), left_out(values, tables))


def left_out(values: Sequence[float], tables: Sequence[FloatArray]) -> LeftOut | None:
    """Score every document with the value whose micro F1 over the other documents is highest.

    Of equally good values the first is taken.

    Args:
        values: The values.
        tables: Counts with each value, shape (n_documents, 4).
    """
    stacked = np.stack(tables)
    documents = stacked.shape[1]
    if documents < 2:
        return None
    others = stacked.sum(axis=1, keepdims=True) - stacked
    best = figures_of(others)[..., 2].argmax(axis=0)
    total = stacked[best, np.arange(documents)].sum(axis=0)
    precision, recall, f1 = figures_of(total).tolist()
    chosen = Counter(values[place] for place in best.tolist())
    return LeftOut(precision, recall, f1, dict(sorted(chosen.items())))
