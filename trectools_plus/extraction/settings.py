"""The settings of an extraction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, Field, ValidationError, model_validator

from trectools_plus.choices import ChunkLevel, ExtractionMethod, RetrieverName
from trectools_plus.errors import UsageError
from trectools_plus.models import Model, explain_problem


class ExtractionSettings(Model):
    """Settings of an extraction; every report contains them.

    Attributes:
        method: ``dictionary`` searches for names, ``retrieval`` uses a retriever, ``both`` combines
            them: retrieval adds mentions where the dictionary found none, and never replaces one.
        retriever: The retrieval mode whose queries are the chunks: lexical, vector or hybrid over
            the names of terms, or an aggregation strategy of multi-vector search over whole terms.
        level: The kind of chunks: sentence, clause or phrase.
        num_results: The number of results for each chunk.
        chunk_threshold: Results with a lower retrieval score, a cosine, are dropped. The default is
            0 for ``lexical`` and ``hybrid``, whose scores are not cosines.
        min_confidence: Mentions with a lower confidence are dropped. At 0.5, a mention is as likely
            to be correct as to be wrong.
        top_term_only: Keep only the first term of each chunk.
        verify: Keep a result only if words of the chunk match a name of the term, with at most one
            word replaced by a word that the ontology uses interchangeably.
        max_gap: The number of words of a part of a coordination that another part may replace: 1
            finds *parathyroid hyperplasia* in *parathyroid adenoma or hyperplasia*.
        variations: Let the dictionary replace one word or ending of a name as learnt from the names
            in the ontology.
        inexact_synonyms: Use broad, narrow and related synonyms as names too.
        shortest_abbreviation: Abbreviations with fewer letters are ignored.
        assertions: Detect assertions; otherwise every mention is affirmed.
        root: The id of a term; only terms below it are predicted and scored. If empty, *Phenotypic
            abnormality* if the ontology has it, otherwise all terms.
        min_depth: The minimum number of edges between a term and the root of the ontology.
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
    max_gap: int = Field(default=2, ge=0, le=5)
    variations: bool = True
    inexact_synonyms: bool = True
    shortest_abbreviation: int = Field(default=3, ge=2)
    assertions: bool = True
    root: str = ""
    min_depth: int = Field(default=0, ge=0)

    @model_validator(mode="before")
    @classmethod
    def _set_threshold(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("retriever") in ("lexical", "hybrid"):
            return {"chunk_threshold": 0.0, **values}
        return values


def make_extraction_settings(
    values: Mapping[str, object], called: Mapping[str, str] | None = None
) -> ExtractionSettings:
    """Build settings from a user's values; ``None`` means the default.

    Args:
        values: Values by the names of the settings.
        called: The names of the settings in error messages, for example of command-line options;
            the same names if ``None``.

    Raises:
        UsageError: If a name is unknown or a value is out of range.
    """
    given = {name: value for name, value in values.items() if value is not None}
    try:
        return ExtractionSettings.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        if first["type"] == "extra_forbidden":
            known = ", ".join(ExtractionSettings.model_fields)
            raise UsageError(
                f"unknown setting '{name}'", remedy=f"expected one of {known}"
            ) from error
        what, remedy = explain_problem(first)
        raise UsageError(what, where=(called or {}).get(name, name), remedy=remedy) from error
