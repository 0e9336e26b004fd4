"""``benchmark run``."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, get_args

import typer

from trectools_plus import benchmark, reporting
from trectools_plus.choices import Missing, NoRelevant
from trectools_plus.cli import completion
from trectools_plus.cli.options.backends import BackendOptions
from trectools_plus.cli.options.benchmark import (
    Everything,
    FigureOptions,
    LogTo,
    Modes,
    NoCache,
    OutputDir,
    Plots,
    QrelsFile,
)
from trectools_plus.cli.options.common import (
    FIGURES,
    MISSING_HELP,
    NO_RELEVANT_HELP,
    SEARCH,
    WORK,
    AnnotationsFile,
    CorpusFile,
    Dataset,
    Depth,
    HpoTestSet,
    OntologyFile,
    Scheduler,
    StrictInput,
    TextOrJson,
    TopicsFile,
    UnknownTermsChoice,
)
from trectools_plus.cli.options.groups import with_groups
from trectools_plus.cli.options.retrieval import RetrievalOptions
from trectools_plus.cli.options.runs import name_files, parse_runs, split_measures
from trectools_plus.cli.options.topics import IdField, TextFields, TopicsLanguage
from trectools_plus.cli.verbosity import is_quiet, note, show_progress
from trectools_plus.distributed import use_scheduler
from trectools_plus.errors import (
    CheckFailedError,
    MissingExtraError,
    TrectoolsPlusError,
    UsageError,
    raise_all,
)
from trectools_plus.provenance import format_command
from trectools_plus.text import split_list

_DATA = ("dataset", "test_file", "corpus", "topics", "qrels", "runs")
_BACKENDS = ("backend", "retriever", "http", "milvus")
"""Settings of a backend, which may have its own documents."""
_FILE_LINES = 6
"""Lines after the report: the names of its files, and a note."""


@with_groups
def benchmark_run(
    *,
    dataset: Dataset = None,
    runs: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE...",
            help="Run files to compare instead of searching; needs --qrels or "
            "--dataset. Without NAME=, a run is named after its file.",
        ),
    ] = None,
    qrels: QrelsFile = None,
    corpus: CorpusFile = None,
    topics: TopicsFile = None,
    id_field: IdField = None,
    text_fields: TextFields = None,
    language: TopicsLanguage = None,
    test_file: HpoTestSet = None,
    unknown_terms: UnknownTermsChoice = None,
    ontology: OntologyFile = None,
    annotations: AnnotationsFile = None,
    modes: Modes = None,
    figures: FigureOptions,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Compare every other mode with this mode, or with several, comma-separated.  "
            "[default: compare every pair]",
            autocompletion=completion.complete_modes,
        ),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            metavar="zero|drop",
            help=f"{MISSING_HELP}  [default: zero]",
            rich_help_panel=FIGURES,
            autocompletion=completion.complete_words(get_args(Missing)),
        ),
    ] = None,
    no_relevant: Annotated[
        str | None,
        typer.Option(
            metavar="zero|drop",
            help=f"{NO_RELEVANT_HELP}  [default: zero]",
            rich_help_panel=FIGURES,
            autocompletion=completion.complete_words(get_args(NoRelevant)),
        ),
    ] = None,
    output_dir: OutputDir = None,
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
    depth: Depth = None,
    exclude_self: Annotated[
        bool | None,
        typer.Option(
            "--exclude-self",
            help="Drop the document whose id equals the query's id, before the cut to --depth.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    searching: RetrievalOptions,
    backend: BackendOptions,
    no_cache: NoCache = False,
    strict_input: StrictInput = False,
    ir_metadata: Annotated[
        bool,
        typer.Option(
            "--ir-metadata",
            help="Also write each run as annotated/<mode>.run, with an ir_metadata header.",
            rich_help_panel=WORK,
        ),
    ] = False,
    plots: Plots = False,
    scheduler: Scheduler = None,
    log_to: LogTo = None,
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
      benchmark run --dataset hpo --modes lexical,vector,hybrid --cutoffs 1,5,20
      benchmark run --corpus corpus.jsonl --topics topics.tsv --qrels qrels.txt
      benchmark run --runs bm25=bm25.run --runs mine=mine.run --qrels qrels.txt --baseline bm25
      benchmark run --dataset irds:cranfield --runs bm25=bm25.run --runs mine=mine.run
      benchmark run --runs a.run b.run c.run --qrels qrels.txt --scheduler tcp://10.0.0.1:8786
      benchmark run --config benchmark.yaml --output-dir results/today
      benchmark run --dataset hpo --modes bm25,dense,hybrid,hybrid+exact --enable-reranker
      benchmark run --dataset DIR --backend python --retriever my_search:search
      benchmark run --dataset irds:cranfield --backend milvus --modes lexical,vector,hybrid
    """
    files, names = _given_runs(runs or [], further_runs or [], figures.measure)
    settings = benchmark.ConfigOptions(
        dataset=dataset,
        test_file=test_file,
        unknown_terms=unknown_terms,
        corpus=corpus,
        topics=topics,
        qrels=qrels,
        id_field=id_field,
        text_fields=None if text_fields is None else split_list(text_fields),
        language=language,
        runs=files,
        modes=None if modes is None else split_list(modes),
        output_dir=None if output_dir is None else str(output_dir),
        depth=depth,
        exclude_self=exclude_self,
        ontology=ontology,
        annotations=annotations,
        missing=missing,
        no_relevant=no_relevant,
        baseline=None if baseline is None else split_list(baseline),
        retrieval=searching.values() or None,
        **replace(figures, measure=names).settings(),
        **backend.settings(),
    )
    if config is None and not any(map(settings.get, (*_DATA, *_BACKENDS))):
        settings["dataset"] = "hpo"
        note("no data given; comparing on the HPO demo set (--dataset hpo)")
    configuration = benchmark.load_config(config, settings)
    if configuration.runs is None and configuration.needs_corpus:
        searching.check_used(configuration.mode_keys, configuration.retrieval)
    report_benchmark(
        configuration,
        cached=not no_cache,
        strict_input=strict_input,
        ir_metadata=ir_metadata,
        as_json=output_format == "json",
        everything=everything,
        scheduler=scheduler,
        plots=plots,
        log_to=log_to,
    )


def _given_runs(
    options: list[str], further: list[str], measure: list[str] | None
) -> tuple[dict[str, str] | None, list[str] | None]:
    """Return the files of ``--runs`` by name, and the measures; arguments are further values.

    Raises:
        UsageError: If an argument is neither a run nor a measure, or a value is wrong.
    """
    files, names = split_measures([*options, *further], measure)
    unknown = [one for one in further if one in files and "=" not in one]
    if unknown and not options:
        raise UsageError(
            f"unexpected argument '{unknown[0]}'", remedy="write --runs before run files"
        )
    return (
        name_files(parse_runs(files, "--runs")) or None,
        names if names or measure else None,
    )


def report_benchmark(
    config: benchmark.BenchmarkConfig,
    *,
    cached: bool,
    strict_input: bool = False,
    ir_metadata: bool = False,
    as_json: bool = False,
    everything: bool = False,
    scheduler: str | None = None,
    plots: bool = False,
    log_to: list[str] | None = None,
) -> None:
    """Run a benchmark with a progress bar, write its report and print it.

    Args:
        config: The benchmark.
        cached: Whether earlier results of the same configuration, data and code are reused.
        strict_input: Whether every error of the qrels and of given runs is refused.
        ir_metadata: Whether the runs are also written with an ir_metadata header.
        as_json: Whether the report is printed as JSON instead of text.
        everything: Whether all measures and notes are printed.
        scheduler: Address of the Dask scheduler that distributes the work; ``None`` for none.
        plots: Whether the plots are also written as files.
        log_to: Experiment trackers to which the report is logged.
    """
    trackers = reporting.parse_trackers(log_to or [])
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
    files = reporting.write_reports(result, ir_metadata=ir_metadata, plots=plots)
    if as_json:
        typer.echo(reporting.render_json(result.report), nl=False)
    else:
        _show_result(result, files, everything=everything)
    for text in benchmark.input_notes(result.report, config):
        note(text)
    # The report is already written.
    raise_all(
        [
            *_errors_of_modes(result),
            *reporting.log_report(result.report, result.output_dir, trackers),
        ]
    )


def _errors_of_modes(result: benchmark.BenchmarkResult) -> list[TrectoolsPlusError]:
    """Return an error if modes could not be scored."""
    unscored = result.report.unscored
    if not unscored:
        return []
    all_modes = len(unscored) + len(result.report.modes)
    reasons = "; ".join(f"{one.label} is {one.status}" for one in unscored.values())
    return [
        CheckFailedError(
            f"{len(unscored)} of {all_modes} modes could not be scored: {reasons}",
            where=str(result.output_dir),
            remedy="see the reasons in the report",
        )
    ]


def _show_result(
    result: benchmark.BenchmarkResult, files: dict[str, Path], *, everything: bool
) -> None:
    reporting.print_report(
        result.report,
        sys.stdout,
        full=everything,
        notes=not is_quiet(),
        lines_after=_FILE_LINES,
    )
    typer.echo(
        f"\nreport   {files['html']}\n         {files['markdown']}\n         {files['json']}"
    )
    typer.echo(f"runs     {result.output_dir / 'runs'}")
