"""The settings of the embedded retrieval modes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from trectools_plus.choices import AggregationName, Device, Normalisation, RerankerName
from trectools_plus.errors import UsageError
from trectools_plus.retrieval.index.parts import DEFAULT_WEIGHTS, KINDS
from trectools_plus.retrieval.values import Flag, Number, WholeNumber, explain_problem
from trectools_plus.text import split_list

STOPWORD_LANGUAGES = (
    "danish",
    "dutch",
    "english",
    "french",
    "german",
    "italian",
    "norwegian",
    "portuguese",
    "russian",
    "spanish",
    "swedish",
    "turkish",
)


class RetrievalSettings(BaseModel):
    """How documents are indexed and searched; part of every index key and manifest.

    Attributes:
        k1: BM25 term saturation, ``>= 0``.
        b: BM25 length normalisation, 0 to 1.
        stemmer: Name of a Snowball stemmer, or ``None`` to index words as they are.
        stopwords: Language of a stop word list, own words, or ``None`` to keep every word.
        fusion: How ``hybrid`` merges the lexical and the vector ranking.
        rrf_k: Constant of reciprocal rank fusion, ``1 / (rrf_k + rank)``, ranks from 1.
        weights: Weights of what ``hybrid`` merges (lexical, vector, and splade where it takes
            part) when ``fusion`` is ``weighted``; equal ones if ``None``.
        normalisation: How ``weighted`` brings the kinds of scores onto one scale.
        candidates: Least depth of the rankings that ``hybrid`` merges.
        batch_size: Queries searched at once. 1 makes latency per query mean what it says.
        multi_vector: Whether ``vector``, and so ``hybrid``, has a vector for each part of a
            document instead of one for the whole.
        aggregation_strategy: How the parts' scores become the document's, for ``multi_vector``.
        aggregation_weights: Weights of the kinds of parts, for ``all_weighted``.
        embedding_model: Folder of a sentence-transformers model that makes the vectors; the
            static embeddings if ``None``.
        query_prompt: Put before each query; the model's own prompt for queries if ``None``.
        document_prompt: Put before each document; the model's own if ``None``.
        max_length: Tokens of a text that the models read; what each was made for if ``None``.
        splade_model: Folder of the sparse encoder that the mode ``splade`` needs.
        reranker: What orders the first results of every mode again; nothing if ``None``.
        reranker_model: Folder of the model of the reranker ``cross-encoder``.
        rerank_depth: How many results are ordered again.
        device: Where models run: ``cpu`` or ``cuda``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    k1: Number = Field(default=0.9, ge=0, allow_inf_nan=False)
    b: Number = Field(default=0.4, ge=0, le=1)
    stemmer: str | None = "english"
    stopwords: str | tuple[str, ...] | None = "english"
    fusion: Literal["rrf", "weighted"] = "rrf"
    rrf_k: WholeNumber = Field(default=60, ge=0)
    weights: tuple[Number, ...] | None = None
    normalisation: Normalisation = "min-max"
    candidates: WholeNumber = Field(default=100, ge=1)
    batch_size: WholeNumber = Field(default=1, ge=1)
    multi_vector: Flag = False
    aggregation_strategy: AggregationName = "label_synonyms_max"
    aggregation_weights: dict[str, Number] = Field(default_factory=lambda: dict(DEFAULT_WEIGHTS))
    embedding_model: str | None = None
    query_prompt: str | None = None
    document_prompt: str | None = None
    max_length: WholeNumber | None = Field(default=None, ge=1)
    splade_model: str | None = None
    reranker: RerankerName | None = None
    reranker_model: str | None = None
    rerank_depth: WholeNumber = Field(default=50, ge=1)
    device: Device = "cpu"

    @field_validator("stemmer", "stopwords", mode="before")
    @classmethod
    def _none_is_no_value(cls, value: Any) -> Any:
        return None if value == "none" else value

    @field_validator("stopwords", mode="before")
    @classmethod
    def _words_with_commas(cls, value: Any) -> Any:
        return split_list(value) if isinstance(value, str) and "," in value else value

    @field_validator("weights", mode="before")
    @classmethod
    def _two_or_three_weights(cls, weights: Any) -> Any:
        given = weights.split(",") if isinstance(weights, str) else weights
        if isinstance(given, list | tuple) and len(given) not in (2, 3):
            raise ValueError(
                "expected a weight for each ranking that hybrid merges (lexical, vector, splade) "
                f"but got {len(given)} — write 0.5,0.5"
            )
        return [part.strip() for part in given] if isinstance(weights, str) else given

    @field_validator("weights")
    @classmethod
    def _usable_weights(cls, weights: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if weights is not None and not _are_weights(weights):
            shown = ",".join(f"{weight:g}" for weight in weights)
            raise ValueError(
                f"expected weights of at least 0, one of them above 0, but got {shown}"
                " — write 0.5,0.5"
            )
        return weights

    @field_validator("aggregation_weights", mode="before")
    @classmethod
    def _named_weights(cls, weights: Any) -> Any:
        if not isinstance(weights, str):
            return weights
        pairs = [part.partition("=") for part in split_list(weights)]
        names = [name.strip() for name, _, _ in pairs]
        if not all(equals for _, equals, _ in pairs) or len(set(names)) < len(names):
            raise ValueError(
                f"expected KIND=WEIGHT, each kind once, but got '{weights}' — write {_EXAMPLE}"
            )
        return {name: value.strip() for name, (_, _, value) in zip(names, pairs, strict=True)}

    @field_validator("aggregation_weights")
    @classmethod
    def _usable_kinds(cls, weights: dict[str, float]) -> dict[str, float]:
        unknown = [kind for kind in weights if kind not in KINDS]
        if unknown:
            raise ValueError(
                f"unknown kind of part '{unknown[0]}' — there are {', '.join(KINDS)}; "
                f"write {_EXAMPLE}"
            )
        if not _are_weights(tuple(weights.values())):
            shown = ",".join(f"{kind}={weight:g}" for kind, weight in weights.items()) or "none"
            raise ValueError(
                f"expected weights of at least 0, one of them above 0, but got {shown}"
                f" — write {_EXAMPLE}"
            )
        return weights

    @field_validator("reranker", mode="before")
    @classmethod
    def _none_is_no_reranker(cls, value: Any) -> Any:
        return None if value == "none" else value

    @model_validator(mode="after")
    def _reranker_has_its_model(self) -> Self:
        if (self.reranker == "cross-encoder") != (self.reranker_model is not None):
            raise ValueError(
                "reranker cross-encoder and reranker_model need each other — "
                "name the model's folder, or use the lexical reranker without one"
            )
        return self

    @field_validator("stemmer")
    @classmethod
    def _known_stemmer(cls, name: str | None) -> str | None:
        import Stemmer

        known = Stemmer.algorithms()
        if name is not None and name not in known:
            raise ValueError(f"unknown stemmer '{name}'; there are {', '.join(known)}, or none")
        return name

    @field_validator("stopwords")
    @classmethod
    def _known_stopwords(cls, words: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        if isinstance(words, str) and words not in STOPWORD_LANGUAGES:
            known = ", ".join(STOPWORD_LANGUAGES)
            raise ValueError(f"unknown stop word list '{words}'; there are {known}, or none")
        return words


_EXAMPLE = ",".join(f"{kind}={weight:g}" for kind, weight in DEFAULT_WEIGHTS.items())


def _are_weights(weights: tuple[float, ...]) -> bool:
    return all(0 <= weight < float("inf") for weight in weights) and any(weights)


def make_settings(values: Mapping[str, Any]) -> RetrievalSettings:
    """Build settings from a user's values.

    Raises:
        UsageError: If a name is unknown or a value out of range; names the first such setting.
    """
    try:
        return RetrievalSettings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "settings"
        if first["type"] == "extra_forbidden":
            known = ", ".join(RetrievalSettings.model_fields)
            raise UsageError(
                f"unknown setting '{name}'", where="--set", remedy=f"there are {known}"
            ) from error
        what, remedy = explain_problem(first)
        where = f"--set {name}" if first["loc"] else None
        raise UsageError(what, where=where, remedy=remedy) from error
