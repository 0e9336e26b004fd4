"""``benchmark compare-vectors``."""

from __future__ import annotations

from typing import Annotated

import typer

from trectools_plus import benchmark
from trectools_plus.choices import STRATEGIES
from trectools_plus.cli import completion
from trectools_plus.cli.commands.benchmark.run import report_benchmark
from trectools_plus.cli.options.benchmark import (
    Everything,
    FigureOptions,
    LogTo,
    NoCache,
    OutputDir,
    Plots,
    QrelsFile,
)
from trectools_plus.cli.options.common import (
    AnnotationsFile,
    CorpusFile,
    Dataset,
    Depth,
    HpoTestSet,
    OntologyFile,
    TextOrJson,
    TopicsFile,
    UnknownTermsChoice,
)
from trectools_plus.cli.options.groups import with_groups
from trectools_plus.cli.options.retrieval import (
    DeviceName,
    EmbeddingModel,
    EnableReranker,
    RerankerModel,
    RetrievalOptions,
    Setting,
)
from trectools_plus.text import split_list


@with_groups
def benchmark_compare_vectors(
    *,
    dataset: Dataset = None,
    test_file: HpoTestSet = None,
    unknown_terms: UnknownTermsChoice = None,
    ontology: OntologyFile = None,
    corpus: CorpusFile = None,
    topics: TopicsFile = None,
    qrels: QrelsFile = None,
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
    embedding_model: EmbeddingModel = None,
    device: DeviceName = None,
    enable_reranker: EnableReranker = False,
    reranker_model: RerankerModel = None,
    setting: Setting = None,
    output_dir: OutputDir = None,
    depth: Depth = None,
    figures: FigureOptions,
    annotations: AnnotationsFile = None,
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
    searching = RetrievalOptions(
        enable_reranker=enable_reranker,
        reranker_model=reranker_model,
        embedding_model=embedding_model,
        device=device,
        setting=setting,
    )
    settings = benchmark.ConfigOptions(
        dataset="hpo" if dataset is None and corpus is None else dataset,
        test_file=test_file,
        unknown_terms=unknown_terms,
        corpus=corpus,
        topics=topics,
        qrels=qrels,
        output_dir=None if output_dir is None else str(output_dir),
        depth=depth,
        ontology=ontology,
        annotations=annotations,
        retrieval=searching.values() or None,
        **figures.settings(),
    )
    chosen = None if strategies is None else split_list(strategies)
    settings = benchmark.compare_vectors_options(settings, chosen, single=not no_single)
    config = benchmark.load_config(options=settings)
    searching.check_used(config.mode_keys, config.retrieval)
    report_benchmark(
        config,
        cached=not no_cache,
        as_json=output_format == "json",
        everything=everything,
        plots=plots,
        log_to=log_to,
    )
