"""One benchmark for each language, and the mean, variance and gap across languages.

A mean over queries of two languages depends on the number of queries of each. So each language is
evaluated on its own test set, and only the means of the languages are combined, with equal weights.

Test sets are parallel if they have the same query ids and, id by id, the same terms of the highest
grade: each query is the same meaning in another language. The difference of two languages is then
paired, and its interval does not contain the variation between meanings.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from trectools_plus.benchmark.compare import compare_modes
from trectools_plus.benchmark.report import StratumResult
from trectools_plus.benchmark.run.config import Comparing
from trectools_plus.benchmark.run.config_file import ConfigOptions, load_config
from trectools_plus.benchmark.run.runner import BenchmarkResult, run_benchmark
from trectools_plus.display import Displayed, Progress, no_progress
from trectools_plus.errors import UsageError
from trectools_plus.formats.files.guards import refuse_foreign_beside
from trectools_plus.formats.tables import Qrels
from trectools_plus.measures.evaluation import Evaluation
from trectools_plus.measures.parser import parse_measures
from trectools_plus.models import Clock, ReportModel, utc_now
from trectools_plus.statistics.comparison import Comparison
from trectools_plus.testsets.loading import languages_in, load_test_set

PARALLEL_SETS = tuple(f"hpo-{language}-standard" for language in ("en", "de", "fr", "es", "nl"))
"""The default test sets: the same meanings in five languages."""
REPORT_FILE = "MultilingualReport.json"
MARKDOWN_FILE = "MultilingualComparison.md"
DEFAULT_FOLDER = Path("results") / "multilingual"


class LanguageResult(ReportModel):
    """The benchmark of one language."""

    test_set: str
    """The test set as the user named it."""
    dataset_id: str
    """The id in the test set."""
    version: str
    """The test set's version."""
    queries: int
    """Number of queries."""
    folder: str
    """The folder of the report."""
    modes: dict[str, dict[str, StratumResult]]
    """By mode and measure."""
    notes: list[str]
    """The notes of the report."""


class CrossLingual(ReportModel):
    """One measure of one mode across languages: figures of their means, with equal weights."""

    mean: float | None
    """Unweighted mean of the languages' means; null if one of them is undefined."""
    cross_lingual_variance: float | None
    """Population variance of the languages' means (ddof 0)."""
    gap: float | None
    """Difference between the highest and the lowest of them."""


class MultilingualReport(ReportModel):
    """The content of ``MultilingualReport.json``."""

    schema_version: Literal["1.1"] = "1.1"
    corpus: str
    """The searched collection with its version."""
    mode_names: dict[str, str]
    """The names of modes in tables."""
    measures: list[str]
    """Measures in the order of the configuration."""
    languages: dict[str, LanguageResult]
    """By ISO 639-1 code, in the given order."""
    across: dict[str, dict[str, CrossLingual]]
    """By mode and measure."""
    average_mrr: dict[str, float | None]
    """By mode, the mean over the languages of the mean reciprocal rank; empty if ``RR`` is not one
    of the measures."""
    parallel: bool
    """True if the sets have the same query ids and, id by id, the same terms of the highest
    grade."""
    differences: dict[str, list[Comparison]]
    """By mode, the paired difference of every two languages on each measure, with languages in the
    place of modes; empty if the sets are not parallel."""
    command: str | None = None
    """The command line without secrets; null if called from Python."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MultilingualResult(Displayed):
    """The outcome for all languages.

    Attributes:
        report: The report across languages.
        results: The benchmark of each language, whose files are not written yet.
        output_dir: The folder of the report, with a folder for each language.
    """

    report: MultilingualReport
    results: dict[str, BenchmarkResult]
    output_dir: Path


def run_multilingual(
    sets: Sequence[str],
    options: ConfigOptions | None = None,
    progress: Progress | None = None,
    *,
    command: str | None = None,
    clock: Clock = utc_now,
) -> MultilingualResult:
    """Evaluate each language separately over the terms of the Human Phenotype Ontology.

    Args:
        sets: Test sets: names of shipped sets, or files, each in one language or in several; for
            example :data:`PARALLEL_SETS`.
        options: Settings of all languages, by field of
            :class:`trectools_plus.benchmark.run.config.BenchmarkConfig`. ``output_dir`` is the
            folder for all files, by default :data:`DEFAULT_FOLDER`; each language's report is in a
            folder named after the language.
        progress: Called as ``progress(description, done, total)``.
        command: The command line to put into the report, without secrets.
        clock: Returns the time in UTC.

    Returns:
        The results. The folder is still unchanged:
        :func:`trectools_plus.reporting.files.write_multilingual` writes the files.

    Raises:
        UsageError: If there are fewer than two languages, a set or some of its queries declare no
            language, or a language is in two sets.
        FormatError: If a set is malformed.
        InputError: If a set cannot be read.
        MissingExtraError: If the extra ``hpo`` is not installed.
    """
    options, show = options or {}, progress or no_progress
    by_language = languages_of(sets)
    folder = Path(options.get("output_dir") or DEFAULT_FOLDER)
    refuse_foreign_beside(
        folder, (REPORT_FILE, MARKDOWN_FILE), REPORT_FILE, ("languages", "across", "mode_names")
    )
    several = Counter(by_language.values())
    results: dict[str, BenchmarkResult] = {}
    with ExitStack() as unwritten:
        for language, name in by_language.items():
            of_language: ConfigOptions = {
                "dataset": "hpo",
                "test_file": name,
                "language": language if several[name] > 1 else None,
                "output_dir": str(folder / language),
            }
            config = load_config(options={**options, **of_language})

            def of(description: str, done: int, total: int, language: str = language) -> None:
                show(f"{language}: {description}", done, total)

            results[language] = run_benchmark(config, of, command=command, clock=clock)
            unwritten.callback(results[language].folder.discard)
        report = combine(by_language, results, command)
        unwritten.pop_all()
    return MultilingualResult(report, results, folder)


def languages_of(sets: Sequence[str]) -> dict[str, str]:
    """Return the test set by language, in the given order.

    A set in several languages is the set of each of them.

    Raises:
        UsageError: If there are fewer than two languages, a set or some of its queries declare no
            language, or a language is in two sets.
    """
    by_language: dict[str, str] = {}
    for name in sets:
        for language in languages_in(load_test_set(name)):
            if not language:
                raise UsageError(
                    "a query declares no language",
                    where=name,
                    remedy=f"declare it: trectools-plus testset convert {name} OUT.json "
                    "--language de, or add the field language to each query",
                )
            if language in by_language:
                raise UsageError(
                    f"two sets are in {language}: {by_language[language]} and {name}",
                    remedy="use one set per language; the queries of two sets are not pooled",
                )
            by_language[language] = name
    if len(by_language) < 2:
        raise UsageError(
            "expected test sets of at least two languages",
            remedy="for one language use benchmark run --dataset hpo --test-file SET",
        )
    return by_language


def combine(
    sets: Mapping[str, str], results: Mapping[str, BenchmarkResult], command: str | None = None
) -> MultilingualReport:
    """Make the report on all languages.

    Args:
        sets: The test set of each language.
        results: The benchmark of each language, all with the same modes and measures.
        command: The command line.
    """
    reports = {language: result.report for language, result in results.items()}
    first = next(iter(reports.values()))

    summaries = {
        mode: {
            name: summarise([report.modes[mode].measures[name].mean for report in reports.values()])
            for name in first.measure_names
        }
        for mode in first.modes
    }
    expected = [find_expected_terms(one.dataset.qrels) for one in results.values() if one.dataset]
    # With missing="drop", a mode can leave out queries in one language only.
    scored = [
        one.per_query.select("run", "query_id").unique().sort("run", "query_id")
        for one in results.values()
    ]
    is_parallel = expected == expected[:1] * len(expected) and all(map(scored[0].equals, scored))
    version = (first.manifest.dataset.version or "").partition(" with ")[0]
    reciprocal_rank = first.find_measure("RR")
    return MultilingualReport(
        corpus=f"{first.manifest.dataset.id} {version}".strip(),
        mode_names={mode: result.label for mode, result in first.modes.items()},
        measures=first.measure_names,
        languages={code: _language_result(sets[code], one) for code, one in results.items()},
        across=summaries,
        average_mrr={}
        if reciprocal_rank is None
        else {mode: one[reciprocal_rank].mean for mode, one in summaries.items()},
        parallel=is_parallel,
        differences={
            mode: _compare_languages(mode, results) for mode in (first.modes if is_parallel else ())
        },
        command=command,
    )


def _compare_languages(mode: str, results: Mapping[str, BenchmarkResult]) -> list[Comparison]:
    """Return the paired differences of a mode between every two languages, compared like modes."""
    report = next(iter(results.values())).report
    tables = {
        language: one.per_query.filter(run=mode)
        .pivot("measure", index="query_id", values="value")
        .sort("query_id")
        for language, one in results.items()
    }
    columns = pl.col(report.measure_names).cast(pl.Float64).fill_null(np.nan)
    evaluation = Evaluation(
        measures=parse_measures(report.measure_names),
        averaging=report.manifest.averaging,
        query_ids={language: table["query_id"].to_list() for language, table in tables.items()},
        counts={},
        queries_without_relevant=[],
        tables={language: table.select(columns).to_numpy() for language, table in tables.items()},
    )
    comparing = Comparing.of(report.manifest.config, ())
    return compare_modes(comparing, evaluation, report.primary_measure, "mode").comparisons


def summarise(means: Sequence[float | None]) -> CrossLingual:
    """Compute mean, variance and gap of the languages' means; one undefined mean leaves none."""
    known = [mean for mean in means if mean is not None]
    is_known = len(known) == len(means)
    return CrossLingual(
        mean=statistics.fmean(known) if is_known else None,
        cross_lingual_variance=statistics.pvariance(known) if is_known else None,
        gap=max(known) - min(known) if is_known else None,
    )


def _language_result(name: str, result: BenchmarkResult) -> LanguageResult:
    report, metadata = result.report, load_test_set(name).metadata
    return LanguageResult(
        test_set=name,
        dataset_id=metadata.dataset_id,
        version=metadata.version,
        queries=report.manifest.dataset.queries,
        folder=str(result.output_dir),
        modes={
            mode: {name: StratumResult(**dict(one)) for name, one in found.measures.items()}
            for mode, found in report.modes.items()
        },
        notes=report.notes,
    )


def find_expected_terms(qrels: Qrels) -> dict[str, frozenset[str]]:
    """Return the terms with the highest grade of each query, above 0."""
    rows = qrels.frame.filter(
        (pl.col("relevance") > 0)
        & (pl.col("relevance") == pl.col("relevance").max().over("query_id"))
    ).group_by("query_id", maintain_order=True)
    return {
        query_id: frozenset(doc_ids)
        for query_id, doc_ids in rows.agg("doc_id").select("query_id", "doc_id").iter_rows()
    }
