"""The settings of an extraction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ConfigDict, model_validator

from trectools_plus.models import Model
from trectools_plus.retrieval.setting_types import Option, make_model, setting

RETRIEVAL = "Retrieval"
"""A panel of the help."""
OF_RETRIEVAL = frozenset({"retriever", "num_results", "chunk_threshold", "top_term_only", "verify"})
"""Settings that the method ``dictionary`` does not use."""


class ExtractionSettings(Model):
    """Settings of an extraction; every report contains them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    method: Literal["dictionary", "retrieval", "both"] = setting(
        "dictionary",
        "Find terms with a dictionary of their names, with retrieval, or with both: retrieval adds "
        "mentions where the dictionary found none, and never replaces one.",
        Option(default="dictionary; both if an option of retrieval is given"),
    )
    retriever: Literal["lexical", "vector", "hybrid"] = setting(
        "vector",
        "Search that finds names of terms for a phrase: lexical, vector or hybrid.",
        Option("NAME", RETRIEVAL),
    )
    num_results: int = setting(
        10, "Number of names to retrieve per chunk.", Option("N", RETRIEVAL), ge=1, le=1000
    )
    chunk_threshold: float = setting(
        0.5,
        "Drop names with a lower retrieval score.",
        Option("SCORE", RETRIEVAL, default="0.5 (cosine); 0 for lexical and hybrid"),
        ge=0,
        allow_inf_nan=False,
    )
    min_confidence: float = setting(
        0.5,
        "Drop mentions with a lower confidence, between 0 and 1. At 0.5, a mention is as likely to "
        "be correct as to be wrong.",
        Option("NUMBER"),
        ge=0,
        le=1,
    )
    top_term_only: bool = setting(
        False, "Keep only the first retrieved term of each chunk.", Option(panel=RETRIEVAL)
    )
    verify: bool = setting(
        True,
        "Keep a result only if words of the chunk match a name of the term, with at most one word "
        "replaced by a word that the ontology uses interchangeably.",
        Option(
            panel=RETRIEVAL,
            names="--unverified",
            help="Accept every retrieved name without checking it word by word.",
            constant=False,
        ),
    )
    style: Literal["abstract", "notes"] = setting(
        "abstract",
        "Style of the texts: notes also finds abbreviations, lay words and values, and findings in "
        "German, French, Spanish and Dutch. It suits letters and finds more wrong terms elsewhere.",
        Option(),
    )
    language: Literal["", "en", "de", "fr", "es", "nl"] = setting(
        "",
        "Language of the texts, as ISO 639-1 code.",
        Option("CODE", default="recognised for each text"),
    )
    root: str = setting(
        "",
        "Extract and score only terms below this term, in predictions and gold.",
        Option("ID", default="HP:0000118, Phenotypic abnormality, if the ontology has it"),
    )

    @model_validator(mode="before")
    @classmethod
    def _set_defaults(cls, values: Any) -> Any:
        """Set the method if only settings of retrieval are given, and the threshold."""
        if not isinstance(values, dict):
            return values
        defaults = dict[str, Any]()
        if not OF_RETRIEVAL.isdisjoint(values):
            defaults["method"] = "both"
        if values.get("retriever") in ("lexical", "hybrid"):
            defaults["chunk_threshold"] = 0.0
        return {**defaults, **values}


def make_extraction_settings(values: Mapping[str, object]) -> ExtractionSettings:
    """Build settings from a user's values.

    Args:
        values: Values by the names of the settings.

    Raises:
        UsageError: If a name is unknown or a value is out of range.
    """
    return make_model(ExtractionSettings, values)
