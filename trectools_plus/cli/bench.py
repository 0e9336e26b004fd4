"""``benchmark run``."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trectools_plus.cli.backends import BackendOptions, ChunkOptions, backend_values
from trectools_plus.cli.benchmark_options import (
    CorpusFile,
    Dataset,
    Depth,
    MeasureOptions,
    NoCache,
    OntologyFile,
    OutputDir,
    QrelsFile,
    ReportFormat,
    ResamplingOptions,
    SetOfHpo,
    TopicsFile,
)
from trectools_plus.cli.option_groups import AnnotationsFile, Scheduler, with_groups
from trectools_plus.cli.retrieval_options import RetrievalOptions
from trectools_plus.errors import CheckFailedError, UsageError

if TYPE_CHECKING:
    from trectools_plus.benchmark.run.config import BenchmarkConfig
    from trectools_plus.benchmark.run.runner import BenchmarkResult

_ENDING = re.compile(r"(\.(run|txt|trec|res|tsv))?(\.(gz|bz2|xz|zst))?$")


@with_groups
def benchmark_run(
    *,
    dataset: Dataset = None,
    test_file: SetOfHpo = None,
    corpus: CorpusFile = None,
    topics: TopicsFile = None,
    qrels: QrelsFile = None,
    runs: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE...",
            help="Existing run files to compare instead of fetching; goes with --qrels.",
        ),
    ] = None,
    modes: Annotated[
        str | None,
        typer.Option(
            help="Modes to fetch, with commas: lexical,vector,hybrid (the default); bm25 and dense "
            "are other names, splade and each aggregation strategy are further modes.",
        ),
    ] = None,
    retrieval: RetrievalOptions,
    config: Annotated[
        Path | None,
        typer.Option(help="A benchmark.yaml with any of these settings; options here win."),
    ] = None,
    output_dir: OutputDir = None,
    depth: Depth = None,
    backend: BackendOptions,
    chunks: ChunkOptions,
    exclude_self: Annotated[
        bool | None,
        typer.Option(
            "--exclude-self", help="Drop a document whose id is the query's, before the cutoff."
        ),
    ] = None,
    measures: MeasureOptions,
    ontology: OntologyFile = None,
    annotations: AnnotationsFile = None,
    missing: Annotated[
        str | None,
        typer.Option(
            metavar="zero|drop",
            help="A query without results counts as zero, or is dropped [default: zero].",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="MODE",
            help="Compare every other mode with this one, or several with commas "
            "[default: every pair].",
        ),
    ] = None,
    correction: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="For the number of comparisons: holm, bonferroni, benjamini_hochberg or "
            "tukey_hsd [default: holm].",
        ),
    ] = None,
    resampling: ResamplingOptions,
    no_cache: NoCache = False,
    ir_metadata: Annotated[
        bool,
        typer.Option(
            "--ir-metadata",
            help="Write the runs once more, as annotated/<mode>.run, with an ir_metadata header.",
        ),
    ] = False,
    scheduler: Scheduler = None,
    output_format: ReportFormat = "text",
    further_runs: Annotated[
        list[str] | None, typer.Argument(metavar="NAME=FILE", hidden=True)
    ] = None,
) -> None:
    """Compare retrieval modes or existing runs, and write a report.

    Every mode searches the same documents for the same queries; its run is validated and scored,
    every mean gets a bootstrap interval, every difference is taken query by query. Written are
    BenchmarkReport.html, BenchmarkReport.json, BenchmarkComparison.md, per_query.parquet,
    qrels.txt, runs/<mode>.run and visualizations/*.png and *.svg.

    \b
    Examples:
      benchmark run --dataset hpo --modes lexical,vector,hybrid --cutoffs 1,5,20
      benchmark run --corpus corpus.jsonl --topics topics.tsv --qrels qrels.txt
      benchmark run --runs bm25=bm25.run --runs mine=mine.run --qrels qrels.txt --baseline bm25
      benchmark run --runs a.run b.run c.run --qrels qrels.txt --scheduler tcp://10.0.0.1:8786
      benchmark run --config benchmark.yaml --output-dir results/today
      benchmark run --dataset hpo --modes bm25,dense,hybrid --multi-vector --enable-reranker
      benchmark run --dataset DIR --backend python --retriever my_search:search
      benchmark run --dataset irds:cranfield --backend milvus --modes lexical,vector,hybrid
    """
    from trectools_plus.benchmark.run.config_file import load_config
    from trectools_plus.text import split_list

    values = retrieval.values(beside_file=config is not None)
    options: dict[str, Any] = {
        "dataset": dataset,
        "test_file": test_file,
        "corpus": corpus,
        "topics": topics,
        "qrels": qrels,
        "runs": parse_runs(runs or [], further_runs or []),
        "modes": split_list(modes) if modes is not None else None,
        "output_dir": None if output_dir is None else str(output_dir),
        "depth": depth,
        "exclude_self": exclude_self,
        **measures.values(),
        "ontology": ontology,
        "annotations": annotations,
        "missing": missing,
        "baseline": None if baseline is None else split_list(baseline),
        "correction": correction,
        **vars(resampling),
        "retrieval": values or None,
        **backend_values(backend, chunks),
    }
    report_benchmark(
        load_config(config, options),
        sys.argv,
        cached=not no_cache,
        ir_metadata=ir_metadata,
        as_json=output_format == "json",
        scheduler=scheduler,
    )


def parse_runs(options: list[str], further: list[str]) -> dict[str, str] | None:
    """``NAME=FILE`` values as a dictionary; a bare ``FILE`` is named after itself.

    Args:
        options: Values of ``--runs``.
        further: Arguments without an option: more files behind ``--runs``.

    Raises:
        UsageError: If a name or file is empty, a name is given twice, or arguments follow no
            ``--runs``.
    """
    from trectools_plus.formats.files.remote import is_address

    if further and not options:
        raise UsageError(f"unexpected argument '{further[0]}'", remedy="see --help")
    runs: dict[str, str] = {}
    for assignment in [*options, *further]:
        name, equals, path = assignment.partition("=")
        if not equals or is_address(assignment):
            file = assignment.partition("?")[0] if is_address(assignment) else assignment
            name, path = _ENDING.sub("", Path(file).name), assignment
        if not name.strip() or not path:
            raise UsageError(
                f"expected NAME=FILE but got '{assignment}'",
                where="--runs",
                remedy="write --runs bm25=bm25.run",
            )
        if name in runs:
            raise UsageError(
                f"two runs are named '{name}'", where="--runs", remedy="write --runs NAME=FILE"
            )
        runs[name] = path
    return runs or None


def report_benchmark(
    config: BenchmarkConfig,
    argv: Sequence[str],
    *,
    cached: bool,
    ir_metadata: bool = False,
    as_json: bool = False,
    scheduler: str | None = None,
) -> None:
    """Run a benchmark with a progress bar, write its report and print it.

    Args:
        config: What to do.
        argv: The command line, for the manifest.
        cached: Whether earlier results of the same may come back.
        ir_metadata: Write the runs once more with a header.
        as_json: Print the report instead of the table.
        scheduler: Spread the work over the workers of this scheduler.
    """
    from trectools_plus.benchmark.run.runner import run_benchmark
    from trectools_plus.distributed import use_scheduler
    from trectools_plus.progress import progress_bar
    from trectools_plus.provenance import format_command
    from trectools_plus.reporting.files import write_reports

    with use_scheduler(scheduler), progress_bar() as progress:
        result = run_benchmark(config, progress, command=format_command(argv), cached=cached)
    files = write_reports(result, ir_metadata=ir_metadata)
    if as_json:
        from trectools_plus.reporting.files import render_json

        typer.echo(render_json(result.report), nl=False)
    else:
        _show_result(result, files)
    _refuse_unscored(result)


def _refuse_unscored(result: BenchmarkResult) -> None:
    """A report without some of the modes is written all the same, and is no success."""
    unscored = result.report.unscored
    if unscored:
        all_modes = len(unscored) + len(result.report.modes)
        reasons = "; ".join(f"{one.label} is {one.status}" for one in unscored.values())
        raise CheckFailedError(
            f"{len(unscored)} of {all_modes} modes could not be scored: {reasons}",
            where=str(result.output_dir),
            remedy="the report says why",
        )


def _show_result(result: BenchmarkResult, files: dict[str, Path]) -> None:
    from trectools_plus.reporting.terminal import print_report

    print_report(result.report, sys.stdout)
    typer.echo(
        f"\nreport   {files['html']}\n         {files['markdown']}\n         {files['json']}"
    )
    typer.echo(f"runs     {result.output_dir / 'runs'}")
