"""The parameters of every request; what is unknown is refused."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from trectools_plus.service.checks import Kind
from trectools_plus.service.evaluation import LONGEST_MEASURES

MeasureNames = Field(
    default=None,
    max_length=LONGEST_MEASURES,
    min_length=1,
    description="Measures with commas, such as `R@10,nDCG@10,RR`.",
    examples=["R@10,nDCG@10,RR"],
)
Background = Field(
    default=False, description="Answer 202 at once, with the job to look at, instead of waiting."
)

_COMPONENTS = r"^(bm25|lexical|dense|vector|hybrid)(,(bm25|lexical|dense|vector|hybrid))*$"


class _Parameters(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EvaluateParameters(_Parameters):
    """What to evaluate with."""

    components: str | None = Field(
        default=None,
        max_length=100,
        description="What searches: `bm25`, `dense`, or both with a comma, which is `hybrid`. "
        "Without it the service's hybrid search is evaluated, or the lexical one where it has no "
        "hybrid search; `mode` of the answer says which.",
        examples=["bm25", "bm25,dense"],
        json_schema_extra={"pattern": _COMPONENTS},
    )
    measures: str | None = MeasureNames
    publish: bool = Field(
        default=True, description="Whether `/metrics` shows the figures from now on."
    )
    background: bool = Background

    @field_validator("components")
    @classmethod
    def _known_components(cls, names: str | None) -> str | None:
        if names is not None and not re.fullmatch(_COMPONENTS, names):
            raise ValueError("expected bm25, dense, or both with a comma between")
        return names


class ValidateParameters(_Parameters):
    """What to check, and how."""

    kind: Kind = Field(description="What the file is.")
    strict: bool = Field(default=False, description="Warnings fail the check too.")
    profile: Literal["default", "trec", "submission"] = Field(
        default="default", description="Severities and limits."
    )
    background: bool = Background


class ScoreParameters(_Parameters):
    """What to compute."""

    measures: str | None = MeasureNames
    missing: Literal["zero", "drop"] = Field(
        default="zero",
        description="A judged query without results counts 0 (trec_eval -c), or is left out.",
    )
    per_query: bool = Field(default=False, description="Answer with every query's value too.")
    background: bool = Background
