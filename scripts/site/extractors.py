"""Tables of docs/extraction.md: the extraction and other systems on annotated documents.

fasthpocr runs in the interpreter that FASTHPOCR names; without one, its row is left out. All
systems use the installed HPO.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from trectools_plus.extraction.dictionary import Dictionary
from trectools_plus.extraction.inputs import read_documents
from trectools_plus.extraction.report import ExtractionFigure, ExtractionReport, ExtractionSettings
from trectools_plus.extraction.runner import ExtractionOptions, run_extraction
from trectools_plus.extraction.scoring import compare_extractions
from trectools_plus.extraction.words import (
    EXACT,
    Name,
    derived_names,
    eligible_terms,
    modifier_words,
    names_of,
)
from trectools_plus.ontology.ontology import find_hpo_file, load_ontology

SHARED = Path(__file__).resolve().parents[3] / "shared/data"
DATASET = "GeneReviews"
SYSTEMS: dict[str, ExtractionSettings] = {
    "retrieval, unverified": ExtractionSettings(method="retrieval", verify=False),
    "retrieval, unverified, `--top-term-only`": ExtractionSettings(
        method="retrieval", verify=False, top_term_only=True
    ),
    "retrieval, verified": ExtractionSettings(method="retrieval"),
    "both": ExtractionSettings(method="both"),
    "**dictionary (default)**": ExtractionSettings(),
}
DEFAULT = "**dictionary (default)**"
PLAIN = "plain dictionary"
FAST = "fasthpocr"
HIDDEN_NAMES = 2_000
FAST_PROGRAM = r"""
import contextlib, json, os, sys
from FastHPOCR.HPOAnnotator import HPOAnnotator
from FastHPOCR.IndexHPO import IndexHPO
from FastHPOCR.cr.CRIndexKB import CRIndexKB
tokens = {}
def compile_list(self, cluster, clusters):  # the same lists, in seconds instead of many minutes
    if not tokens:
        for token, own in clusters.items():
            tokens.setdefault(own, []).append(token)
    return list(tokens.get(cluster, []))
CRIndexKB.compileClusterList = compile_list
ontology, folder = sys.argv[1:]
with contextlib.redirect_stdout(sys.stderr):
    IndexHPO(ontology, folder).index()
    annotator = HPOAnnotator(os.path.join(folder, "hp.index"))
    found = {
        doc_id: sorted({mention.hpoUri for mention in annotator.annotate(text)})
        for doc_id, text in json.load(sys.stdin).items()
    }
json.dump(found, sys.stdout)
"""


@cache
def compare() -> dict[str, ExtractionReport]:
    """Return the report of every system that can run."""
    shared = Path(os.environ.get("TRECTOOLS_PLUS_SHARED_DATA") or SHARED)
    folder = shared / "phentrieve/extraction"
    documents = read_documents(folder, load_ontology(), DATASET).documents
    texts = {document.doc_id: document.text for document in documents}
    reports = {}
    with tempfile.TemporaryDirectory() as temporary:
        others = {PLAIN: find_plain_names(texts), FAST: run_fasthpocr(texts, temporary)}
        for system, terms in others.items():
            if terms is None:
                continue
            file = Path(temporary, f"{system}.jsonl")
            lines = [
                json.dumps({"doc_id": doc_id, "hpo_id": term_id})
                for doc_id, term_ids in terms.items()
                for term_id in term_ids
            ]
            file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            options = ExtractionOptions(predictions=file)
            reports[system] = run_extraction(folder, dataset=DATASET, options=options).report
    for system, settings in SYSTEMS.items():
        reports[system] = run_extraction(folder, dataset=DATASET, settings=settings).report
    return reports


def find_plain_names(texts: dict[str, str]) -> dict[str, list[str]]:
    """Find labels and synonyms letter by letter, in any case; the longest one at each place."""
    ontology = load_ontology()
    terms: dict[str, str] = {}
    for name in names_of(ontology, eligible_terms(ontology)):
        terms.setdefault(name.text.lower(), name.term_id)
    longest = max(len(name.split()) for name in terms)
    found: dict[str, list[str]] = {}
    for doc_id, text in texts.items():
        words = [(m.start(), m.end()) for m in re.finditer(r"[^\s.,;:()\[\]{}\"]+", text)]
        here, index = set[str](), 0
        while index < len(words):
            for end in range(min(len(words), index + longest), index, -1):
                term_id = terms.get(text[words[index][0] : words[end - 1][1]].lower())
                if term_id is not None:
                    here.add(term_id)
                    index = end - 1
                    break
            index += 1
        found[doc_id] = sorted(here)
    return found


def run_fasthpocr(texts: dict[str, str], folder: str) -> dict[str, list[str]] | None:
    """Run fasthpocr in its interpreter; ``None`` if there is none."""
    python = os.environ.get("FASTHPOCR")
    if python is None:
        print("FASTHPOCR is not set, so the row of fasthpocr is missing", file=sys.stderr)
        return None
    done = subprocess.run(
        [python, "-c", FAST_PROGRAM, str(find_hpo_file()), folder],
        input=json.dumps(texts),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


def systems_table() -> str:
    """Return precision, recall and F1 of the systems: micro, exact, with and without assertions."""
    facts, manifest = compare()[DEFAULT].dataset, compare()[DEFAULT].manifest
    rows = []
    for system, report in compare().items():
        score = report.scores["present"]["exact"]["micro"]
        ignored = report.scores["any"]["exact"]["micro"].f1
        cells = map(show, (score.precision, score.recall, score.f1, ignored))
        rows.append(f"| {system} | {' | '.join(cells)} |")
    heads = ["| system | precision | recall | F1 | F1, any assertion |", "|---|---|---|---|---|"]
    filtered = (
        f"All {facts.terms} gold terms are below *Phenotypic abnormality*, so the filter "
        "changes no figure."
        if not facts.outside
        else f"Filtered: {facts.outside} further gold terms are not below {manifest.root}."
    )
    note = (
        f"{facts.name}, {facts.documents} documents; micro, exact; present-only except the last "
        f"column; HPO `{manifest.ontology}`. {filtered}"
    )
    return "\n".join([*heads, *rows, "", note])


def differences_table() -> str:
    """Return the paired differences of the default from the other systems."""
    lines = ["| default minus | precision | recall | F1 |", "|---|---|---|---|"]
    for system, report in compare().items():
        if system == DEFAULT:
            continue
        differences = compare_extractions(report, compare()[DEFAULT]).differences
        micro = {entry.figure: entry for entry in differences if entry.average == "micro"}
        cells = [
            f"{entry.difference:+.3f}"
            + ("" if entry.low is None else f" [{entry.low:+.3f}, {entry.high:+.3f}]")
            for entry in (micro["precision"], micro["recall"], micro["f1"])
        ]
        lines.append(f"| {system} | {' | '.join(cells)} |")
    return "\n".join(lines)


def names_table() -> str:
    """Return how often names that the dictionary does not know lead to their term."""
    ontology = load_ontology()
    names = names_of(ontology, eligible_terms(ontology))
    exact = [name for name in names if name.rank == EXACT]
    full = [name for name in exact if not name.is_abbreviation]
    hidden = random.Random(1).sample(full, HIDDEN_NAMES)
    removed = {(name.term_id, name.text) for name in hidden}
    known = [name for name in names if (name.term_id, name.text) not in removed]
    unchanged = [name for name in known if not (name.is_abbreviation and len(name.text) < 3)]
    modifiers = modifier_words(ontology)
    dictionaries = {
        "without variations": Dictionary([], further=unchanged, modifiers=modifiers),
        "with variations and derived names": Dictionary(
            known, further=derived_names(ontology, known), modifiers=modifiers
        ),
    }
    lines = [
        "| dictionary | correct term found | predicted terms that are correct |",
        "|---|---:|---:|",
        *(f"| {title} | {rates(used, hidden)} |" for title, used in dictionaries.items()),
    ]
    note = (
        f"{len(hidden):,} of {len(exact):,} exact synonyms, drawn at random, were hidden when the "
        "dictionary and its variations were made, and then used as texts."
    )
    return "\n".join([*lines, "", note])


def rates(dictionary: Dictionary, hidden: list[Name]) -> str:
    right = predicted = 0
    minimum = ExtractionSettings().min_confidence
    for name in hidden:
        terms = {m.term_id for m in dictionary.find(name.text) if m.confidence >= minimum}
        right += name.term_id in terms
        predicted += len(terms)
    return f"{right / len(hidden):.3f} | {right / predicted:.3f}"


def show(figure: ExtractionFigure) -> str:
    ends = "" if figure.ci is None else f" [{figure.ci.low:.3f}, {figure.ci.high:.3f}]"
    return f"{figure.value:.3f}{ends}"


TABLES: dict[str, Callable[[], str]] = {
    "systems": systems_table,
    "differences": differences_table,
    "names": names_table,
}
