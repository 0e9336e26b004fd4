"""``benchmark run``, ``compare-vectors``, ``multilingual``, ``sweep``; ``compare`` of run files."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from trectools_plus import benchmark, formats, reporting
from trectools_plus.cli.options import (
    Config,
    Everything,
    RunFiles,
    Scheduler,
    ScoringOptions,
    TableOptions,
    TextMarkdownJson,
    TextOrJson,
    output_dir_option,
    split_assignments,
)
from trectools_plus.cli.printing import (
    Verbosity,
    note,
    print_notes,
    print_result,
    show_progress,
)
from trectools_plus.cli.settings import (
    Given,
    SettingOptions,
    list_settings,
    refuse_unused,
)
from trectools_plus.distributed import use_scheduler
from trectools_plus.errors import CheckFailedError, MissingExtraError
from trectools_plus.models import format_command
from trectools_plus.text import split_list

_FIGURES = ("measures", "test", "confidence", "seed", "targets")
_SETTINGS = SettingOptions(
    benchmark.BenchmarkConfig,
    *("dataset", "test_file", "corpus", "topics", "qrels", "language", "ontology"),
    *("unknown_terms", "exclude", "modes", "backend", "retriever", "http.engine", "http.url"),
    *("retrieval.embedding_model", "retrieval.reranker", "retrieval.device", "depth"),
    *("baseline", "missing", "output_dir", *_FIGURES),
)
"""The settings that have an option; all others are set by ``--set``."""
_DATA = ("dataset", "test_file", "corpus", "topics", "qrels", "runs")
_BACKENDS = ("backend", "retriever", "http")
"""Settings of a backend, which may have its own documents."""
_FILE_LINES = 6
"""Lines after the report: the names of its files, and a note."""


@dataclass(frozen=True)
class ReportOptions:
    """The way in which a benchmark is run and its report is written."""

    everything: Everything = False
    output_format: TextOrJson = "text"
    plots: Annotated[
        bool,
        Option("--plots/--no-plots", help="Also write the plots as PNG and SVG files."),
    ] = False
    scheduler: Scheduler = None

    def run(self, config: benchmark.BenchmarkConfig) -> None:
        """Run a benchmark with a progress bar, write its report and print it."""
        if self.plots and not reporting.can_draw():
            raise MissingExtraError("--plots", "plots")
        with use_scheduler(self.scheduler), show_progress() as progress:
            result = benchmark.run_benchmark(
                config,
                progress,
                command=format_command(sys.argv),
            )
        files = reporting.write_reports(result, plots=self.plots)
        report = result.report
        if self.output_format == "json":
            typer.echo(reporting.render_json(report), nl=False)
        else:
            reporting.print_report(
                report,
                sys.stdout,
                full=self.everything,
                notes=not Verbosity.current.quiet,
                lines_after=_FILE_LINES,
            )
            for path in (
                files["html"],
                files["markdown"],
                files["json"],
                result.output_dir / "runs",
            ):
                typer.echo(f"written  {path}")
        of_data = [] if result.dataset is None else result.dataset.notes
        for text in (*of_data, *benchmark.input_notes(report)):
            note(text)
        if unscored := report.unscored:  # the report is already written
            reasons = "; ".join(f"{mode.label} is {mode.status}" for mode in unscored.values())
            raise CheckFailedError(
                f"{len(unscored)} of {len(unscored) + len(report.modes)} modes could not be "
                f"scored: {reasons}",
                where=str(result.output_dir),
                remedy="see the reasons in the report",
            )


def benchmark_run(
    options: Annotated[Given, _SETTINGS],
    report: ReportOptions,
    files: RunFiles,
    config: Config = None,
    _list: Annotated[
        bool,
        Option(
            "--settings",
            callback=list_settings,
            is_eager=True,
            help="List every setting of --set and of the configuration file, and exit.",
        ),
    ] = False,
) -> None:
    """Every mode searches the same documents for the same queries. Its run is validated and scored;
    every mean has an interval, and every difference is computed query by query. The
    command writes BenchmarkReport.html, BenchmarkReport.json, BenchmarkComparison.md,
    reports/<mode>.json, per_query.parquet, qrels.txt, runs/<mode>.run and, with --plots,
    visualizations/*.png and *.svg. Without data, the dataset is hpo.

    \b
    Examples:
      benchmark run --dataset hpo --modes lexical,vector,hybrid
      benchmark run --corpus corpus.jsonl --topics topics.tsv --qrels qrels.txt
      benchmark run --runs bm25=bm25.run --runs mine=mine.run --qrels qrels.txt --baseline bm25
      benchmark run --dataset irds:cranfield --runs bm25=bm25.run --runs mine=mine.run
      benchmark run --runs a.run b.run c.run --qrels qrels.txt --scheduler tcp://10.0.0.1:8786
      benchmark run --config benchmark.yaml --output-dir results/today
      benchmark run --dataset hpo --modes bm25,dense,hybrid --enable-reranker
      benchmark run --dataset DIR --backend python --retriever my_search:search
    """
    runs = files.by_name()
    settings = {"runs": runs, **options}
    if runs is not None and "baseline" in options:
        settings["baseline"] = formats.name_baselines(split_list(options["baseline"]), runs)
    if config is None and not any(map(settings.get, (*_DATA, *_BACKENDS))):
        settings["dataset"] = "hpo"
        note("no data given; comparing on the HPO demo set (--dataset hpo)")
    configuration = benchmark.load_config(config, settings)
    if configuration.runs is None and configuration.is_embedded:
        searched = options.get("retrieval", {})
        refuse_unused(searched, configuration.mode_keys, configuration.retrieval)
    report.run(configuration)


_VECTOR_SETTINGS = SettingOptions(
    benchmark.BenchmarkConfig,
    *("dataset", "test_file", "unknown_terms", "corpus", "topics", "qrels", "ontology"),
    *("retrieval.embedding_model", "retrieval.reranker", "retrieval.device", "depth"),
    *("output_dir", *_FIGURES),
)


def benchmark_compare_vectors(
    options: Annotated[Given, _VECTOR_SETTINGS],
    report: ReportOptions,
    strategies: Annotated[
        str | None,
        Option(
            help="Aggregation strategies, comma-separated: label_only, label_synonyms_max, "
            "all_max, all_weighted.  [default: all]",
        ),
    ] = None,
    no_single: Annotated[
        bool,
        Option(
            "--no-single",
            help="Leave out the search with one vector per document, and compare every pair of "
            "strategies.",
        ),
    ] = False,
) -> None:
    """The command runs a benchmark whose modes are single-vector search, and multi-vector search
    with each aggregation strategy. It writes the same report as benchmark run, in which every
    strategy is compared with single-vector search. Without --dataset and --corpus, it uses
    --dataset hpo.

    \b
    Examples:
      benchmark compare-vectors --dataset hpo
      benchmark compare-vectors --test-file cases.json --strategies label_only,label_synonyms_max
      benchmark compare-vectors --dataset hpo --no-single
    """
    if "corpus" not in options:
        options.setdefault("dataset", "hpo")
    chosen = None if strategies is None else split_list(strategies)
    settings = benchmark.compare_vectors_options(options, chosen, single=not no_single)
    config = benchmark.load_config(options=settings)
    refuse_unused(options.get("retrieval", {}), config.mode_keys, config.retrieval)
    report.run(config)


_LANGUAGE_SETTINGS = SettingOptions(
    benchmark.BenchmarkConfig,
    *("modes", "unknown_terms", "ontology", "depth", "retrieval", *_FIGURES),
)


def benchmark_multilingual(
    options: Annotated[Given, _LANGUAGE_SETTINGS],
    sets: Annotated[
        list[str] | None,
        Argument(
            metavar="[SET]...",
            help="Test sets, one for each language or in several: shipped names or files.  "
            "[default: the standard sets of all five languages]",
        ),
    ] = None,
    output_dir: Annotated[
        Path, output_dir_option("Folder for all reports, with a sub-folder for each language.")
    ] = Path("results/multilingual"),
    output_format: TextMarkdownJson = "text",
) -> None:
    """The command writes a report for each language, in a folder named after the language. In
    MultilingualReport.json and MultilingualComparison.md, it writes for each measure the unweighted
    mean of the languages' means, their variance, and the difference between the best and the worst
    language. Queries of different languages are never averaged together: a set in several
    languages is split. Two sets of one language are refused.

    If the sets are parallel (the same query ids with the same terms of the highest grade), each
    difference of two languages is tested query by query.

    \b
    Examples:
      benchmark multilingual --modes lexical,vector -m RR@10
      benchmark multilingual hpo-en-tiny hpo-de-tiny hpo-fr-tiny
      benchmark multilingual hpo-en-standard mine-de.json --modes lexical,vector -m RR@10
      benchmark multilingual all-languages.json --unknown-terms drop
      benchmark multilingual hpo-en-tiny hpo-de-tiny --embedding-model models/e5
    """
    all_options = {**options, "output_dir": str(output_dir)}
    settings = benchmark.load_config(options={**all_options, "dataset": "hpo"})
    refuse_unused(options.get("retrieval", {}), settings.mode_keys, settings.retrieval)
    with show_progress() as progress:
        result = benchmark.run_multilingual(
            sets or benchmark.PARALLEL_SETS,
            all_options,
            progress,
            command=format_command(sys.argv),
        )
    files = reporting.write_multilingual(result)
    blocks = reporting.multilingual_blocks(result.report)
    print_result(output_format, result.report, blocks, files=files)


_SWEEP_SETTINGS = SettingOptions(
    benchmark.SweepConfig,
    *("dataset", "test_file", "unknown_terms", "language"),
    *("topics", "qrels", "ontology"),
    *(
        "measures",
        "primary_measure",
        "baseline",
        "missing",
        "confidence",
        "resamples",
        "seed",
        "output_dir",
    ),
)


def benchmark_sweep(
    options: Annotated[Given, _SWEEP_SETTINGS],
    files: RunFiles,
    grid: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=VALUES",
            help="Values of a setting, comma-separated, for example fusion.weights=0.4,0.5,0.6; "
            "the parts of one value are separated by colons, for example 0.2:0.3:0.5. Repeatable: "
            "every combination is a variant.",
        ),
    ] = None,
    output_format: TextMarkdownJson = "text",
    config: Config = None,
) -> None:
    """The mean of the best of many variants is too high: it is the best by chance too. The command
    therefore also reports its corrected mean, the value to expect on new queries: the best variant
    on resampled queries, scored on the other queries.

    --grid varies the fusion of the runs: fusion.weights, fusion.method, fusion.k,
    fusion.normalisation and depth. With two runs, a weight w means w and 1 - w. Without --grid, the
    variants are the runs; `runs fetch --set` makes some. The command writes
    SweepReport.json, SweepReport.md, SweepReport.html, per_query.parquet, winner.run and, with the
    extra plots, visualizations/sweep.png and .svg.

    \b
    Examples:
      benchmark sweep --runs a.run b.run --qrels qrels.txt --grid fusion.weights=0.4,0.5,0.6
      benchmark sweep --runs variants/*.run --qrels qrels.txt --baseline bm25
    """
    varied = split_assignments(grid or [], "--grid") or None
    settings = {**options, "runs": files.by_name(), "grid": varied}
    configuration = benchmark.load_sweep_config(config, settings)
    with show_progress() as progress:
        result = benchmark.run_sweep(configuration, progress, command=format_command(sys.argv))
    written = reporting.write_sweep_report(result)
    full = output_format != "text"
    blocks = reporting.sweep_blocks(result.report, full=full)
    print_result(output_format, result.report, blocks, files=written)


_TABLE_SETTINGS = SettingOptions(
    benchmark.BenchmarkConfig,
    *("primary_measure", "test", "correction", "interval", "confidence", "resamples", "seed"),
    assigns=False,
)


def compare_runs(
    runs: Annotated[
        list[str],
        Argument(
            metavar="RUN...",
            help="Run files, or NAME=FILE; without NAME=, a run is named after its file. - is "
            "standard input.",
        ),
    ],
    qrels: Annotated[
        str,
        Option(metavar="FILE", help="Judgments: TREC or BEIR qrels, or another format of eval."),
    ],
    scoring: ScoringOptions,
    settings: Annotated[Given, _TABLE_SETTINGS],
    paper: TableOptions,
    baseline: Annotated[
        str | None,
        Option(
            help="Compare every other run with this run, or with several, comma-separated.  "
            "[default: compare every pair]",
        ),
    ] = None,
    to: Annotated[
        list[Path] | None,
        Option(
            help="Also write the table to a file ending in .tex, .md or .csv, or everything to one "
            "ending in .json; repeatable.",
        ),
    ] = None,
    output_format: Annotated[
        Literal["text", "json", "csv", "markdown", "latex"],
        Option(
            "--format",
            help="Output format: text to read, json for everything, the others for the table.",
        ),
    ] = "text",
    everything: Everything = False,
) -> None:
    """Print which run is best and whether that is significant, then the means with their intervals.
    A letter after a mean names a run that is significantly worse. With --baseline, the table has
    the difference of each run from the baseline, its interval, the adjusted p-value, and the
    queries won, tied and lost. The figures are those of benchmark run, which also writes a report.
    Exit code 3: the means are over different queries.

    \b
    Examples:
      trectools-plus compare bm25.run dense.run --qrels qrels.txt
      trectools-plus compare bm25=a.run mine=b.run --qrels qrels.txt --baseline bm25 -m nDCG@10,AP
      trectools-plus compare runs/*.run --qrels qrels.txt --to paper.tex --to figures.csv
      trectools-plus compare a.run b.run --qrels qrels.txt --format latex --label tab:main
      trectools-plus compare a.run b.run --qrels qrels.txt --test t_test --format json
    """
    reporting.check_suffixes(*(to or ()), known=reporting.COMPARISON_SUFFIXES)
    scored = scoring.score(qrels, runs)
    of_files = {name: run.path or "" for name, run in scored.runs.items()}
    baselines = formats.name_baselines(split_list(baseline or ""), of_files)
    comparing = benchmark.Comparing.of(settings, baselines)
    primary = settings.get("primary_measure")
    compared = benchmark.make_comparisons(scored.evaluation, comparing, Path(qrels).name, primary)
    if scored.exclusions is not None:
        compared.report.config["exclude"] = scored.exclusions.record
    layout = paper.layout()
    reporting.write_comparisons(compared, *(to or ()), layout=layout)
    if output_format == "json":
        print_result("json", compared.report, ())
    elif output_format == "text":
        notes = not Verbosity.current.quiet
        reporting.print_report(compared.report, sys.stdout, full=everything, notes=notes)
    else:
        table = reporting.table_as_text(compared.report, output_format, layout=layout)
        typer.echo(table, nl=False)
    print_notes(compared.evaluation)
