"""One benchmark for each language, and what they say of a mode together: never one figure of all.

A mean over queries of two languages depends on how many there are of each. So every language is
evaluated apart, over its own test set, and only its means are put together, each counting once.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.report.parts import ConfidenceInterval, ReportModel
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.config_file import ConfigOptions, load_config
from trectools_plus.benchmark.run.runner import BenchmarkResult, run_benchmark
from trectools_plus.errors import UsageError
from trectools_plus.progress import Progress, no_progress
from trectools_plus.provenance import Clock, utc_now
from trectools_plus.testsets.languages import declared_language
from trectools_plus.testsets.loading import load_test_set
from trectools_plus.validation.texts import primary_language

SCHEMA_VERSION: Literal["1.0"] = "1.0"
DEFAULT_FOLDER = Path("results") / "multilingual"


class LanguageMeasure(ReportModel):
    """One measure of one mode in one language."""

    mean: float | None
    """Over the queries of this language alone; null where it is undefined."""
    n: int
    """Queries averaged over."""
    ci: ConfidenceInterval | None
    """The interval of the mean."""


class LanguageResult(ReportModel):
    """A language's own benchmark."""

    test_set: str
    """Its test set, as it was named."""
    dataset_id: str
    """What the test set calls itself."""
    version: str
    """The test set's version."""
    queries: int
    """Queries averaged over."""
    folder: str
    """Where its report is."""
    modes: dict[str, dict[str, LanguageMeasure]]
    """By mode and measure."""
    notes: list[str] = Field(default_factory=list)
    """What its report says to know beside the figures."""


class CrossLingual(ReportModel):
    """One measure of one mode across languages: over their means, each counting once."""

    mean: float | None
    """Unweighted mean of the languages' means; null where one of them is undefined."""
    variance: float | None
    """Sample variance of the languages' means (ddof 1)."""
    best: float | None
    """The highest of them."""
    best_language: str | None
    """Its language; the first of several."""
    worst: float | None
    """The lowest of them."""
    worst_language: str | None
    """Its language; the first of several."""
    gap: float | None
    """Highest minus lowest."""


class MultilingualReport(ReportModel):
    """What ``MultilingualReport.json`` holds."""

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    corpus: str
    """What was searched in: the collection with its version."""
    mode_names: dict[str, str]
    """What modes are called in tables."""
    measures: list[str]
    """In the order asked for."""
    languages: dict[str, LanguageResult]
    """By ISO 639-1 code, in the order given."""
    across: dict[str, dict[str, CrossLingual]]
    """By mode and measure."""
    command: str | None = None
    """The command line, secrets blanked; null when called from Python."""


@dataclass(frozen=True, slots=True, eq=False)
class MultilingualResult:
    """The outcome for all languages.

    Attributes:
        report: What they say together.
        results: Each language's own benchmark, whose files wait to be written.
        output_dir: The folder for the report, with one for each language in it.
    """

    report: MultilingualReport
    results: dict[str, BenchmarkResult]
    output_dir: Path


def run_multilingual(
    sets: Sequence[str],
    output_dir: str | Path = DEFAULT_FOLDER,
    options: ConfigOptions | None = None,
    progress: Progress | None = None,
    *,
    command: str | None = None,
    clock: Clock = utc_now,
    cached: bool = False,
) -> MultilingualResult:
    """Evaluate each language apart over the terms of the Human Phenotype Ontology.

    Args:
        sets: Test sets, one of each language: names of shipped ones, or files.
        output_dir: Folder for everything: each language's report in a folder named after it.
        options: Settings that all languages share, by field of
            :class:`trectools_plus.benchmark.run.config.BenchmarkConfig`.
        progress: Called as ``progress(description, done, total)``.
        command: The command line to put into the report, free of secrets.
        clock: The time in UTC.
        cached: Whether earlier results may come back.

    Returns:
        The results. Nothing is in the folder by then:
        :func:`trectools_plus.reporting.results.multilingual.write_multilingual` puts it there.

    Raises:
        UsageError: If there are fewer than two sets, one declares no language, or two the same.
        FormatError: If a set is malformed or declares several languages.
        InputError: If a set cannot be read.
        MissingExtraError: If the extra ``hpo`` is not installed.
    """
    tell = progress or no_progress
    by_language = languages_of(sets)
    folder = Path(output_dir)
    results: dict[str, BenchmarkResult] = {}
    try:
        for language, name in by_language.items():
            config = make_config(name, str(folder / language), options or {})
            results[language] = run_benchmark(
                config, _named(tell, language), command=command, clock=clock, cached=cached
            )
    except BaseException:
        for result in results.values():
            result.folder.discard()
        raise
    report = put_together(by_language, results, command)
    return MultilingualResult(report, results, folder)


def languages_of(sets: Sequence[str]) -> dict[str, str]:
    """The test set of each language, in the order given.

    Raises:
        UsageError: If there are fewer than two, one declares no language, or two the same.
        FormatError: If one declares several.
    """
    found: dict[str, str] = {}
    for name in sets:
        language = primary_language(declared_language(load_test_set(name), name))
        if not language:
            raise UsageError(
                "the set declares no language",
                where=name,
                remedy=f"say it: testset convert {name} OUT.json --language de",
            )
        if language in found:
            raise UsageError(
                f"two sets are in {language}: {found[language]} and {name}",
                remedy="give one of each language; their queries are not pooled",
            )
        found[language] = name
    if len(found) < 2:
        raise UsageError(
            "expected test sets of at least two languages",
            remedy="for one there is benchmark run --dataset hpo --test-file SET",
        )
    return found


def make_config(test_set: str, folder: str, options: ConfigOptions) -> BenchmarkConfig:
    """The configuration of one language's benchmark.

    Raises:
        UsageError: If an option is unknown or its value wrong.
    """
    own: ConfigOptions = {"dataset": "hpo", "test_file": test_set, "output_dir": folder}
    return load_config(options={**options, **own})


def put_together(
    sets: Mapping[str, str], results: Mapping[str, BenchmarkResult], command: str | None = None
) -> MultilingualReport:
    """The report on all languages.

    Args:
        sets: The test set of each language.
        results: Its benchmark, all of the same modes and measures.
        command: The command line.
    """
    languages = {
        language: _language_result(sets[language], result) for language, result in results.items()
    }
    first = next(iter(results.values())).report
    version = (first.manifest.dataset.version or "").partition(" with ")[0]
    return MultilingualReport(
        corpus=f"{first.manifest.dataset.id} {version}".strip(),
        mode_names={mode: result.label for mode, result in first.modes.items()},
        measures=first.measure_names,
        languages=languages,
        across={
            mode: {
                measure: summarise(
                    {code: one.modes[mode][measure].mean for code, one in languages.items()},
                    higher_is_better=first.higher_is_better(measure),
                    ranked=all(
                        one.modes[mode][measure].n == one.queries for one in languages.values()
                    ),
                )
                for measure in first.measure_names
            }
            for mode in first.modes
        },
        command=command,
    )


def multilingual_report_schema() -> dict[str, Any]:
    """The JSON Schema of the report."""
    return MultilingualReport.model_json_schema(mode="serialization")


def summarise(
    means: Mapping[str, float | None], *, higher_is_better: bool = True, ranked: bool = True
) -> CrossLingual:
    """Mean, variance and gap of languages' means.

    Args:
        means: By language, at least two; ``None`` where undefined, which makes all undefined.
        higher_is_better: Whether the highest mean is the best.
        ranked: Whether each mean is over all queries of its language. Otherwise no language is
            best or worst: one that leaves out its hardest queries would be the best.
    """
    known = {code: mean for code, mean in means.items() if mean is not None}
    if len(known) < len(means):
        undefined = dict.fromkeys(CrossLingual.model_fields)
        return CrossLingual.model_validate(undefined)
    mean, variance = statistics.fmean(known.values()), statistics.variance(known.values())
    if not ranked:
        undefined = dict.fromkeys(CrossLingual.model_fields)
        return CrossLingual.model_validate({**undefined, "mean": mean, "variance": variance})
    best, worst = (
        choose(known, key=lambda code: known[code])
        for choose in ((max, min) if higher_is_better else (min, max))
    )
    return CrossLingual(
        mean=mean,
        variance=variance,
        best=known[best],
        best_language=best,
        worst=known[worst],
        worst_language=worst,
        gap=abs(known[best] - known[worst]),
    )


def _named(tell: Progress, language: str) -> Progress:
    return lambda what, done, total: tell(f"{language}: {what}", done, total)


def _language_result(name: str, result: BenchmarkResult) -> LanguageResult:
    report: BenchmarkReport = result.report
    said = load_test_set(name).metadata
    return LanguageResult(
        test_set=name,
        dataset_id=said.dataset_id,
        version=said.version,
        queries=report.manifest.dataset.queries,
        folder=str(result.output_dir),
        modes={
            mode: {
                measure: LanguageMeasure(mean=one.mean, n=one.n, ci=one.ci)
                for measure, one in found.measures.items()
            }
            for mode, found in report.modes.items()
        },
        notes=report.notes,
    )
