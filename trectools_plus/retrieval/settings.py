"""The settings of the embedded retrieval modes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from trectools_plus.errors import UsageError

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

_Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]


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

    k1: float = Field(default=0.9, ge=0, allow_inf_nan=False)
    b: float = Field(default=0.4, ge=0, le=1)
    stemmer: str | None = "english"
    stopwords: str | tuple[str, ...] | None = "english"
    fusion: Literal["rrf", "weighted"] = "rrf"
    rrf_k: int = Field(default=60, ge=0)
    weights: tuple[_Weight, _Weight] = (0.5, 0.5)
    normalisation: Normalisation = "min-max"
    candidates: int = Field(default=100, ge=1)
    batch_size: int = Field(default=1, ge=1)

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

    @model_validator(mode="after")
    def _some_weight(self) -> RetrievalSettings:
        if not any(self.weights):
            raise ValueError("at least one weight must be above 0")
        return self


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
            raise UsageError(f"unknown setting '{name}'", remedy=f"there are {known}") from error
        message = first["msg"].removeprefix("Value error, ")
        raise UsageError(f"setting {name}: {message}", where=f"got {first['input']!r}") from error
