"""Rules on the score column of a run: every score is a finite decimal number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trectools_plus.formats.columns.ids import Rows
from trectools_plus.text import number, on, quoted
from trectools_plus.validation.fixes.session import FileDraft, FixSession
from trectools_plus.validation.registry import Hit, Places, RuleFix, fix_step, rule
from trectools_plus.validation.rules.file.shared import number_text
from trectools_plus.validation.views.runs import RunView
from trectools_plus.validation.views.tables import NOT_FINITE

SCORE_FIELD = 5
_C_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


_C_HEX = re.compile(r"[+-]?0[xX][0-9a-fA-F]+")


_COMMA_DECIMAL = re.compile(r"[+-]?[0-9]+,[0-9]+")


_COMMA_OR_WHOLE = re.compile(r"[+-]?(?:[0-9]*,)?[0-9]+(?:[eE][+-]?[0-9]+)?")


_PERCENT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)%")


_NOT_ZERO = re.compile("[^eE]*[1-9]")


def _other_scores(run: RunView) -> Places:
    """Rows whose score is neither a decimal number nor a word for NaN or infinity."""
    if run.columns is None:
        return Places()
    rows = np.flatnonzero(np.isnan(run.score))
    rows = rows[~_is_not_finite(run, rows)]
    if not len(rows):
        return Places()
    text = run.text(rows[0], SCORE_FIELD)
    may_be_fixed = len(rows) == run.n_rows or _COMMA_DECIMAL.fullmatch(text)
    is_fixable = may_be_fixed and _fixed_scores(run.texts(SCORE_FIELD, np.arange(run.n_rows)))
    found = run.places(rows, SCORE_FIELD, text=text)
    return replace(found, sums={"fixable": run.n_rows if is_fixable else 0})


@rule(
    "R110",
    "score-not-decimal",
    on="run",
    scope="row",
    severity="error",
    fix=RuleFix(
        "ask",
        "wrote decimal numbers",
        effect="rewrites the scores; trec_eval then reads different numbers",
    ),
    checks="score is not ASCII [+-]?digits[.digits][e[+-]digits]: hex, '_', ',', '%', letters, "
    "full-width digits",
    rationale="trec_eval reads the longest numeric prefix and gives no warning: '9,5' becomes 9, "
    "'high' becomes 0. Other readers stop. Decimal commas or percent signs on all rows can be "
    "fixed; on a few rows they are ambiguous.",
    example="run.txt:1: error R110: score '9,5' is not a number; trec_eval reads 9, other readers "
    "stop. Use '9.5'.",
    remedy="Write scores as decimal numbers with a point",
    drop_in="permissive",
    collect=_other_scores,
)
def score_not_decimal(run: RunView, found: Places) -> Hit | None:
    """A score is not a decimal number."""
    if run.swapped_columns:
        return None
    text = str(found["text"])
    can_be_fixed = found.sums["fixable"] == run.n_rows
    fixed = text.replace(",", ".") if _COMMA_DECIMAL.fullmatch(text) else text.removesuffix("%")
    return found.hit(
        f"score {quoted(text)} is not a number{on(found.count)}; "
        f"trec_eval reads {_as_c_reads(text)}, other readers stop",
        remedy=f"Use '{fixed}'" if fixed != text and _C_NUMBER.fullmatch(fixed) else None,
        fix=None if can_be_fixed else "no",
    )


def _fixed_scores(texts: Sequence[str]) -> tuple[list[str], str] | None:
    """Convert scores that all have a decimal comma, or all a percent sign, to decimal numbers.

    Some scores with decimal commas may be whole numbers. Percentages must all have the sign,
    because numbers without it would be ambiguous.

    Args:
        texts: The scores as written.

    Returns:
        The scores and a description of the change; ``None`` if the scores have no common form.
    """
    if all(map(_COMMA_OR_WHOLE.fullmatch, texts)):
        fixed = [text.replace(",", ".") for text in texts]
        return fixed, "wrote a decimal point for the comma"
    if all(map(_PERCENT.fullmatch, texts)):
        return [text.removesuffix("%") for text in texts], "took off the percent signs"
    return None


@fix_step("R110", order=50)
def write_decimal_numbers(draft: FileDraft, session: FixSession) -> FileDraft:
    """Write decimal numbers if every score has a decimal comma or a percent sign (R110)."""
    if not np.isnan(draft.run.score).any():
        return draft
    found = _fixed_scores(draft.fields["c5"].to_list())
    if found is None:
        session.skip("R110", "not every score has a decimal comma, or a percent sign")
        return draft
    import polars as pl

    scores, what = found
    return draft.write(session, "R110", "c5", pl.Series(scores), what)


def _infinite_scores(run: RunView) -> Places:
    """Rows whose score is NaN or infinite."""
    rows = np.flatnonzero(~np.isfinite(run.score))
    if run.columns is not None and len(rows):
        rows = rows[np.isinf(run.score[rows]) | _is_not_finite(run, rows)]
    return run.places(rows, SCORE_FIELD, message=lambda row: _not_finite_message(run, row))


@rule(
    "R111",
    "score-not-finite",
    on="run",
    scope="row",
    severity="error",
    fix="no",
    tables=True,
    checks="nan, inf, or overflow of float64",
    rationale="NaN is neither higher nor lower than any score, so the position of the document "
    "depends on the tool. All infinite scores tie.",
    example="run.txt:5: error R111: score NaN has no order; evaluators may put this document "
    "at any rank. Compute the score again, or remove the row.",
    remedy="Compute the score again, or remove the row",
    collect=_infinite_scores,
)
def score_not_finite(run: RunView, found: Places) -> Hit | None:  # noqa: ARG001
    """A score is NaN, infinite, or too large for a float64."""
    return found.hit(str(found["message"]) + on(found.count))


def _not_finite_message(run: RunView, row: int) -> str:
    text = number_text(run, row, SCORE_FIELD, run.score[row])
    if "nan" in text.lower():
        return "score NaN has no order; evaluators may put this document at any rank"
    if re.match(NOT_FINITE, text):
        return f"score {quoted(text)} is infinite; all such documents tie"
    return f"score {quoted(text)} is beyond float64 and becomes infinite; all such documents tie"


def _lost_scores(run: RunView) -> Places:
    """Rows whose score is 0, but not as written."""
    rows = np.flatnonzero(run.score == 0)
    is_lost = [_NOT_ZERO.match(text) is not None for text in run.texts(SCORE_FIELD, rows)]
    rows = rows[np.array(is_lost, np.bool_)]
    return run.places(rows, SCORE_FIELD, text=lambda row: run.text(row, SCORE_FIELD))


@rule(
    "R113",
    "score-underflow",
    on="run",
    scope="row",
    severity="warning",
    fix="no",
    checks="nonzero text, value 0.0",
    rationale="Products of many probabilities can be smaller than the smallest float64 (about "
    "5e-324). Such scores all become 0 and tie.",
    example="run.txt:1: warning R113: score 9.5e-400 becomes 0. Write the logarithms of the "
    "scores.",
    remedy="Write the logarithms of the scores",
    collect=_lost_scores,
)
def score_underflow(run: RunView, found: Places) -> Hit | None:  # noqa: ARG001
    """A score is too small for a float64 and becomes 0."""
    return found.hit(f"score {found['text']} becomes 0{on(found.count)}")


def _is_not_finite(run: RunView, rows: Rows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return, for each of ``rows``, whether its score is written as nan or inf."""
    if len(rows) == 0:
        return np.empty(0, np.bool_)
    texts = run.texts(SCORE_FIELD, rows)
    return np.array([re.match(NOT_FINITE, text) is not None for text in texts])


def _as_c_reads(text: str) -> str:
    """Return the number that C's ``atof`` reads: the longest numeric prefix."""
    hexadecimal = _C_HEX.match(text)
    if hexadecimal:
        return str(int(hexadecimal.group(), 16))
    decimal = _C_NUMBER.match(text)
    return number(float(decimal.group())) if decimal else "0"
