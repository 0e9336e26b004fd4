"""Measure what a fix step loses, and refuse steps that interpret columns wrongly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trectools_plus.text import plural
from trectools_plus.validation.draft import Draft, Job
from trectools_plus.validation.registry import FixStep

MAX_LOST_ROWS = 0.02
"""The greatest share of the rows that a fix that interprets columns may lose."""
MAX_LOST_DOCUMENTS = 0.5
"""The greatest share of the different document ids that such a fix may lose."""


def apply_step(step: FixStep, draft: Draft, job: Job) -> Draft:
    """Apply a step if one of its fixes is wanted, and neither rows nor documents are lost.

    The log says how many rows a step deleted.
    """
    if not any(map(job.wants, step.codes)):
        return draft
    n_applied = len(job.applied)
    after: Draft = step.apply(draft, job)
    done = job.applied[n_applied:]
    if after is draft or not done:
        return after
    interpreting = [
        one.code
        for one in done
        if one.code is not None
        and (rule_fix := job.rules[one.code].rule_fix) is not None
        and rule_fix.interprets_columns
    ]
    lost = _describe_loss(draft, after) if interpreting else None
    if lost is not None:
        del job.applied[n_applied:]
        job.notes.append(
            f"{', '.join(interpreting)} not fixed: this would lose {lost}; check which columns "
            "contain the documents"
        )
        return draft
    n_deleted = max(0, draft.view.n_rows - after.view.n_rows)
    job.applied[n_applied:] = [replace(one, deleted=min(one.count, n_deleted)) for one in done]
    return after


def _describe_loss(before: Draft, after: Draft) -> str | None:
    """Return what is lost, if it is too much.

    A row is lost if its document is not in a row of its query afterwards: rows of one document that
    are merged are not lost. The documents are in the one of columns 2 and 3 that has more values,
    whatever the fix takes it for.
    """
    view = before.view
    if not view.n_rows:  # no line could be read before
        n_lines = len(view.columns.misshapen) + view.columns.n_rows if view.columns else 0
        n_lost = n_lines - (view.shape.header is not None) - after.view.n_rows
        return _too_much([(n_lost, n_lines, "row", MAX_LOST_ROWS)])
    fields = before.fields
    column = max(("c3", "c2"), key=lambda name: fields[name].n_unique())
    rows = fields.select("c1", document=column)
    kept = after.fields.select("c1", document="c3").unique()
    documents = rows["document"].unique()
    n_rows = rows.join(kept, on=["c1", "document"], how="anti").height
    n_documents = documents.len() - int(documents.is_in(kept["document"].implode()).sum())
    return _too_much(
        [
            (n_rows, rows.height, "row", MAX_LOST_ROWS),
            (n_documents, documents.len(), "document id", MAX_LOST_DOCUMENTS),
        ]
    )


def _too_much(losses: Sequence[tuple[int, int, str, float]]) -> str | None:
    """Return the losses as text, if one is above its limit."""
    if not any(lost > limit * total for lost, total, _, limit in losses):
        return None
    return " and ".join(
        f"{lost:,} of {plural(total, noun)}" for lost, total, noun, _ in losses if lost
    )


def announce_deletions(job: Job, path: str, n_rows: int) -> None:
    """Report each fix that deletes rows, before the file is written."""
    if job.options.before_deletion is None:
        return
    for one in job.applied:
        if one.deleted:
            job.options.before_deletion(
                f"{path}: {one.code} deletes {one.deleted:,} of {plural(n_rows, 'row')}"
            )
