"""The settings of an extraction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from trectools_plus.choices import ChunkLevel, ExtractionMethod, RetrieverName
from trectools_plus.errors import UsageError
from trectools_plus.retrieval.values import explain_problem


class ExtractionSettings(BaseModel):
    """How terms are extracted; part of every report.

    Attributes:
        method: The dictionary of names, retrieval, or both: retrieval then adds mentions where the
            dictionary found none, and never replaces one.
        retriever: The retrieval mode that is asked about chunks: lexical, vector or hybrid over the
            names of terms, or an aggregation strategy of multi-vector search over whole terms.
        level: What a chunk is: sentence, clause or phrase.
        num_results: How many names a chunk is answered with.
        chunk_threshold: Answers with a lower retrieval score are dropped: a cosine. 0 unless given
            for ``lexical`` and ``hybrid``, whose scores are none.
        min_confidence: Mentions with a lower confidence are dropped; 0.5 is more likely than not.
        top_term_only: Only the first term of each chunk is kept.
        verify: Whether an answer counts only where words of the chunk are one of the term's names,
            up to one word that the ontology itself exchanges.
        max_gap: How many words of another conjunct a mention may leave out.
        inexact_synonyms: Whether broad, narrow and related synonyms are names too.
        shortest_abbreviation: Abbreviations of fewer letters are passed over.
        assertions: Whether assertions are detected; else every mention is affirmed.
        root: Only terms below this one; empty is *Phenotypic abnormality* where there is one.
        min_depth: Only terms at least so many edges below the ontology's root.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    method: ExtractionMethod = "both"
    retriever: RetrieverName = "vector"
    level: ChunkLevel = "phrase"
    num_results: int = Field(default=10, ge=1, le=1000)
    chunk_threshold: float = Field(default=0.5, ge=0, allow_inf_nan=False)
    min_confidence: float = Field(default=0.5, ge=0, le=1)
    top_term_only: bool = False
    verify: bool = True
    max_gap: int = Field(default=1, ge=0, le=5)
    inexact_synonyms: bool = True
    shortest_abbreviation: int = Field(default=3, ge=2)
    assertions: bool = True
    root: str = ""
    min_depth: int = Field(default=0, ge=0)

    @model_validator(mode="before")
    @classmethod
    def _no_cosine_no_threshold(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("retriever") in ("lexical", "hybrid"):
            return {"chunk_threshold": 0.0, **values}
        return values


def make_extraction_settings(
    values: Mapping[str, Any], called: Mapping[str, str] | None = None
) -> ExtractionSettings:
    """Build settings from a user's values; ``None`` leaves a default.

    Args:
        values: By the settings' names.
        called: What the user calls them, for messages; as they are if not given.

    Raises:
        UsageError: If a name is unknown or a value out of range; names the first such setting.
    """
    given = {name: value for name, value in values.items() if value is not None}
    try:
        return ExtractionSettings.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        if first["type"] == "extra_forbidden":
            known = ", ".join(ExtractionSettings.model_fields)
            raise UsageError(f"unknown setting '{name}'", remedy=f"there are {known}") from error
        what, remedy = explain_problem(first)
        raise UsageError(what, where=(called or {}).get(name, name), remedy=remedy) from error
