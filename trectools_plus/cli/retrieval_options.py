"""Options of every command that searches: multi-vector indexes, models, rerankers, ``--set``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from trectools_plus.errors import UsageError

if TYPE_CHECKING:
    from trectools_plus.formats.tables import Corpus

# Spelled out, as help must not load what defines them; a test compares.
Strategy = Literal[
    "label_only", "label_synonyms_min", "label_synonyms_max", "all_max", "all_weighted"
]

MultiVector = Annotated[
    bool,
    typer.Option(
        "--multi-vector",
        help="Vector search with a vector for each part of a document (an ontology term's label, "
        "each synonym, definition) instead of one for the whole.",
    ),
]
AggregationStrategy = Annotated[
    Strategy | None,
    typer.Option(
        help="How the parts' scores become the document's, with --multi-vector "
        "[default: label_synonyms_max]."
    ),
]
EnableReranker = Annotated[
    bool,
    typer.Option(
        "--enable-reranker",
        help="Order the first 50 results again (--set rerank_depth=N): by the letters shared with "
        "labels and synonyms, or by --reranker-model.",
    ),
]
RerankerModel = Annotated[
    str | None,
    typer.Option(
        metavar="DIR", help="Local cross-encoder for --enable-reranker; needs the extra neural."
    ),
]
EmbeddingModel = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Local sentence-transformers model for vector search instead of the built-in "
        "embeddings, which know English only; needs the extra neural.",
    ),
]
SpladeModel = Annotated[
    str | None,
    typer.Option(
        metavar="DIR", help="Local sparse encoder for the mode splade; needs the extra neural."
    ),
]
DeviceName = Annotated[
    Literal["cpu", "cuda"] | None,
    typer.Option(help="Where local models run [default: cpu]."),
]
Setting = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of the modes; repeatable. k1=0.9, b=0.4, stemmer=english,"
        " stopwords=english (or none, or words with commas), fusion=rrf (or weighted),"
        " rrf_k=60, weights=0.5,0.5 (lexical, vector, and splade where that is a mode),"
        " normalisation=min-max (or z-score), candidates=100, batch_size=1, multi_vector=false,"
        " aggregation_strategy=label_synonyms_max,"
        " aggregation_weights=label=1,synonym=1, embedding_model=DIR,"
        " query_prompt=TEXT, document_prompt=TEXT, max_length=TOKENS, splade_model=DIR,"
        " reranker=lexical (or cross-encoder), reranker_model=DIR, rerank_depth=50, device=cpu.",
    ),
]


@dataclass(frozen=True)
class RetrievalOptions:
    """All of these, for :func:`~trectools_plus.cli.option_groups.with_groups`."""

    multi_vector: MultiVector = False
    aggregation_strategy: AggregationStrategy = None
    enable_reranker: EnableReranker = False
    reranker_model: RerankerModel = None
    embedding_model: EmbeddingModel = None
    splade_model: SpladeModel = None
    device: DeviceName = None
    setting: Setting = None

    def values(self, *, beside_file: bool = False) -> dict[str, Any]:
        """See :func:`retrieval_values`."""
        return retrieval_values(**vars(self), beside_file=beside_file)


def retrieval_values(
    setting: Sequence[str] | None = None,
    *,
    multi_vector: bool = False,
    aggregation_strategy: str | None = None,
    enable_reranker: bool = False,
    reranker_model: str | None = None,
    embedding_model: str | None = None,
    splade_model: str | None = None,
    device: str | None = None,
    beside_file: bool = False,
) -> dict[str, Any]:
    """What the options say, as fields of ``RetrievalSettings``; only those that were given.

    Args:
        setting: ``--set``.
        multi_vector: The option of this name, like all that follow.
        aggregation_strategy: See above.
        enable_reranker: See above.
        reranker_model: See above.
        embedding_model: See above.
        splade_model: See above.
        device: See above.
        beside_file: Whether a configuration file may hold what an option needs.

    Raises:
        UsageError: If ``--set`` cannot be read or repeats an option, or an option is without
            effect.
    """
    values = parse_assignments(setting or [])
    if reranker_model and not enable_reranker:
        raise UsageError("--reranker-model needs --enable-reranker")
    given: dict[str, Any] = {
        "multi_vector": multi_vector or None,
        "aggregation_strategy": aggregation_strategy,
        "reranker_model": reranker_model,
        "embedding_model": embedding_model,
        "splade_model": splade_model,
        "device": device,
    }
    if enable_reranker:
        given["reranker"] = "cross-encoder" if reranker_model else "lexical"
    options = {name: value for name, value in given.items() if value is not None}
    for name in options.keys() & values.keys():
        option = "--enable-reranker" if name == "reranker" else f"--{name.replace('_', '-')}"
        raise UsageError(
            f"{option} and --set {name} are one setting", remedy="leave one of them out"
        )
    values |= options
    switch = values.get("multi_vector", beside_file)
    if "aggregation_strategy" in values and str(switch).lower() == "false":
        option = "--" if aggregation_strategy else "--set "
        name = "aggregation-strategy" if aggregation_strategy else "aggregation_strategy"
        raise UsageError(f"{option}{name} needs --multi-vector")
    return values


def parse_assignments(assignments: Sequence[str]) -> dict[str, Any]:
    """``NAME=VALUE`` texts of ``--set`` as a dictionary.

    Raises:
        UsageError: If one has no ``=``, a name is set twice, or a setting is without effect.
    """
    values: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, text = (part.strip() for part in assignment.partition("="))
        if not equals or name in values:
            problem = "is set twice" if equals else "has no '='"
            raise UsageError(
                f"--set {assignment}: {name} {problem}", remedy="write --set NAME=VALUE, once each"
            )
        values[name] = _setting_value(name, text)
    if values.get("fusion", "rrf") == "rrf" and values.keys() & {"weights", "normalisation"}:
        raise UsageError(
            "weights and normalisation have no effect on fusion=rrf",
            remedy="add --set fusion=weighted",
        )
    return values


def _setting_value(name: str, text: str) -> str | list[str] | None:
    if name in ("stemmer", "stopwords") and text == "none":
        return None
    if name == "weights" or (name == "stopwords" and "," in text):
        return [part.strip() for part in text.split(",") if part.strip()]
    return text


def open_documents(dataset: str | None, corpus: str | None, ontology: str | None) -> Corpus:
    """The documents that ``--dataset``, ``--corpus`` or ``--ontology`` names; HPO without any.

    Raises:
        UsageError: If several are given, or the dataset is unknown.
        InputError: If it cannot be read.
    """
    from trectools_plus.benchmark.run.dataset import open_corpus

    if corpus is not None:
        if dataset is not None or ontology is not None:
            raise UsageError("--corpus and --dataset or --ontology exclude each other")
        from trectools_plus.formats.corpus import load_corpus

        return load_corpus(corpus)
    return open_corpus(dataset or "hpo", ontology)
