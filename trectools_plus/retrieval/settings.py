"""The settings of the embedded retrieval modes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)

from trectools_plus.choices import (
    MERGED_MODES,
    MODE_ALIASES,
    AggregationName,
    Device,
    FusionMethod,
    Normalisation,
    Panel,
)
from trectools_plus.errors import UsageError
from trectools_plus.retrieval.setting_types import (
    BUILTIN,
    NONE,
    Flag,
    Names,
    Number,
    Option,
    OptionalText,
    SettingsModel,
    WholeNumber,
    read_models,
    setting,
)
from trectools_plus.text import split_list

STOPWORD_LANGUAGES = split_list(
    "danish,dutch,english,french,german,italian,norwegian,portuguese,russian,spanish,swedish,turkish"
)

BATCH_SIZE = 256
"""Queries that the embedded modes search at once."""

DEFAULT_FUSION: FusionMethod = "weighted"
"""The method by which ``hybrid`` merges rankings, in every backend whose rankings it merges."""


class RetrievalSettings(SettingsModel):
    """Settings of indexing and search.

    Manifests contain all of them, and the key of an index those that determine the index.
    """

    k1: Number = setting(0.9, "BM25 term saturation, at least 0.", ge=0, allow_inf_nan=False)
    b: Number = setting(0.4, "BM25 length normalisation, 0 to 1.", ge=0, le=1)
    stemmer: OptionalText = setting(
        "english", "Name of a Snowball stemmer; none disables stemming."
    )
    stopwords: OptionalText = setting(
        "english",
        "Language of a stop word list; none keeps every word.",
    )
    components: Names | None = setting(
        None,
        "The modes that hybrid merges; splade is merged only if it is among the modes. By default "
        "lexical and vector, and ngram for documents that come in parts, unless multi_vector is "
        "false.",
    )
    fusion: FusionMethod | None = setting(
        None,
        "The fusion method of hybrid, by default weighted; fusion_method is another name of it.",
    )
    rrf_k: WholeNumber = setting(
        60, "Constant of reciprocal rank fusion, 1 / (rrf_k + rank), ranks from 1.", ge=0
    )
    weights: tuple[Number, ...] | None = setting(
        None,
        "Weights of the rankings that hybrid merges (lexical, vector, splade, ngram) when fusion "
        "is weighted, which they imply; by default those of fusion.WEIGHTS. A mapping names the "
        "rankings, and therefore the components: {'bm25': 0.3, 'splade': 0.4, 'dense': 0.3}.",
    )
    normalisation: Normalisation | None = setting(
        None,
        "How fusion methods that use scores normalise those of each ranking; by default z-score "
        "for the weighted fusion of documents that come in parts, otherwise min-max.",
    )
    candidates: WholeNumber = setting(
        100, "Minimum depth of the rankings that hybrid merges.", ge=1
    )
    rewording: Flag = setting(
        True,
        "Search for the terms of the HPO in ngram and hybrid also by translations, lay words and "
        "values of measurements.",
    )
    language: str | None = setting(
        None,
        "Language of all queries as ISO 639-1 code, which selects the glossary; by default the "
        "language that a query declares, otherwise it is recognised.",
    )
    multi_vector: Flag | None = setting(
        None,
        "Vector search with one vector for each part of a document (an ontology term's label, each "
        "synonym, the definition), or with one for the whole document.",
        Option(panel=Panel.SEARCH, default="for the terms of an ontology", constant=True),
    )
    aggregation_strategy: AggregationName = setting(
        "all_max",
        "With a vector for each part: how a document's score is computed from the scores of its "
        "parts.",
        Option(panel=Panel.SEARCH),
    )
    embedding_model: Annotated[str | dict[str, str] | None, BeforeValidator(read_models)] = setting(
        None,
        "Model for vector search: the folder of a sentence-transformers model, which needs the "
        "extra neural. A=DIR,B=DIR (or repeat the option) compares several; builtin is the default "
        "model.",
        Option(
            "DIR",
            Panel.MODELS,
            names="--embedding-model --model-name --model",
            default="the built-in embeddings, English only",
            is_repeated=True,
        ),
    )
    query_prompt: str | None = setting(
        None,
        "Text before each query; by default the model's prompt for queries.",
    )
    document_prompt: str | None = setting(
        None,
        "Text before each document; by default the model's prompt for documents.",
    )
    max_length: WholeNumber | None = setting(
        None,
        "Maximum tokens of a text that models read; by default the model's limit.",
        ge=1,
    )
    splade_model: str | None = setting(
        None,
        "Folder of a sparse encoder for the mode splade; needs the extra neural.",
        Option("DIR", Panel.MODELS),
    )
    reranker: Annotated[Literal["lexical"] | None, NONE] = setting(
        None,
        "The reranker of every mode's first results; none disables reranking.",
        Option(
            panel=Panel.MODELS,
            names="--enable-reranker",
            help="Rerank the first 50 results (--set rerank_depth=N changes the number) by the "
            "letters that the query shares with labels and synonyms.",
            constant="lexical",
        ),
    )
    rerank_depth: WholeNumber = setting(50, "Number of results that are reranked.", ge=1)
    device: Device = setting(
        "cpu",
        "Device that models run on.",
        Option(
            panel=Panel.MODELS,
            names="--gpu",
            help="Run models on the GPU, if there is one.",
            constant="cuda",
        ),
    )

    @model_validator(mode="before")
    @classmethod
    def _read_names(cls, values: Any) -> Any:
        """Read ``fusion_method`` as ``fusion``; weights imply ``weighted`` and may name modes."""
        if not isinstance(values, Mapping):
            return values
        settings = {**values}
        method = settings.pop("fusion_method", None)
        if method is not None and settings.setdefault("fusion", method) != method:
            raise ValueError("fusion and fusion_method differ — leave one of them out")
        if (weights := settings.get("weights")) is None:
            return settings
        settings.setdefault("fusion", "weighted")
        parts = split_list(weights) if isinstance(weights, str) else weights
        if isinstance(parts, list) and any("=" in str(part) for part in parts):
            parts = dict(str(part).partition("=")[::2] for part in parts)
        if isinstance(parts, Mapping):
            named = {MODE_ALIASES.get(name, name): weight for name, weight in parts.items()}
            settings.setdefault("components", list(parts))
            parts = [named[name] for name in MERGED_MODES if name in named]
        settings["weights"] = parts
        return settings

    @field_validator("components")
    @classmethod
    def _order_components(cls, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if names is None:
            return None
        canonical = [MODE_ALIASES.get(name, name) for name in names]
        if len(names) < 2 or len({*canonical} & {*MERGED_MODES}) < len(names):
            raise ValueError(
                f"expected at least two of {', '.join(MERGED_MODES)}, each once, but got "
                f"{', '.join(names) or 'none'} — write lexical,vector,ngram, or {_EXAMPLE}"
            )
        return tuple(name for name in MERGED_MODES if name in canonical)

    @property
    def merged(self) -> tuple[str, ...]:
        """The modes that ``hybrid`` merges, in the order of the weights."""
        return self.components or MERGED_MODES[: len(self.weights or "..")]

    @property
    def model_names(self) -> tuple[str, ...]:
        """The names of several embedding models; empty if there is only one."""
        return tuple(self.embedding_model) if isinstance(self.embedding_model, dict) else ()

    def model_folder(self, name: str = "") -> str | None:
        """Return the folder of an embedding model; ``None`` for the built-in embeddings.

        Args:
            name: The name of one of several models; empty for the only one.

        Raises:
            UsageError: If there are several models, and none is named.
        """
        models = self.embedding_model
        if isinstance(models, dict):
            if name not in models:
                raise UsageError(
                    f"expected one embedding model but got {', '.join(models)}",
                    where="embedding_model",
                    remedy="give one folder; benchmark run and runs fetch take several",
                )
            return None if models[name] == BUILTIN else models[name]
        return models

    def for_documents(self, *, has_parts: bool) -> Self:
        """Choose the settings that are ``None`` and depend on the documents.

        Args:
            has_parts: Whether the documents come in parts.
        """
        by_part = has_parts if self.multi_vector is None else self.multi_vector
        is_term = has_parts and by_part
        components = self.components
        if is_term and components is None and self.weights is None:
            components = ("lexical", "vector", "ngram")
        fusion = self.fusion or DEFAULT_FUSION
        usual: Normalisation = "z-score" if is_term and fusion == "weighted" else "min-max"
        return self.model_copy(
            update={
                "multi_vector": by_part,
                "components": components,
                "fusion": fusion,
                "normalisation": self.normalisation or usual,
            }
        )

    @model_serializer(mode="wrap")
    def _without_usual_values(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out the defaults of recent settings: earlier hashes stay the same."""
        fields: dict[str, Any] = handler(self)
        usual = {"rewording": True, "language": None}
        omitted = {name for name, value in usual.items() if fields.get(name) == value}
        if self.components in (None, MERGED_MODES[: len(self.weights or "..")]):
            omitted.add("components")
        return {name: value for name, value in fields.items() if name not in omitted}

    @model_validator(mode="after")
    def _check_combinations(self) -> Self:
        weights = self.weights
        is_complete = weights is None or 2 <= len(weights) == len(self.merged)
        if not is_complete or not are_valid_weights(weights or (1,)):
            raise ValueError(
                f"expected weights of at least 0, one above 0, for {', '.join(self.merged)} but "
                f"got {', '.join(f'{weight:g}' for weight in weights or ())} — write {_EXAMPLE}"
            )
        return self

    @field_validator("stemmer", "stopwords")
    @classmethod
    def _check_language(cls, name: str | None, info: ValidationInfo) -> str | None:
        import Stemmer

        known = Stemmer.algorithms() if info.field_name == "stemmer" else STOPWORD_LANGUAGES
        if name is not None and name not in known:
            raise ValueError(
                f"unknown {str(info.field_name).removesuffix('s')} '{name}' — use one of "
                f"{', '.join(known)}, or none"
            )
        return name


_EXAMPLE = "bm25=0.5,dense=0.5"


def are_valid_weights(weights: Collection[float]) -> bool:
    """Return whether all weights are finite and at least 0, and at least one is above 0."""
    return all(0 <= weight < float("inf") for weight in weights) and any(weights)
