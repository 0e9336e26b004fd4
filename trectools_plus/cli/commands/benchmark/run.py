"""Commands that run benchmarks: ``benchmark run``, ``compare-vectors`` and ``multilingual``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from trectools_plus import benchmark, formats, reporting, retrieval
from trectools_plus.cli.options.common import (
    FIGURE_SETTINGS,
    Everything,
    NoCache,
    Plots,
    Scheduler,
    StrictInput,
    TextMarkdownJson,
    TextOrJson,
    output_dir_option,
)
from trectools_plus.cli.options.from_models import Given, SettingOptions
from trectools_plus.cli.options.groups import with_groups
from trectools_plus.cli.options.retrieval import (
    SearchOptions,
    Setting,
    assign_settings,
    list_settings,
)
from trectools_plus.cli.options.runs import read_runs
from trectools_plus.cli.printing import write_as, write_files
from trectools_plus.cli.verbosity import is_quiet, note, show_progress
from trectools_plus.distributed import use_scheduler
from trectools_plus.errors import (
    CheckFailedError,
    MissingExtraError,
)
from trectools_plus.provenance import format_command
from trectools_plus.text import split_list

_SETTINGS = SettingOptions(
    benchmark.BenchmarkConfig,
    *("dataset", "test_file", "corpus", "topics", "qrels", "language", "ontology"),
    *("unknown_terms", "exclude", "modes", "backend", "retriever", "http.engine", "http.url"),
    *("retrieval.embedding_model", "retrieval.reranker", "retrieval.device", "depth"),
    *("measures", "baseline", "test", "confidence", "seed", "missing", "targets", "output_dir"),
)
"""The settings that have an option; all others are set by ``--set``."""
_DATA = ("dataset", "test_file", "corpus", "topics", "qrels", "runs")
_BACKENDS = ("backend", "retriever", "http")
"""Settings of a backend, which may have its own documents."""
_FILE_LINES = 6
"""Lines after the report: the names of its files, and a note."""


@with_groups
def benchmark_run(
    *,
    runs: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE...",
            help="Run files to compare instead of searching; needs --qrels or "
            "--dataset. Without NAME=, a run is named after its file.",
        ),
    ] = None,
    given: Annotated[Given, _SETTINGS],
    setting: Setting = None,
    _list: Annotated[
        bool,
        typer.Option(
            "--settings",
            callback=list_settings(benchmark.BenchmarkConfig),
            is_eager=True,
            help="List every setting of --set and of the configuration file, and exit.",
        ),
    ] = False,
    everything: Everything = False,
    output_format: TextOrJson = "text",
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Configuration file (benchmark.yaml) with any of these settings; options "
            "override it.",
        ),
    ] = None,
    no_cache: NoCache = False,
    strict_input: StrictInput = False,
    plots: Plots = False,
    scheduler: Scheduler = None,
    further_runs: Annotated[
        list[str] | None, typer.Argument(metavar="NAME=FILE", hidden=True)
    ] = None,
) -> None:
    """Every mode searches the same documents for the same queries. Its run is validated and scored;
    every mean has an interval, and every difference is computed query by query. The
    command writes BenchmarkReport.html, BenchmarkReport.json, BenchmarkComparison.md,
    reports/<mode>.json, per_query.parquet, qrels.txt, runs/<mode>.run and, with --plots,
    visualizations/*.png and *.svg. Without data, the dataset is hpo.

    \b
    Examples:
      benchmark run --dataset hpo --modes lexical,vector,hybrid --set cutoffs=1,5,20
      benchmark run --corpus corpus.jsonl --topics topics.tsv --qrels qrels.txt
      benchmark run --runs bm25=bm25.run --runs mine=mine.run --qrels qrels.txt --baseline bm25
      benchmark run --dataset irds:cranfield --runs bm25=bm25.run --runs mine=mine.run
      benchmark run --runs a.run b.run c.run --qrels qrels.txt --scheduler tcp://10.0.0.1:8786
      benchmark run --config benchmark.yaml --output-dir results/today
      benchmark run --dataset hpo --modes bm25,dense,hybrid,hybrid+exact --enable-reranker
      benchmark run --dataset DIR --backend python --retriever my_search:search
    """
    files, names = read_runs(runs, further_runs, given.pop("measures", None))
    of_search = assign_settings(given, setting, benchmark.BenchmarkConfig)
    searching = SearchOptions(given.pop("retrieval", {}), of_search)
    settings = {**given, "runs": files, "measures": names, "retrieval": searching.values or None}
    if files is not None and "baseline" in given:
        settings["baseline"] = formats.name_baselines(split_list(given["baseline"]), files)
    if config is None and not any(map(settings.get, (*_DATA, *_BACKENDS))):
        settings["dataset"] = "hpo"
        note("no data given; comparing on the HPO demo set (--dataset hpo)")
    configuration = benchmark.load_config(config, settings)
    if configuration.runs is None and configuration.is_embedded:
        searching.check_used(configuration.mode_keys, configuration.retrieval)
    report_benchmark(
        configuration,
        cached=not no_cache,
        strict_input=strict_input,
        as_json=output_format == "json",
        everything=everything,
        scheduler=scheduler,
        plots=plots,
    )


def report_benchmark(
    config: benchmark.BenchmarkConfig,
    *,
    cached: bool,
    strict_input: bool = False,
    as_json: bool = False,
    everything: bool = False,
    scheduler: str | None = None,
    plots: bool = False,
) -> None:
    """Run a benchmark with a progress bar, write its report and print it.

    Args:
        config: The benchmark.
        cached: Whether earlier results of the same configuration, data and code are reused.
        strict_input: Whether every error of the qrels and of given runs is refused.
        as_json: Whether the report is printed as JSON instead of text.
        everything: Whether all measures and notes are printed.
        scheduler: Address of the Dask scheduler that distributes the work; ``None`` for none.
        plots: Whether the plots are also written as files.
    """
    if plots and not reporting.can_draw():
        raise MissingExtraError("--plots", "plots")
    with use_scheduler(scheduler), show_progress() as progress:
        command = format_command(sys.argv)
        result = benchmark.run_benchmark(
            config, progress, command=command, cached=cached, strict_input=strict_input
        )
    topics = None if result.dataset is None else result.dataset.topics
    if topics is not None and topics.read_as is not None:
        note(f"{topics.path} {topics.read_as}")
    files = reporting.write_reports(result, plots=plots)
    write_as(
        "json" if as_json else "text",
        json=lambda: reporting.render_json(result.report),
        text=lambda: reporting.print_report(
            result.report,
            sys.stdout,
            full=everything,
            notes=not is_quiet(),
            lines_after=_FILE_LINES,
        ),
    )
    if not as_json:
        written = {**files, "runs": result.output_dir / "runs"}
        write_files(written, "html", "markdown", "json", "runs")
    of_data = [] if result.dataset is None else result.dataset.notes
    for text in (*of_data, *benchmark.input_notes(result.report, config)):
        note(text)
    if unscored := result.report.unscored:  # the report is already written
        all_modes = len(unscored) + len(result.report.modes)
        reasons = "; ".join(f"{mode.label} is {mode.status}" for mode in unscored.values())
        raise CheckFailedError(
            f"{len(unscored)} of {all_modes} modes could not be scored: {reasons}",
            where=str(result.output_dir),
            remedy="see the reasons in the report",
        )


_VECTOR_SETTINGS = SettingOptions(
    benchmark.BenchmarkConfig,
    *("dataset", "test_file", "unknown_terms", "corpus", "topics", "qrels"),
    *("ontology", "annotations", "depth", "output_dir"),
    *FIGURE_SETTINGS,
)
_VECTOR_SEARCH = SettingOptions(
    retrieval.RetrievalSettings, "embedding_model", "reranker", "reranker_model", "device"
)


@with_groups
def benchmark_compare_vectors(
    *,
    given: Annotated[Given, _VECTOR_SETTINGS],
    strategies: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Aggregation strategies, comma-separated: label_only, label_synonyms_min, "
            "label_synonyms_max, all_max, all_weighted.  [default: all]",
        ),
    ] = None,
    no_single: Annotated[
        bool,
        typer.Option(
            "--no-single",
            help="Leave out the search with one vector per document, and compare every pair of "
            "strategies.",
        ),
    ] = False,
    searching: Annotated[Given, _VECTOR_SEARCH],
    setting: Setting = None,
    no_cache: NoCache = False,
    plots: Plots = False,
    output_format: TextOrJson = "text",
    everything: Everything = False,
) -> None:
    """The command runs a benchmark whose modes are single-vector search, and multi-vector search
    with each aggregation strategy. It writes the same report as benchmark run, in which every
    strategy is compared with single-vector search. Without --dataset and --corpus, it uses
    --dataset hpo.

    \b
    Examples:
      benchmark compare-vectors --dataset hpo
      benchmark compare-vectors --test-file cases.json --strategies label_only,label_synonyms_max
      benchmark compare-vectors --dataset hpo --no-single --set aggregation_weights=label=1
    """
    options = SearchOptions(searching, setting)
    if "corpus" not in given:
        given.setdefault("dataset", "hpo")
    chosen = None if strategies is None else split_list(strategies)
    settings = benchmark.compare_vectors_options(
        {**given, "retrieval": options.values or None}, chosen, single=not no_single
    )
    config = benchmark.load_config(options=settings)
    options.check_used(config.mode_keys, config.retrieval)
    report_benchmark(
        config,
        cached=not no_cache,
        as_json=output_format == "json",
        everything=everything,
        plots=plots,
    )


_LANGUAGE_SETTINGS = SettingOptions(
    benchmark.BenchmarkConfig,
    *("modes", "unknown_terms", "ontology", "annotations", "depth", "retrieval"),
    *FIGURE_SETTINGS,
)


@with_groups
def benchmark_multilingual(
    *,
    sets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SET]...",
            help="Test sets, one for each language or in several: shipped names or files.  "
            "[default: the standard sets of all five languages]",
        ),
    ] = None,
    output_dir: Annotated[
        Path, output_dir_option("Folder for all reports, with a sub-folder for each language.")
    ] = Path("results/multilingual"),
    given: Annotated[Given, _LANGUAGE_SETTINGS],
    setting: Setting = None,
    no_cache: NoCache = False,
    output_format: TextMarkdownJson = "text",
) -> None:
    """The command writes a report for each language, in a folder named after the language. In
    MultilingualReport.json and MultilingualComparison.md, it writes for each measure the unweighted
    mean of the languages' means, their variance, and the difference between the best and the worst
    language. Queries of different languages are never averaged together: a set in several
    languages is split. Two sets of one language are refused.

    If the sets are parallel (the same query ids with the same terms of the highest grade), gap and
    variance have intervals, and each difference of two languages is tested query by query.
    Otherwise the command names the ids or terms that differ.

    \b
    Examples:
      benchmark multilingual --modes lexical,vector -m RR@10
      benchmark multilingual hpo-en-tiny hpo-de-tiny hpo-fr-tiny
      benchmark multilingual hpo-en-standard mine-de.json --modes lexical,vector -m RR@10
      benchmark multilingual all-languages.json --unknown-terms drop
      benchmark multilingual hpo-en-tiny hpo-de-tiny --embedding-model models/e5
    """
    searching = SearchOptions(given.pop("retrieval", {}), setting)
    options = {**given, "retrieval": searching.values or None, "output_dir": str(output_dir)}
    settings = benchmark.load_config(options={**options, "dataset": "hpo"})
    searching.check_used(settings.mode_keys, settings.retrieval)
    with show_progress() as progress:
        result = benchmark.run_multilingual(
            sets or benchmark.PARALLEL_SETS,
            options,
            progress,
            command=format_command(sys.argv),
            cached=not no_cache,
        )
    files = reporting.write_multilingual(result)
    write_as(
        output_format,
        json=lambda: reporting.render_json(result.report),
        markdown=lambda: reporting.markdown(reporting.multilingual_blocks(result.report)),
        text=lambda: reporting.print_blocks(
            reporting.multilingual_blocks(result.report), sys.stdout
        ),
    )
    if output_format == "text":
        write_files(files, "markdown", "json", *result.results)
