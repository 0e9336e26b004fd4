"""Phenopackets v2 (Jacobsen et al., Nat Biotechnol 2022; 40:817–820) of predictions, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trectools_plus.errors import FormatError
from trectools_plus.extraction.inputs.assertion_fields import read_assertion

FEATURES = "phenotypicFeatures"
_UNCERTAIN = "uncertain"
"""The description of an uncertain finding."""


def is_phenopacket(record: object) -> bool:
    """Return true for a JSON object with phenotypic features, or with metadata."""
    return isinstance(record, dict) and not record.keys().isdisjoint((FEATURES, "metaData"))


def features_of(record: Mapping[str, Any], path: str) -> list[dict[str, str]]:
    """Return id, label and assertion of every finding.

    Raises:
        FormatError: If a finding has no id, or an unknown assertion.
    """
    found = []
    for one in record.get(FEATURES, []):
        term = one.get("type") if isinstance(one, dict) else None
        if not isinstance(term, dict) or not isinstance(term.get("id"), str):
            raise FormatError("a phenotypic feature has no type with an id", path=path)
        try:
            said = read_assertion(one)
        except ValueError as error:
            raise FormatError(str(error), path=path) from error
        if said == "affirmed" and one.get("description") == _UNCERTAIN:
            said = "uncertain"
        found.append({"hpo_id": term["id"], "label": str(term.get("label", "")), "assertion": said})
    return found
