"""The settings of the embedded retrieval modes."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from trectools_plus.errors import UsageError
from trectools_plus.formats.lists import split_list
from trectools_plus.retrieval.values import Number, WholeNumber, explain_problem

Normalisation = Literal["min-max", "z-score"]

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
        weights: Weights of the lexical and the vector scores when ``fusion`` is ``weighted``.
        normalisation: How ``weighted`` brings the two kinds of scores onto one scale.
        candidates: Least depth of the two rankings that ``hybrid`` merges.
        batch_size: Queries searched at once. 1 makes latency per query mean what it says.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    k1: Number = Field(default=0.9, ge=0, allow_inf_nan=False)
    b: Number = Field(default=0.4, ge=0, le=1)
    stemmer: str | None = "english"
    stopwords: str | tuple[str, ...] | None = "english"
    fusion: Literal["rrf", "weighted"] = "rrf"
    rrf_k: WholeNumber = Field(default=60, ge=0)
    weights: tuple[Number, Number] = (0.5, 0.5)
    normalisation: Normalisation = "min-max"
    candidates: WholeNumber = Field(default=100, ge=1)
    batch_size: WholeNumber = Field(default=1, ge=1)

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
    def _two_weights(cls, weights: Any) -> Any:
        given = weights.split(",") if isinstance(weights, str) else weights
        if isinstance(given, list | tuple) and len(given) != 2:
            raise ValueError(
                f"expected two weights, of the lexical and the vector scores, but got {len(given)}"
                " — write 0.5,0.5"
            )
        return [part.strip() for part in given] if isinstance(weights, str) else given

    @field_validator("weights")
    @classmethod
    def _usable_weights(cls, weights: tuple[float, float]) -> tuple[float, float]:
        if not all(0 <= weight < float("inf") for weight in weights) or not any(weights):
            shown = ",".join(f"{weight:g}" for weight in weights)
            raise ValueError(
                f"expected weights of at least 0, one of them above 0, but got {shown}"
                " — write 0.5,0.5"
            )
        return weights

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


def make_settings(values: dict[str, Any]) -> RetrievalSettings:
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
        raise UsageError(what, where=f"--set {name}", remedy=remedy) from error
