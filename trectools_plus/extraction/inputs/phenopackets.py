"""Phenopackets v2 (Jacobsen et al., Nat Biotechnol 2022; 40:817–820) of predictions, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from trectools_plus.errors import FormatError
from trectools_plus.extraction.inputs.assertion_fields import read_assertion
from trectools_plus.formats.files.atomic import atomic_write, make_folder
from trectools_plus.formats.files.outputs import read_manifest, refuse_foreign
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.provenance import format_time, utc_now

FEATURES = "phenotypicFeatures"
_SCHEMA_VERSION = "2.0"
_UNCERTAIN = "uncertain"
"""The description of an uncertain finding."""
_FIELDS: dict[str, dict[str, Any]] = {
    "negated": {"excluded": True},
    "uncertain": {"description": _UNCERTAIN},
}
"""The fields of a feature that say its assertion."""
_OBO = "http://purl.obolibrary.org/obo"
_TITLES = {"HP": "Human Phenotype Ontology"}


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


Finding = tuple[str, str]
"""The id of a term, and its assertion."""


def make_phenopacket(
    doc_id: str, findings: Iterable[Finding], ontology: Ontology
) -> dict[str, Any]:
    """Return a phenopacket of the findings of a document.

    Negated findings are excluded, uncertain ones are described as uncertain, and those of another
    person, or of an id that is not a term, are left out. The time of creation is
    ``SOURCE_DATE_EPOCH``, or the current time.
    """
    features = []
    for term_id, assertion in findings:
        if assertion == "other_person" or ontology.ids.find(term_id) is None:
            continue
        name = ontology.terms[term_id].name if term_id in ontology else ""
        features.append({"type": {"id": term_id, "label": name}, **_FIELDS.get(assertion, {})})
    prefix = next(iter(ontology.ids.live), "HP").partition(":")[0]
    return {
        "id": doc_id,
        "subject": {"id": doc_id},
        "phenotypicFeatures": features,
        "metaData": {
            "created": format_time(utc_now()),
            "createdBy": "trectools-plus",
            "resources": [
                {
                    "id": prefix.lower(),
                    "name": _TITLES.get(prefix, prefix),
                    "url": f"{_OBO}/{prefix.lower()}.owl",
                    "version": ontology.version.rpartition("/")[2],
                    "namespacePrefix": prefix,
                    "iriPrefix": f"{_OBO}/{prefix}_",
                }
            ],
            "phenopacketSchemaVersion": _SCHEMA_VERSION,
        },
    }


def _is_ours(file: Path) -> bool:
    """Return whether a file is a phenopacket that :func:`make_phenopacket` made."""
    metadata = (read_manifest(file) or {}).get("metaData")
    return isinstance(metadata, dict) and metadata.get("createdBy") == "trectools-plus"


def write_phenopackets(
    findings: Mapping[str, Iterable[Finding]], folder: str | Path, ontology: Ontology
) -> list[Path]:
    """Write one phenopacket per document, named after it.

    Raises:
        InputError: If a file cannot be written.
    """
    make_folder(Path(folder))
    files = {doc_id: Path(folder, f"{quote(doc_id, safe=' ')}.json") for doc_id in findings}
    names = [file.name for file in files.values()]
    refuse_foreign(folder, names, {file.name for file in files.values() if _is_ours(file)})
    for doc_id, file in files.items():
        record = make_phenopacket(doc_id, findings[doc_id], ontology)
        with atomic_write(file) as stream:
            stream.write(json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    return [*files.values()]
