"""Extend a plan: further runs, the same order of queries, and all judgments so far."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trectools_plus.errors import UsageError, checked
from trectools_plus.formats.collection import load_corpus
from trectools_plus.formats.files.atomic import atomic_write, make_folder
from trectools_plus.formats.files.guards import find_inside, is_unchanged
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.formats.tables import Corpus, Run
from trectools_plus.judging.labelling import PROMPTS_FOLDER
from trectools_plus.judging.labels import LABELS_FILE
from trectools_plus.judging.plan import (
    PLAN_FILE,
    JudgmentPlan,
    PlanDraft,
    PlanFolder,
    find_documents,
    pooled_results,
    ranks_of,
    refuse_files,
)
from trectools_plus.judging.report import LOOKS_FILE
from trectools_plus.judging.store import DATABASE_NAME, copy_store, load_plan_material
from trectools_plus.text import listed


@checked
def extend_plan(
    old: PlanFolder,
    runs: Mapping[str, Run],
    folder: str | Path,
    corpus: Corpus | None = None,
) -> PlanFolder:
    """Create a plan with the queries, runs and all judgments of another, and further runs.

    Depth, seed, measures and the number of queries for people are those of the old plan. Only pairs
    that the old plan lacks are left to judge. The texts of the other documents are those of the old
    plan, because people and models judged them.

    Args:
        old: The plan to extend; it is not changed.
        runs: The further runs by name, which were validated before.
        folder: A new or empty folder.
        corpus: The documents; those of the file from which the plan was made if ``None``.

    Raises:
        UsageError: If a run of the old plan has the same name, or as
            :func:`~trectools_plus.judging.plan.make_plan`.
        CheckFailedError: If a run has no result for the queries of the plan, or none of the new
            documents is in the corpus.
        InputError: As :func:`~trectools_plus.judging.plan.make_plan`.
    """
    plan, target = old.plan, Path(folder)
    refuse_files(target)
    if known := [name for name in runs if name in old.runs]:
        raise UsageError(
            f"the plan has runs of the same names: {listed(known)}",
            where=str(old.path),
            remedy="give others as NAME=FILE",
        )
    pooled = {name: pooled_results(run, plan.depth, old.topics) for name, run in runs.items()}
    pool = {doc_id for documents in ranks_of(pooled).values() for doc_id in documents}
    documents = dict(old.documents)
    if new := pool - documents.keys():
        corpus = corpus or _open_recorded(plan)
        corpus.in_index_order()
        documents |= find_documents(corpus, new)
    draft = PlanDraft(plan.queries, old.topics, documents)
    for planned in plan.runs:
        draft.copy_run(old, planned)
    extension = 1 + max(planned.extension for planned in plan.runs)
    for name, run in runs.items():
        draft.add_run(name, run, pooled[name], extension)
    made = draft.write(
        target,
        topics=plan.topics,
        corpus=plan.corpus,
        depth=plan.depth,
        people=plan.people,
        seed=plan.seed,
        measures=plan.measures,
        left_out=plan.left_out,
        extends=sha256_file(old.path / PLAN_FILE),
    )
    _copy_judgments(old, made)
    return made


def _open_recorded(plan: JudgmentPlan) -> Corpus:
    """Open the documents from which a plan was made, if they are in an unchanged file.

    Raises:
        UsageError: If they are not.
    """
    path = plan.corpus.path
    if not is_unchanged(path, {plan.corpus.sha256}):
        raise UsageError(
            f"the documents from which the plan was made are not in {path}",
            where="--extend",
            remedy="give them with --corpus or --dataset",
        )
    return load_corpus(path)


def _copy_judgments(old: PlanFolder, new: PlanFolder) -> None:
    """Copy the labels of models with their prompts, the answers of people, and the looks."""
    prompts = (old.path / PROMPTS_FOLDER).glob("*.txt")
    for name in (LABELS_FILE, LOOKS_FILE, *(f"{PROMPTS_FOLDER}/{path.name}" for path in prompts)):
        if (file := old.files.find(name)) is not None:
            content = file.read_bytes()
            if file.suffix == ".jsonl":  # another process can be writing a line
                content = content[: content.rfind(b"\n") + 1]
            make_folder((new.path / name).parent)
            with atomic_write(new.path / name, "wb") as stream:
                stream.write(content)
    if find_inside(old.path / DATABASE_NAME, old.path) is not None:
        copy_store(
            old.path / DATABASE_NAME,
            new.path / DATABASE_NAME,
            load_plan_material(new),
            new.plan.seed,
        )
