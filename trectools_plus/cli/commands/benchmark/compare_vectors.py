"""``benchmark compare-vectors``."""

from __future__ import annotations

from typing import Annotated

import typer

from trectools_plus import benchmark, retrieval
from trectools_plus.choices import STRATEGIES
from trectools_plus.cli import completion
from trectools_plus.cli.commands.benchmark.run import report_benchmark
from trectools_plus.cli.options.benchmark import (
    FIGURE_SETTINGS,
    Everything,
    LogTo,
    NoCache,
    Plots,
)
from trectools_plus.cli.options.common import TextOrJson
from trectools_plus.cli.options.groups import with_groups
from trectools_plus.cli.options.retrieval import SearchOptions, Setting
from trectools_plus.cli.options.settings import Given, SettingOptions
from trectools_plus.text import split_list

_SETTINGS = SettingOptions(
    benchmark.BenchmarkConfig,
    *("dataset", "test_file", "unknown_terms", "corpus", "topics", "qrels"),
    *("ontology", "annotations", "depth", "output_dir"),
    *FIGURE_SETTINGS,
)
_SEARCH = SettingOptions(
    retrieval.RetrievalSettings, "embedding_model", "reranker", "reranker_model", "device"
)


@with_groups
def benchmark_compare_vectors(
    *,
    given: Annotated[Given, _SETTINGS],
    strategies: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Aggregation strategies, comma-separated: label_only, label_synonyms_min, "
            "label_synonyms_max, all_max, all_weighted.  [default: all]",
            autocompletion=completion.complete_list(STRATEGIES),
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
    searching: Annotated[Given, _SEARCH],
    setting: Setting = None,
    no_cache: NoCache = False,
    plots: Plots = False,
    log_to: LogTo = None,
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
        log_to=log_to,
    )
