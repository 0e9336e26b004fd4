"""Small plans of judgments, and labels for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trectools_plus.formats.collection import load_corpus
from trectools_plus.formats.tables import Run, Topics
from trectools_plus.judging.labels import LABELS_FILE, Kind, Label
from trectools_plus.judging.plan import PlanFolder, PlanOptions, make_plan
from trectools_plus.validation.loading import load_run

DOCUMENTS = 40
TIME = "2026-01-01T00:00:00Z"


def write_runs(folder: Path, names: Iterable[str], queries: int, seed: int = 0) -> dict[str, Run]:
    """Write random runs of 20 results with many ties, and read them."""
    generator = np.random.default_rng(seed)
    runs = {}
    for name in names:
        lines = []
        for query in range(queries):
            for place, doc in enumerate(generator.permutation(DOCUMENTS)[:20]):
                lines.append(f"q{query} Q0 d{doc} {place + 1} {9 - place // 3} {name}\n")
        file = folder / f"{name}.run"
        file.write_text("".join(lines))
        runs[name] = load_run(file)
    return runs


def write_corpus(folder: Path, documents: Iterable[int] = range(DOCUMENTS)) -> Path:
    """Write a corpus with some documents."""
    file = folder / "corpus.jsonl"
    lines = [f'{{"_id": "d{n}", "title": "Title {n}", "text": "Text {n}"}}\n' for n in documents]
    file.write_text("".join(lines))
    return file


def topics_of(queries: int) -> Topics:
    """Topics q0, q1 and so on."""
    return Topics.from_dict({f"q{n}": f"query number {n}" for n in range(queries)})


def make_small(
    folder: Path, queries: int = 12, names: Iterable[str] = ("a", "b"), **options: Any
) -> PlanFolder:
    """Make a plan of random runs with depth 4, in the sub-folder ``plan``."""
    given = {"depth": 4, "people": 5, "measures": ("nDCG@4", "P@4"), **options}
    return make_plan(
        write_runs(folder, names, queries),
        topics_of(queries),
        load_corpus(write_corpus(folder)),
        folder / "plan",
        PlanOptions(**given),
    )


def label(
    query_id: str, doc_id: str, grade: int | None, annotator: str = "Anna", kind: Kind = "person"
) -> Label:
    """Return a label."""
    return Label(
        query_id=query_id, doc_id=doc_id, grade=grade, annotator=annotator, kind=kind, time=TIME
    )


def label_all(
    plan: PlanFolder, queries: int, annotator: str = "Anna", kind: Kind = "person", seed: int = 0
) -> list[Label]:
    """Return random labels of all documents of the first queries."""
    generator = np.random.default_rng(seed)
    return [
        label(query_id, doc_id, int(generator.integers(4)), annotator, kind)
        for query_id in plan.plan.queries[:queries]
        for doc_id in plan.judgeable[query_id]
    ]


def write_labels(plan: PlanFolder, labels: Iterable[Label]) -> None:
    """Write labels of a model into a plan."""
    text = "".join(f"{one.model_dump_json()}\n" for one in labels)
    (plan.path / LABELS_FILE).write_text(text, "utf-8")


def grades_of(labels: Iterable[Label]) -> Mapping[str, Mapping[str, int]]:
    """Return the grades by query and document."""
    found: dict[str, dict[str, int]] = {}
    for one in labels:
        if one.grade is not None:
            found.setdefault(one.query_id, {})[one.doc_id] = one.grade
    return found
