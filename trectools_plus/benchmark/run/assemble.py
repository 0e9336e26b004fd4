"""The parts of a benchmark's report put together: scores, manifest, figures."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from trectools_plus.benchmark.compare.compare import refuse_different_queries
from trectools_plus.benchmark.compare.differences import Differences, find_differences
from trectools_plus.benchmark.compare.significance import find_groups, prove_best
from trectools_plus.benchmark.compare.strata import make_strata
from trectools_plus.benchmark.compare.summary import (
    find_best,
    find_unranked,
    summarise,
)
from trectools_plus.benchmark.report import (
    BenchmarkReport,
    ComponentResult,
    DatasetInfo,
    Manifest,
    ModeResult,
    SetSize,
)
from trectools_plus.benchmark.report.diagnosis import diagnose
from trectools_plus.benchmark.report.diagnostics import find_failing, has_rejected, judge_arms
from trectools_plus.benchmark.report.manifest import hash_config
from trectools_plus.benchmark.report.near_misses import find_near_misses, find_ontology
from trectools_plus.benchmark.report.retrieval_notes import retrieval_notes
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.dataset import Dataset
from trectools_plus.benchmark.run.mode_runs import Arm
from trectools_plus.benchmark.run.modes import Arms
from trectools_plus.blas import limited_blas_threads
from trectools_plus.errors import IncomparableError
from trectools_plus.measures.evaluation import Evaluation
from trectools_plus.progress import Progress, no_progress
from trectools_plus.provenance import describe_machine, format_time, package_versions
from trectools_plus.retrieval.backends.embedded.modes import models_used
from trectools_plus.retrieval.latency import summarise_latency


def score_arms(
    config: BenchmarkConfig,
    dataset: Dataset,
    arms: Mapping[str, Arm],
    progress: Progress = no_progress,
) -> Evaluation:
    """Every measure of every arm; the arms were checked when they were made.

    Raises:
        IncomparableError: If the arms are averaged over different queries, or over none.
    """
    from trectools_plus.measures.evaluation import score_runs

    runs = {mode: arm.run for mode, arm in arms.items()}
    measures = config.bind_measures(config.measure_names)
    evaluation = score_runs(dataset.qrels, runs, measures, config.missing, progress)
    progress("scoring", len(runs), len(runs))
    refuse_different_queries(evaluation)
    if not evaluation.query_ids[next(iter(runs))]:
        raise IncomparableError(
            "nothing was found for any judged query, so missing=drop leaves none to average over",
            remedy="use missing=zero, which counts a query without results as 0",
        )
    return evaluation


def make_manifest(
    config: BenchmarkConfig,
    moment: datetime,
    experiment_id: str,
    dataset: DatasetInfo,
    arms: Mapping[str, Arm],
    command: str | None,
) -> Manifest:
    """What is needed to get the same figures again."""
    spelled = config.as_manifest()
    return Manifest(
        experiment_id=experiment_id,
        created_at=format_time(moment),
        dataset=dataset,
        config=spelled,
        config_hash=hash_config(spelled),
        index_snapshots={
            mode: arm.index_key for mode, arm in arms.items() if arm.index_key is not None
        },
        models=models_used(config.modes, config.retrieval)
        if config.runs is None and config.is_embedded
        else {},
        packages=package_versions(),
        **describe_machine(),
        blas_threads=limited_blas_threads() if config.runs is None else None,
        seed=config.seed,
        command=command,
    )


def make_report(
    config: BenchmarkConfig,
    dataset: Dataset,
    all_arms: Arms,
    evaluation: Evaluation,
    manifest: Manifest,
) -> BenchmarkReport:
    """Every figure of a benchmark, from its scores.

    Args:
        config: Level, resamples, seed, baseline, targets and names.
        dataset: Judgments, and texts and fields of the queries where they are known.
        all_arms: The modes.
        evaluation: The scored ones' scores, from :func:`score_arms`.
        manifest: The report's manifest.
    """
    arms = all_arms.scored
    measures = summarise(evaluation, config)
    diagnostics = judge_arms(config, dataset, arms, evaluation)
    modes = {
        mode: ModeResult(
            label=config.label(mode),
            status=arm.status,
            run=arm.info,
            measures=measures[mode],
            latency_ms=None if arm.latency_ms is None else summarise_latency(arm.latency_ms),
            diagnostics=diagnostics[mode],
        )
        for mode, arm in arms.items()
    }
    without = {
        mode: {component: one.run for component, one in arm.without.items()}
        for mode, arm in arms.items()
        if arm.without
    }
    tested = find_differences(config, dataset.qrels, evaluation, without)
    unranked = find_unranked(evaluation)
    best = find_best(evaluation, unranked)
    runs = {mode: arm.run for mode, arm in arms.items()}
    ontology = find_ontology(config, evaluation.measures)
    return BenchmarkReport(
        manifest=manifest,
        modes=modes,
        unscored=all_arms.unscored,
        comparisons=tested.shown,
        best_mode=best,
        best_mode_significant=prove_best(best, tested.every_pair),
        unranked=unranked,
        groups={}
        if config.baseline
        else find_groups(evaluation, tested.every_pair, config.confidence, unranked),
        size=_judge_size(manifest.dataset.queries),
        strata={} if dataset.topics is None else make_strata(dataset.topics, evaluation, config),
        failing_queries=find_failing(dataset, runs, evaluation),
        near_misses=None
        if ontology is None
        else find_near_misses(dataset, runs, evaluation, ontology),
        components=_list_components(arms, tested),
        diagnosis=diagnose(modes, tested.shown, pooled=has_rejected(dataset.qrels)),
        notes=retrieval_notes(config, dataset),
    )


def _list_components(arms: Mapping[str, Arm], tested: Differences) -> list[ComponentResult]:
    """An entry per fusion and component, in the order of the fusion's weights."""
    return [
        ComponentResult(
            mode=mode,
            component=component,
            same_as=tested.same_as.get((mode, component)),
            run=arms[mode].without[component].info,
            measures=measures,
        )
        for (mode, component), measures in tested.components.items()
    ]


def _judge_size(queries: int) -> SetSize:
    from trectools_plus.statistics import advise_on_size

    advice = advise_on_size(queries)
    return SetSize(queries=queries, use=advice.use, warning=advice.warning)
