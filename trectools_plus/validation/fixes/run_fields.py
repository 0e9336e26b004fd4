"""Fixes of a run's columns, row by row: columns 2 and 3, scores, tags."""

from __future__ import annotations

import numpy as np
import polars as pl

from trectools_plus.validation.catalogue import CATALOGUE
from trectools_plus.validation.fixes.draft import Draft
from trectools_plus.validation.fixes.job import Job
from trectools_plus.validation.fixes.tags import in_form, tag_for
from trectools_plus.validation.rules.run_scores import mend_scores
from trectools_plus.validation.run_view import RunView
from trectools_plus.validation.shape import NOT_FINITE


def may_hold_documents(run: RunView) -> bool:
    """Whether the document ids may be in column 2: column 3 is one and the same, column 2 is not.

    More careful than the rule R108, for what stands in column 2 is lost when it is written anew.
    """
    if run.documents_in_column_2:
        return True
    doc_id = run.frame["doc_id"]
    if run.n_rows < 2 or bool((doc_id != doc_id[0]).any()):
        return False
    return bool((~run.frame["q0"].cast(pl.String).is_in(["Q0", "q0", "0"])).any())


def swap_q0(draft: Draft, job: Job) -> Draft:
    """Swap columns 2 and 3 (R108)."""
    if "R108" not in job.asked or not draft.run.documents_in_column_2:
        return draft
    job.done("R108", draft.run.n_rows)
    fields = draft.fields
    return draft.with_fields(c2=fields["c3"], c3=fields["c2"])


def write_q0(draft: Draft, job: Job) -> Draft:
    """Write Q0 in column 2 (R107), unless the ids of the documents may stand there."""
    run = draft.run
    count = int((run.frame["q0"] != "Q0").sum())
    if not count:
        return draft
    if may_hold_documents(run):
        job.skip("R107", "column 2 may hold the document ids; --fix R108 swaps columns 2 and 3")
        return draft
    if np.isnan(run.score).all() and not run.swapped_columns:
        job.skip("R107", "no row has a score in column 5, so the columns are others")
        return draft
    job.done("R107", count)
    return draft.with_fields(c2=pl.repeat("Q0", run.n_rows, eager=True))


def write_points(draft: Draft, job: Job) -> Draft:
    """Write decimal numbers, where every score has a decimal comma or a percent sign (R110)."""
    if "R110" not in job.asked or not np.isnan(draft.run.score).any():
        return draft
    texts = draft.fields["c5"]
    mended = mend_scores(texts)
    if mended is None:
        job.skip("R110", "not every score is a number with a decimal comma, or a percent sign")
        return draft
    scores, what = mended
    job.done("R110", int((scores != texts).sum()), what)
    return draft.with_fields(c5=scores)


def turn_scores(draft: Draft, job: Job) -> Draft:
    """Swap rank and score, or negate the scores, where they rise with rank (R121)."""
    if "R121" not in job.asked or CATALOGUE["R121"].check(draft.run) is None:
        return draft
    fields, run = draft.fields, draft.run
    if run.swapped_columns:
        job.done("R121", run.n_rows, "swapped columns 4 and 5")
        return draft.with_fields(c4=fields["c5"], c5=fields["c4"])
    score = fields["c5"]
    keep = pl.Series(np.isnan(run.score) | (run.score == 0)) | score.str.contains(NOT_FINITE)
    bare = score.str.strip_prefix("+")
    negated = bare.str.strip_prefix("-").zip_with(bare.str.starts_with("-"), "-" + bare)
    job.done("R121", int((~keep).sum()))
    return draft.with_fields(c5=score.zip_with(keep, negated))


def write_tags(draft: Draft, job: Job) -> Draft:
    """Write one tag (R151), or put tags in form (R152)."""
    if not draft.run.n_rows or not {"R151", "R152"} & job.asked:
        return draft
    tags, asked, longest = draft.fields["c6"], job.options.tag, job.options.max_tag_length
    distinct = tags.unique(maintain_order=True).to_list()
    formed = [in_form(tag, longest) for tag in distinct]
    one = "R151" in job.asked and len(distinct) > 1
    bad = "R152" in job.asked and formed != distinct
    if not (one or bad):
        return draft
    if one or (asked is not None and len(distinct) == 1):
        tag = tag_for(asked, draft.path, longest) if asked else (formed if bad else distinct)[0]
        written, what = pl.repeat(tag, tags.len(), eager=True), f"wrote the tag {tag}"
    else:
        written, what = tags.replace_strict(distinct, formed, return_dtype=pl.String), None
    job.done("R151" if one else "R152", int((written != tags).sum()), what)
    return draft.with_fields(c6=written)
