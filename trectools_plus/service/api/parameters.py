"""The parameters of requests."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

MAX_MEASURES_LENGTH = 300
"""Maximum number of characters in a list of measures."""

FileKind = Literal["run", "qrels", "topics", "testset"]

MeasureNames = Field(
    default=None,
    max_length=MAX_MEASURES_LENGTH,
    min_length=1,
    description="Measures, separated by commas, for example `R@10,nDCG@10,RR`.",
    examples=["R@10,nDCG@10,RR"],
)
_COMPONENT = "(bm25|lexical|dense|vector|splade|ngram|hybrid)"
_COMPONENTS = rf"^{_COMPONENT}(,{_COMPONENT})*$"


class _Parameters(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EvaluateParameters(_Parameters):
    """Parameters of an evaluation."""

    components: str | None = Field(
        default=None,
        max_length=100,
        description="The components of the search: `bm25`, `dense`, `splade`, `ngram`, or several "
        "separated by commas, which is `hybrid`. The default is hybrid search, or lexical search "
        "if the service has no hybrid search. `mode` and `components` in the response name what "
        "was used.",
        examples=["bm25", "bm25,dense"],
        pattern=_COMPONENTS,
    )
    measures: str | None = MeasureNames
    publish: Literal["false"] = Field(
        default="false",
        description="Removed: start the service with --test-file to see figures in `/metrics`.",
    )


class ValidateParameters(_Parameters):
    """Parameters of a validation."""

    kind: FileKind = Field(description="The kind of the file.")
    strict: bool = Field(default=False, description="Warnings also fail the validation.")
    profile: Literal["default", "trec", "submission"] = Field(
        default="default", description="The profile, which defines severities and limits."
    )


class ScoreParameters(_Parameters):
    """Parameters of a score request."""

    measures: str | None = MeasureNames
    missing: Literal["zero", "drop"] = Field(
        default="zero",
        description="Judged queries without results: `zero` scores them 0 (trec_eval -c), `drop` "
        "excludes them.",
    )
    no_relevant: Literal["zero", "drop"] = Field(
        default="zero",
        description="Judged queries without a relevant document: `zero` scores them 0 (as "
        "trec_eval), `drop` excludes them.",
    )
    per_query: bool = Field(default=False, description="Include the value of every query.")
    strict_input: bool = Field(
        default=False,
        description="Refuse every error of the files, also those that change no figure.",
    )
