"""The report of a benchmark, put together from its scores."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from trectools_plus.benchmark.analyses import (
    find_difficulty,
    find_equal_measures,
    find_near_misses,
    find_pool,
)
from trectools_plus.benchmark.compare.compare import (
    find_best,
    find_differences,
    find_groups,
    find_primary_of,
    find_unranked,
    is_best_significant,
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
from trectools_plus.measures.evaluation import JUDGED, Evaluation
from trectools_plus.measures.judged import notes_on_judges
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.provenance import describe_conditions
from trectools_plus.retrieval.fetch.outcome import summarise_latency


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
        evaluation: Scores of the scored modes.
        manifest: The report's manifest.
        ontology: The ontology of the documents; ``None`` if they are not known to be terms.
    """
    scored = modes.scored
    measures = summarise(evaluation, config.comparing, config.all_targets)
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
    differences = find_differences(
        config.comparing,
        evaluation,
        primary,
        "mode" if config.runs is None else "run",
        (dataset.qrels, without),
    )
    best = find_best(evaluation, config.baseline)
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
        unranked=find_unranked(evaluation),
        groups={} if config.baseline else find_groups(evaluation, found),
        strata={}
        if dataset.topics is None
        else make_strata(dataset.topics, evaluation, config.resampling),
        failing_queries=find_failing(dataset, runs, evaluation, primary),
        near_misses=None
        if ontology is None
        else find_near_misses(dataset, runs, evaluation, ontology, primary),
        components=[
            ComponentResult(
                mode=mode,
                component=component,
                run=scored[mode].without[component].info,
                measures=measures_of_component,
            )
            for (mode, component), measures_of_component in differences.components.items()
        ],
        diagnosis=diagnose(results, found, primary, pooled=has_nonrelevant),
        pool=find_pool(
            dataset.qrels,
            runs,
            evaluation,
            primary,
            {name: one.diagnostics.judged.get(JUDGED) for name, one in results.items()},
            dataset.judged,
        ),
        difficulty=find_difficulty(evaluation, primary),
        notes=[
            *(f"{note[0].upper()}{note[1:]}." for note in notes_on_judges(dataset.qrels)),
            *retrieval_notes(config, dataset),
        ],
    )
    return add_result(report)
