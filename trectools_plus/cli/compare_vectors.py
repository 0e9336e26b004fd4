"""``benchmark compare-vectors``."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from trectools_plus.cli.bench import report_benchmark
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
from trectools_plus.cli.option_groups import AnnotationsFile, with_groups
from trectools_plus.cli.retrieval_options import (
    DeviceName,
    EmbeddingModel,
    EnableReranker,
    RerankerModel,
    Setting,
    retrieval_values,
)


@with_groups
def benchmark_compare_vectors(
    *,
    dataset: Dataset = None,
    test_file: SetOfHpo = None,
    ontology: OntologyFile = None,
    corpus: CorpusFile = None,
    topics: TopicsFile = None,
    qrels: QrelsFile = None,
    strategies: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Aggregation strategies with commas: label_only, label_synonyms_min, "
            "label_synonyms_max, all_max, all_weighted [default: all].",
        ),
    ] = None,
    no_single: Annotated[
        bool,
        typer.Option(
            "--no-single",
            help="Leave out the search with one vector for each document, and compare every pair "
            "of strategies.",
        ),
    ] = False,
    embedding_model: EmbeddingModel = None,
    device: DeviceName = None,
    enable_reranker: EnableReranker = False,
    reranker_model: RerankerModel = None,
    setting: Setting = None,
    output_dir: OutputDir = None,
    depth: Depth = None,
    measures: MeasureOptions,
    annotations: AnnotationsFile = None,
    resampling: ResamplingOptions,
    no_cache: NoCache = False,
    output_format: ReportFormat = "text",
) -> None:
    """Compare one vector for each document with one for each of its parts.

    A benchmark whose modes are the single-vector search and the multi-vector search with each
    aggregation strategy; the report is that of benchmark run, with every strategy compared to
    the single vector. Without any data named it takes --dataset hpo.

    \b
    Examples:
      benchmark compare-vectors --dataset hpo
      benchmark compare-vectors --test-file cases.json --strategies label_only,label_synonyms_max
      benchmark compare-vectors --dataset hpo --no-single --set aggregation_weights=label=1
    """
    from trectools_plus.benchmark.compare_vectors import compare_vectors_options
    from trectools_plus.benchmark.run.config_file import load_config
    from trectools_plus.text import split_list

    values = retrieval_values(
        setting,
        enable_reranker=enable_reranker,
        reranker_model=reranker_model,
        embedding_model=embedding_model,
        device=device,
    )
    options: dict[str, Any] = {
        "dataset": "hpo" if dataset is None and corpus is None else dataset,
        "test_file": test_file,
        "corpus": corpus,
        "topics": topics,
        "qrels": qrels,
        "output_dir": None if output_dir is None else str(output_dir),
        "depth": depth,
        **measures.values(),
        "ontology": ontology,
        "annotations": annotations,
        **vars(resampling),
        "retrieval": values or None,
    }
    chosen = None if strategies is None else split_list(strategies)
    config = load_config(options=compare_vectors_options(options, chosen, single=not no_single))
    report_benchmark(config, sys.argv, cached=not no_cache, as_json=output_format == "json")
