"""The report of a benchmark, put together from its scores."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from trectools_plus.benchmark.analyses.equal_measures import (
    find_equal_measures,
)
from trectools_plus.benchmark.analyses.pool import find_pool
from trectools_plus.benchmark.analyses.queries import (
    find_difficulty,
    find_discriminative_power,
    find_near_misses,
)
from trectools_plus.benchmark.compare.compare import (
    TestedDifferences,
    find_best,
    find_differences,
    find_groups,
    find_primary_of,
    find_unranked,
    is_best_significant,
    refuse_different_queries,
)
from trectools_plus.benchmark.compare.summary import make_strata, summarise
from trectools_plus.benchmark.report import (
    BenchmarkReport,
    ComponentResult,
    DatasetInfo,
    Manifest,
    ModeResult,
)
from trectools_plus.benchmark.report.diagnostics import (
    diagnose,
    find_diagnostics,
    find_failing,
    retrieval_notes,
)
from trectools_plus.benchmark.report.parts import hash_config
from trectools_plus.benchmark.report.verdict import add_result
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.dataset import Dataset
from trectools_plus.benchmark.run.modes import ModeRun, Modes
from trectools_plus.blas import limited_blas_threads
from trectools_plus.errors import IncomparableError
from trectools_plus.formats.tables import Run
from trectools_plus.measures.evaluation import JUDGED, Evaluation, score_runs
from trectools_plus.measures.judged import notes_on_judges
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.progress import Progress, no_progress
from trectools_plus.provenance import describe_conditions
from trectools_plus.retrieval.backends.embedded.modes import models_used
from trectools_plus.retrieval.fetch.outcome import summarise_latency
from trectools_plus.retrieval.index.models import ModelRecord
from trectools_plus.retrieval.source import BackendRequest


def score_modes(
    config: BenchmarkConfig,
    dataset: Dataset,
    modes: Mapping[str, ModeRun],
    progress: Progress = no_progress,
) -> Evaluation:
    """Score every mode with every measure.

    Raises:
        IncomparableError: If the modes are averaged over different queries, or over none.
    """
    runs = {name: mode.run for name, mode in modes.items()}
    measures = config.bind_measures(config.measure_names)
    evaluation = score_runs(dataset.judged, runs, measures, config.averaging, progress)
    progress("scoring", len(runs), len(runs))
    refuse_different_queries(evaluation)
    if not evaluation.query_ids[next(iter(runs))]:
        raise IncomparableError(
            "nothing was found for any judged query, so missing=drop leaves no query",
            remedy="use missing=zero, which counts a query without results as 0",
        )
    return evaluation


def make_manifest(
    config: BenchmarkConfig,
    moment: datetime,
    experiment_id: str,
    dataset: DatasetInfo,
    modes: Mapping[str, ModeRun],
    command: str | None,
) -> Manifest:
    """Describe everything that the figures depend on."""
    settings = config.as_manifest()
    return Manifest(
        experiment_id=experiment_id,
        **describe_conditions(moment),
        dataset=dataset,
        config=settings,
        config_hash=hash_config(settings),
        index_snapshots={
            name: mode.index_key for name, mode in modes.items() if mode.index_key is not None
        },
        blas_threads=limited_blas_threads() if config.runs is None else None,
        seed=config.seed,
        command=command,
    )


def list_models(config: BenchmarkConfig) -> dict[str, ModelRecord]:
    """Return the local models of all modes, by role; with the mode if modes use several."""
    if config.runs is not None:
        return {}
    if config.is_embedded:
        return models_used(config.mode_keys, config.retrieval)
    backend, request = config.make_backend(), BackendRequest(None, config.mode_keys)
    by_mode = {mode: backend.models(mode, request) for mode in config.mode_keys}
    found = {role: model for models in by_mode.values() for role, model in models.items()}
    if all(found[role] == model for models in by_mode.values() for role, model in models.items()):
        return found
    return {
        f"{role}-{mode}": model
        for mode, models in by_mode.items()
        for role, model in models.items()
    }


def make_report(
    config: BenchmarkConfig,
    dataset: Dataset,
    modes: Modes,
    evaluation: Evaluation,
    manifest: Manifest,
    ontology: Ontology | None,
) -> BenchmarkReport:
    """Compute every figure of a benchmark from its scores.

    Args:
        config: Confidence level, resamples, seed, baseline, targets and names.
        dataset: Judgments, and texts and fields of the queries where they are known.
        modes: The modes.
        evaluation: Scores of the scored modes, from :func:`score_modes`.
        manifest: The report's manifest.
        ontology: The ontology of the documents; ``None`` if they are not known to be terms.
    """
    scored = modes.scored
    measures = summarise(evaluation, config)
    diagnostics = find_diagnostics(config, dataset, scored, evaluation)
    results = {
        name: ModeResult(
            label=config.mode_names.get(name, name) if mode.given else config.label(name),
            status=mode.status,
            run=mode.info,
            measures=measures[name],
            latency_ms=None if mode.latency_ms is None else summarise_latency(mode.latency_ms),
            diagnostics=diagnostics[name],
        )
        for name, mode in scored.items()
    }
    without = {
        name: {component: one.run for component, one in mode.without.items()}
        for name, mode in scored.items()
        if mode.without
    }
    primary = find_primary_of(manifest.config, evaluation)
    differences = find_differences(config, dataset.qrels, evaluation, without, primary)
    unranked = find_unranked(evaluation)
    best = find_best(evaluation, unranked, config.baseline)
    found = differences.comparisons
    runs = {name: mode.run for name, mode in scored.items()}
    has_nonrelevant = bool((dataset.qrels.frame["relevance"] <= 0).any())
    report = BenchmarkReport(
        manifest=manifest,
        primary_measure=primary,
        equal_measures=find_equal_measures(evaluation, dataset.qrels),
        modes=results,
        unscored=modes.unscored,
        comparisons=found,
        best_mode=best,
        best_mode_significant=is_best_significant(best, found),
        unranked=unranked,
        groups={} if config.baseline else find_groups(evaluation, found, unranked),
        strata={} if dataset.topics is None else make_strata(dataset.topics, evaluation, config),
        failing_queries=[],
        components=list_components(scored, differences),
        notes=[
            *(f"{note[0].upper()}{note[1:]}." for note in notes_on_judges(dataset.qrels)),
            *retrieval_notes(config, dataset),
            *(
                f"{one.requested_name}: {note}."
                for one in evaluation.measures
                for note in one.notes_on_names
            ),
        ],
    )
    analyses = {
        "failing_queries": find_failing(dataset, runs, evaluation, primary),
        "near_misses": ontology and find_near_misses(dataset, runs, evaluation, ontology, primary),
        "diagnosis": diagnose(results, found, primary, pooled=has_nonrelevant),
        **_analyse(report, dataset, runs, evaluation),
    }
    return add_result(report.model_copy(update=analyses))


def _analyse(
    report: BenchmarkReport,
    dataset: Dataset,
    runs: Mapping[str, Run],
    evaluation: Evaluation,
) -> dict[str, Any]:
    """Return the analyses of a report by their fields."""
    primary = report.primary_measure
    judged = {name: one.diagnostics.judged.get(JUDGED) for name, one in report.modes.items()}
    queries = dataset.judged.counted(evaluation.no_relevant)
    return {
        "pool": find_pool(dataset.qrels, runs, evaluation, primary, judged, queries),
        "difficulty": find_difficulty(evaluation, primary),
        "discriminative_power": {}
        if report.manifest.config.get("baseline")
        else find_discriminative_power(report.comparisons, evaluation.compared_names, len(runs)),
    }


def list_components(
    modes: Mapping[str, ModeRun], differences: TestedDifferences
) -> list[ComponentResult]:
    """List an entry per fusion and component, in the order of the fusion's weights."""
    return [
        ComponentResult(
            mode=mode,
            component=component,
            run=modes[mode].without[component].info,
            measures=measures,
        )
        for (mode, component), measures in differences.components.items()
    ]
