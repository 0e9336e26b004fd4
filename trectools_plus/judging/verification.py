"""Verify a plan of judgments, and the estimate that was made from it.

The plan may come from a stranger: no code that it names is imported, and only plain files inside
its folder are read.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from trectools_plus.choices import DEFAULT_LONGEST
from trectools_plus.display import Displayed
from trectools_plus.errors import InputError, TrectoolsPlusError, UsageError
from trectools_plus.formats.files.guards import read_json
from trectools_plus.formats.hashing import sha256_text
from trectools_plus.judging.estimates import choose_model, estimate
from trectools_plus.judging.labelling import (
    PROMPTS_FOLDER,
    Question,
    is_answered,
    iter_questions,
    read_stored_prompt,
    reads_as,
)
from trectools_plus.judging.labels import LABELS_FILE, Label, iter_labels, read_people
from trectools_plus.judging.plan import PlanDraft, PlanFolder
from trectools_plus.judging.report import REPORT_FILE, JudgmentReport
from trectools_plus.judging.store import DATABASE_NAME
from trectools_plus.measures.parser import parse_measures
from trectools_plus.plugins import without_user_code

_LEFT_OUT = re.compile(r"no run has a result|the corpus lacks \d+ of \d+ pooled documents")


@dataclass(frozen=True, slots=True, repr=False)
class PlanCheck(Displayed):
    """The result of a verification of a plan.

    Attributes:
        problems: Why a combined interval is refused, or what of the folder does not hold.
        warnings: What readers must know before they believe the figures.
        figures: The number of intervals that were compared.
        report: The estimate made again, if the folder has one.
        people: The labels of people.
    """

    problems: list[str]
    warnings: list[str]
    figures: int = 0
    report: JudgmentReport | None = None
    people: Sequence[Label] = ()


def verify_plan(folder: PlanFolder, scratch: str | Path) -> PlanCheck:
    """Check the files of a plan, its judgments, and its estimate if there is one.

    Args:
        folder: The plan.
        scratch: An empty folder for copies; nothing is written elsewhere.

    Returns:
        Problems and warnings; without problems, the combined intervals can be believed.

    Raises:
        CheckFailedError: If no model, or too few people have judged.
        InputError: If the estimate cannot be read.
    """
    for part in ("pool", "topics", "documents", "runs"):
        try:
            getattr(folder, part)
        except (TrectoolsPlusError, LookupError, TypeError) as error:
            return PlanCheck([f"{part}: {error}"], [])
    labels = list(iter_labels(folder.path / LABELS_FILE))
    problems = [
        *_check_plan(folder),
        *_check_labels(folder, labels),
        *_check_prompts(folder, labels),
    ]
    people, stored = _read_people(folder, Path(scratch)), _read_report(folder)
    if stored is None:
        made = estimate(folder, people=people)
        return PlanCheck([*problems, *_list_refusals(made)], made.warnings, people=people)
    try:
        choose_model(labels, stored.model.model, str(folder.path))
        with without_user_code():
            parse_measures(stored.measures)
            made = estimate(
                folder,
                people=people,
                measures=stored.measures,
                runs=stored.runs,
                model=stored.model.model,
                relevant=stored.relevant,
                confidence=stored.confidence,
                seed=stored.seed,
            )
    except UsageError as error:
        return PlanCheck([*problems, f"{REPORT_FILE}: cannot be made again: {error}"], [])
    problems += [*_list_refusals(made), *_compare(folder, made)]
    figures = sum(3 * len(row.estimates) for row in made.estimates)
    return PlanCheck(problems, made.warnings, figures, made, people)


def _read_people(folder: PlanFolder, scratch: Path) -> list[Label]:
    """Read the labels of people from a copy: opening a database can write beside it."""
    for name in (DATABASE_NAME, f"{DATABASE_NAME}-wal"):
        path = folder.files.find(name)
        if path is not None:
            shutil.copyfile(path, scratch / name)
    return read_people(scratch)


def _read_report(folder: PlanFolder) -> JudgmentReport | None:
    path = folder.files.find(REPORT_FILE)
    try:
        return None if path is None else JudgmentReport.model_validate(read_json(path))
    except ValidationError as error:
        raise InputError("not an estimate from judgments", where=str(path)) from error


def _list_refusals(made: JudgmentReport) -> list[str]:
    refusals = [] if made.refusal is None else [f"no combined interval: {made.refusal}"]
    left_out = made.counts.left_out
    return refusals + [
        f"query {query.query_id} does not count: {query.reason}" for query in left_out
    ]


def _compare(folder: PlanFolder, made: JudgmentReport) -> list[str]:
    """Return how a stored estimate differs from the one that its plan gives now."""
    stored: dict[str, Any] = read_json(folder.path / REPORT_FILE)
    again = made.model_dump(mode="json")
    if stored.get("labels_sha256") != again["labels_sha256"]:
        return [f"{REPORT_FILE}: the judgments have changed since it was made"]
    return [
        f"{REPORT_FILE}: {key} differs from what the judgments give"
        for key in {**again, **stored}
        if stored.get(key) != again.get(key)
    ]


def _check_plan(folder: PlanFolder) -> Iterator[str]:
    """Find what of a plan its runs, queries and seed do not give."""
    plan = folder.plan
    ordered = sorted(plan.queries)
    order = np.random.default_rng(abs(plan.seed)).permutation(len(ordered)).tolist()
    if [ordered[place] for place in order] != plan.queries:
        yield "plan.json: the order of the queries is not that of the seed"
    if plan.queries != list(folder.topics):
        yield "topics.jsonl: the queries are not those of the plan"
        return
    draft = PlanDraft(plan.queries, folder.topics, folder.documents)
    for run in plan.runs:
        draft.copy_run(folder, run)
    for name, content in draft.parts().items():
        if sha256_text(content) != plan.files[name]:
            yield f"{name}: not what runs, topics and documents give"
    pool = draft.pool()
    if any(rank > plan.depth for pooled in pool for rank in pooled.ranks.values()):
        yield f"plan.json: a run has more results than the depth {plan.depth}"
    lacking = sum(pooled.doc_id not in folder.documents for pooled in pool)
    if (plan.pooled, plan.lacking) != (len(pool), lacking):
        yield f"plan.json: {len(pool)} pairs are pooled, and {lacking} lack their document"
    for query_id, reason in plan.left_out.items():
        if query_id in plan.queries or not _LEFT_OUT.fullmatch(reason):
            yield f"plan.json: query {query_id} is not left out for a known reason"


def _check_labels(folder: PlanFolder, labels: Sequence[Label]) -> Iterator[str]:
    """Find labels whose grade, texts or prompt are not those of their answer and of the plan."""
    answered = set()

    @cache
    def questions(longest: int | None) -> dict[tuple[str, str], Question]:
        return {
            (question.query_id, question.doc_id): question
            for question in iter_questions(folder, longest or DEFAULT_LONGEST)
        }

    for number, label in enumerate(labels, 1):
        where, origin = f"{LABELS_FILE}: line {number}", label.judge
        question = questions(origin.longest).get(label.pair)
        key = (origin.model_dump_json(), *label.pair, label.repeat)
        if not label.origin or (label.kind, label.annotator) != ("model", origin.model):
            yield f"{where}: not a label of the model that it names"
        elif question is None:
            yield f"{where}: the plan has no such pair"
        elif (label.text_sha256, label.cut) != (question.text_sha256, question.cut):
            yield f"{where}: the judged texts are not those of the plan"
        if not reads_as(label):
            yield f"{where}: the grade is not that of the answer"
        if key in answered:
            yield f"{where}: the pair has an answer already"
        if is_answered(label):
            answered.add(key)


def _check_prompts(folder: PlanFolder, labels: Sequence[Label]) -> Iterator[str]:
    """Find prompts of labels that are absent or changed."""
    for sha256 in sorted({label.judge.prompt_sha256 for label in labels if label.judge.host}):
        if read_stored_prompt(folder, sha256) is None:
            yield f"{PROMPTS_FOLDER}: no prompt with the hash {sha256[:16]}"
