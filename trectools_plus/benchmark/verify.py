"""Verification of a report: its figures are computed again from the runs beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import BaseModel

from trectools_plus.benchmark.compare.differences import (
    Differences,
    find_differences,
    find_differences_of_1_0,
)
from trectools_plus.benchmark.compare.significance import (
    find_best,
    find_groups,
    find_unranked,
    is_best_significant,
)
from trectools_plus.benchmark.compare.strata import make_strata
from trectools_plus.benchmark.compare.summary import summarise
from trectools_plus.benchmark.report import load_report
from trectools_plus.benchmark.report.diagnostics import find_failing, find_failing_of_mode
from trectools_plus.benchmark.report.folder import ReportFolder, read_report_topics
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.dataset import Dataset, hash_qrels
from trectools_plus.benchmark.run.output_folder import (
    CHECKSUMS_FILE,
    PER_QUERY_FILE,
    QRELS_FILE,
    find_report_files,
    mode_report_name,
    read_checksums,
)
from trectools_plus.errors import InputError
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.formats.tables import Run
from trectools_plus.measures.evaluation import Evaluation
from trectools_plus.progress import Progress, no_progress
from trectools_plus.retrieval.fetch.outcome import summarise_latency
from trectools_plus.statistics.intervals import OF_1_0

_NEAR = 1e-9
_NOT_COMPARED = {"baseline", "contrast", "measure", "test", "correction", "family"}
"""Fields of a comparison that are not figures."""

Check = Callable[[ReportFolder, Evaluation], Iterator[str]]
"""A function that yields a text for each figure: the problem, or an empty text."""


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of a verification.

    Attributes:
        figures: Number of figures that were computed again.
        files: Number of files that were hashed.
        problems: A line for each figure that differs and each file that changed.
    """

    figures: int
    files: int
    problems: list[str]


def verify_report(path: str | Path, progress: Progress | None = None) -> Verification:
    """Score a report's runs again and compare every figure.

    Means, medians, standard deviations, intervals, targets, differences, p-values, best modes,
    groups, failing queries, values per query and the reports of single modes are computed from
    ``runs/<mode>.run`` and ``qrels.txt`` beside the report, with its settings; latencies from
    ``latency.parquet``; strata if the topics can be read unchanged. Figures may differ by 1e-9. The
    page, the Markdown and the plots are compared with their hashes in ``SHA256SUMS``. If that list
    is missing or does not contain a file, this is a problem too, because changes cannot be
    detected.

    Args:
        path: The report's JSON, its folder, or the report of a mode, which is verified with the
            whole benchmark.
        progress: Called as ``progress(description, done, total)``.

    Returns:
        The number of checked figures and files, and the problems.

    Raises:
        InputError: If the report, a run or the judgments are missing or cannot be read.
    """
    source = ReportFolder(path)
    if source.path.parent != source.folder:  # the report of a mode
        source = ReportFolder(source.folder)
    progress = progress or no_progress
    progress("hashing files", 0, 1)
    files = list(_check_files(source))
    progress("hashing files", 1, 1)
    changed = [problem for problem in files if problem]
    runs = source.read_runs(progress, allow_changed=True)
    evaluation = source.score(source.report.measure_names, progress, runs=runs, allow_changed=True)
    checks: tuple[Check, ...] = (
        _compare_figures,
        _compare_differences,
        partial(_compare_failing, runs),
        _compare_latency,
        _compare_strata,
        _compare_values,
        partial(_compare_mode_reports, runs),
    )
    figures: list[str] = []
    for done, check in enumerate(checks):
        progress("comparing", done, len(checks))
        figures += check(source, evaluation)
    progress("comparing", len(checks), len(checks))
    problems = [*changed, *(problem for problem in figures if problem)]
    return Verification(len(figures), len(files), list(dict.fromkeys(problems)))


def _check_files(source: ReportFolder) -> Iterator[str]:
    """Yield a text for each file with a known hash: the problem, or an empty text."""
    checked = set()
    for run in source.report.runs:
        if run.path is not None:
            checked.add(run.path)
            yield _check_file(source.folder / run.path, run.sha256)
    listed = read_checksums(source.folder)
    for digest, name in listed:
        if name not in checked:
            yield _check_file(source.folder / name, digest)
    yield from _find_unlisted(source, {name for _, name in listed})
    given = list(source.report.manifest.dataset.files.values())
    runs = (result.run.source for result in source.report.modes.values())
    for file in [*given, *(run for run in runs if run is not None)]:
        # Input files may have been moved: the figures depend only on the copies beside the report.
        if Path(file.path).is_file():
            yield _check_file(Path(file.path), file.sha256)


def _find_unlisted(source: ReportFolder, listed: set[str]) -> Iterator[str]:
    """Yield files of the report whose changes cannot be detected without a hash."""
    path = source.folder / CHECKSUMS_FILE
    if not listed:
        state = "lists no file" if path.is_file() else "the file is missing"
        yield (
            f"{path}: {state}, so changes to the page, the Markdown, the plots and the texts of "
            "the report cannot be detected; copy it from the benchmark's original folder, or run "
            "the benchmark again"
        )
        return
    report = source.report
    names = [source.path.relative_to(source.folder).as_posix()]
    names += find_report_files(source.folder, report.runs, report.modes)
    for name in dict.fromkeys(names):
        if name not in listed:
            yield (
                f"{source.folder / name}: not listed in {CHECKSUMS_FILE}, so a change to it cannot "
                "be detected"
            )


def _check_file(path: Path, digest: str | None) -> str:
    if not path.is_file():
        return f"{path}: the file is missing"
    return "" if sha256_file(path) == digest else f"{path}: the file changed (its hash differs)"


def _compare_figures(source: ReportFolder, evaluation: Evaluation) -> Iterator[str]:
    """Yield a text for each figure of the modes: the problem, or an empty text."""
    report = source.report
    config = _config_of(source)
    contents = report.manifest.dataset.contents.get("qrels")
    same = hash_qrels(source.read_qrels(allow_changed=True)) == contents
    yield "" if same else f"{QRELS_FILE}: the judgments are not those of the report"
    queries = len(next(iter(evaluation.query_ids.values())))
    yield from _differ("queries", report.manifest.dataset.queries, queries)
    summaries = summarise(evaluation, config)
    for mode, result in report.modes.items():
        for name, figures in result.measures.items():
            recomputed = summaries[mode][name]
            yield from _differ(
                f"{mode} {name}",
                figures.model_dump(exclude={"definition"}),
                recomputed.model_dump(exclude={"definition"}),
            )


def _compare_differences(source: ReportFolder, evaluation: Evaluation) -> Iterator[str]:
    """Yield a text for each figure of comparisons, best modes, groups and components."""
    report = source.report
    differences = _find_differences(source, evaluation)
    recomputed = {(one.baseline, one.contrast, one.measure): one for one in differences.shown}
    if len(recomputed) != len(report.comparisons):
        yield f"comparisons: reported {len(report.comparisons)}, recomputed {len(recomputed)}"
    for entry in report.comparisons:
        what = f"{entry.contrast} against {entry.baseline} {entry.measure}"
        other = recomputed.get((entry.baseline, entry.contrast, entry.measure))
        if other is None:
            yield f"{what}: reported, but not one of the recomputed comparisons"
            continue
        yield from _differ(
            what, entry.model_dump(exclude=_NOT_COMPARED), other.model_dump(exclude=_NOT_COMPARED)
        )
    yield from _compare_best(source, evaluation, differences)
    yield from _compare_components(source, differences)


def _find_differences(source: ReportFolder, evaluation: Evaluation) -> Differences:
    """Find the differences by the rules of the report's schema version."""
    without: dict[str, dict[str, Run]] = {}
    for one in source.report.components:
        run = source.read_run_file(
            one.run, f"{one.mode}-without-{one.component}", allow_changed=True
        )
        without.setdefault(one.mode, {})[one.component] = run
    earlier = source.report.schema_version == "1.0"
    find = find_differences_of_1_0 if earlier else find_differences
    return find(_config_of(source), source.read_qrels(allow_changed=True), evaluation, without)


def _config_of(source: ReportFolder) -> BenchmarkConfig:
    """Return the configuration with the method of intervals of the report's schema version."""
    if source.report.schema_version == "1.0":
        return source.config.model_copy(update={"interval": OF_1_0})
    return source.config


def _compare_best(
    source: ReportFolder, evaluation: Evaluation, differences: Differences
) -> Iterator[str]:
    """Yield a text for each of the best modes, their significance, and the groups."""
    report = source.report
    earlier = report.schema_version == "1.0"
    # A report of version 1.0 has a best mode over different queries if their number is equal.
    unranked = report.unranked if earlier else find_unranked(evaluation)
    best = find_best(evaluation, unranked)
    pairs: dict[str, tuple[Any, Any]] = {
        "unranked": (report.unranked, unranked),
        "best_mode": (report.best_mode, best),
        "best_mode_significant": (
            report.best_mode_significant,
            is_best_significant(best, differences.every_pair),
        ),
    }
    if report.groups:
        groups = find_groups(evaluation, differences.every_pair, source.config.confidence, unranked)
        pairs["groups"] = (report.groups, groups)
    for what, (reported, recomputed) in pairs.items():
        yield from _differ(what, reported, recomputed)


def _compare_failing(
    runs: dict[str, Run], source: ReportFolder, evaluation: Evaluation
) -> Iterator[str]:
    """Yield a text for each query that fails in every mode; texts are not compared."""
    info = source.report.manifest.dataset
    dataset = Dataset(info.id, None, None, source.read_qrels(allow_changed=True))
    reported, recomputed = (
        {one.query_id: one.model_dump(exclude={"query_id", "text"}) for one in failing}
        for failing in (source.report.failing_queries, find_failing(dataset, runs, evaluation))
    )
    for query_id in {**reported, **recomputed}:
        what = f"failing query {query_id}"
        if query_id not in reported:
            yield f"{what}: the report does not list it"
        elif query_id not in recomputed:
            yield f"{what}: reported, but it does not fail"
        else:
            yield from _differ(what, reported[query_id], recomputed[query_id])


def _compare_latency(source: ReportFolder, _: Evaluation) -> Iterator[str]:
    """Yield a text for each latency of a mode, if there are latencies per query."""
    table = source.latency
    if table is None:
        return
    for mode, result in source.report.modes.items():
        recomputed = summarise_latency(table.filter(run=mode)["latency_ms"].to_numpy())
        yield from _differ(f"{mode} latency_ms", result.latency_ms, recomputed)


def _compare_strata(source: ReportFolder, evaluation: Evaluation) -> Iterator[str]:
    """Yield a text for each figure of the strata, if their queries are known."""
    reported = source.report.strata
    topics = read_report_topics(source) if reported else None
    if topics is None:
        return
    recomputed = make_strata(topics, evaluation, _config_of(source))
    for field in {**reported, **recomputed}:
        yield from _differ(f"strata {field}", reported.get(field), recomputed.get(field))


def _compare_components(source: ReportFolder, differences: Differences) -> Iterator[str]:
    """Yield a text for each figure of the components."""
    for one in source.report.components:
        key, what = (one.mode, one.component), f"{one.mode} without {one.component}"
        yield from _differ(f"{what} same_as", one.same_as, differences.same_as.get(key))
        yield from _differ(what, one.measures, differences.components.get(key))


def _compare_values(source: ReportFolder, evaluation: Evaluation) -> Iterator[str]:
    """Yield a text for each query, mode and measure."""
    table = source.per_query
    if table is None:
        raise InputError(
            "a file of the report is missing", where=str(source.folder / PER_QUERY_FILE)
        )
    keys = ["run", "query_id", "measure"]
    both = table.join(evaluation.per_query(), on=keys, how="full", suffix="_again", coalesce=True)
    same = ((pl.col("value") - pl.col("value_again")).abs() <= _NEAR) | (
        pl.col("value").is_null() & pl.col("value_again").is_null()
    )
    wrong = both.filter(~same.fill_null(False)).sort(keys)
    for run, query_id, measure, reported, recomputed in wrong.select(
        *keys, "value", "value_again"
    ).iter_rows():
        what = f"{PER_QUERY_FILE}: {run} {query_id} {measure}"
        yield f"{what}: reported {reported}, recomputed {recomputed}"
    yield from [""] * (both.height - wrong.height)


def _compare_mode_reports(
    runs: dict[str, Run], source: ReportFolder, _: Evaluation
) -> Iterator[str]:
    """Yield a text for each part of the reports of single modes."""
    report, info = source.report, source.report.manifest.dataset
    if report.schema_version == "1.0":  # it has none
        return
    dataset = Dataset(info.id, None, None, source.read_qrels(allow_changed=True))
    for mode in report.modes:
        name = mode_report_name(mode)
        if not (source.folder / name).is_file() or source.per_query is None:
            continue
        found = load_report(source.folder / name)
        texts = {one.query_id: one.text for one in found.failing_queries}
        failing = [
            one.model_copy(update={"text": texts.get(one.query_id)})
            for one in find_failing_of_mode(report, mode, source.per_query, dataset, runs[mode])
        ]
        yield from _differ(name, found, report.of_mode(mode, failing))


def _differ(what: str, reported: Any, recomputed: Any) -> Iterator[str]:
    """Compare one figure, or each number of a part of the report."""
    reported, recomputed = (
        part.model_dump() if isinstance(part, BaseModel) else part
        for part in (reported, recomputed)
    )
    if isinstance(reported, dict) and isinstance(recomputed, dict):
        for key in {**reported, **recomputed}:
            yield from _differ(f"{what} {key}", reported.get(key), recomputed.get(key))
        return
    if _is_number(reported) and _is_number(recomputed):
        equal = math.isclose(reported, recomputed, rel_tol=_NEAR, abs_tol=_NEAR)
    else:
        equal = reported == recomputed
    yield "" if equal else f"{what}: reported {reported}, recomputed {recomputed}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
