"""The parameters of every request; what is unknown is refused."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

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


class _Parameters(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EvaluateParameters(_Parameters):
    """What to evaluate with."""

    components: str = Field(
        default="bm25",
        max_length=100,
        description="What searches: `bm25`, `dense`, or both with a comma, which is `hybrid`.",
        examples=["bm25", "bm25,dense"],
        pattern=r"^(bm25|lexical|dense|vector|hybrid)(,(bm25|lexical|dense|vector|hybrid))*$",
    )
    measures: str | None = MeasureNames
    publish: bool = Field(
        default=True, description="Whether `/metrics` shows the figures from now on."
    )
    background: bool = Background


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
