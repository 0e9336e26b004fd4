"""Read keys and grades of the trees of test sets."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches

from trectools_plus.formats.columns.decimals import INTEGRAL
from trectools_plus.formats.nodes.model import JSON_CONSTANTS, Node, Scalar, describe
from trectools_plus.formats.topic_records.model import Report, TopicProblem
from trectools_plus.formats.topic_schema import ID_KEYS, JUDGED_KEYS, TERM_SPELLINGS, TEXT_KEYS
from trectools_plus.text import visible

_INTEGRAL = re.compile(INTEGRAL)
MAX_SPELLINGS_CHECKED = 200
"""Maximum number of unknown keys for which a similar known key is searched."""

_PURPOSE = {
    **{key: name for name, keys in TERM_SPELLINGS.items() for key in keys},
    **dict.fromkeys(ID_KEYS, "id"),
    **dict.fromkeys(TEXT_KEYS, "text"),
    **dict.fromkeys(JUDGED_KEYS, "judgments"),
}


def read_grade(node: Node, doc_id: str, query_id: str | None, report: Report) -> float | None:
    """Read a grade; report null (T105), booleans (T115), fractions (Q111), other values (Q110).

    Whole numbers like ``2.0`` are read; they don't prevent scoring.
    """
    is_integral = isinstance(node, Scalar) and _is_integral(node)
    code, what = _grade_problem(node, visible(doc_id))
    if code:
        problem = TopicProblem(
            code,
            node.line,
            what,
            node.column,
            query_id,
            doc_id,
            remedy=None if code == "Q111" else "Write a whole number",
            fix="no",  # quotes would not fix a grade
            blocks_scoring=False if is_integral else None,
        )
        report(problem)
    if isinstance(node, Scalar) and (is_integral or (node.meaning == "integer" and not code)):
        return float(node.text)
    return None


def _is_integral(node: Scalar) -> bool:
    return node.meaning == "number" and _INTEGRAL.search(node.text) is not None


def _grade_problem(node: Node, doc_id: str) -> tuple[str, str]:
    """Return code and message for a grade not written as a whole number; else empty texts."""
    if not isinstance(node, Scalar):
        return "Q110", f"the grade of {doc_id} is {describe(node)}"
    shown = visible(node.text)
    if node.meaning == "null":
        return "T105", f"the grade of {doc_id} is null"
    if node.meaning == "boolean":
        return "T115", f"grade {shown} of {doc_id} is {node.value}"
    if node.meaning == "number":
        if node.text in JSON_CONSTANTS:
            return "", ""  # T104 reports it
        state = "not written as an integer" if _is_integral(node) else "not a whole number"
        return "Q111", f"grade {shown} of {doc_id} is {state}"
    if node.meaning != "integer":
        return "Q110", f"grade '{shown}' of {doc_id} is text, not a number"
    if node.value is not None and node.value != node.text.lstrip("+"):
        return "Q110", f"grade {shown} of {doc_id} is read as {node.value}"
    return "", ""


class Schema:
    """Reports keys that are not in the schema, with the most similar known key (T106).

    Args:
        report: Takes the problems.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._near: dict[str, list[str]] = {}

    def check(
        self,
        keys: Iterable[Scalar],
        known: tuple[str, ...],
        query_id: str | None = None,
        *,
        missing: Collection[str] | None = None,
        only_near: bool = False,
    ) -> set[str]:
        """Report unknown keys.

        Args:
            keys: The keys of a mapping.
            known: The keys of the schema.
            query_id: The test case of the mapping.
            missing: Fields that the mapping lacks, of which an unknown key may be a misspelling;
                all known keys if not given.
            only_near: Report only keys that seem to be misspellings of missing fields.

        Returns:
            The ``missing`` fields of which unknown keys seem to be misspellings.
        """
        meant: set[str] = set()
        for key in keys:
            if key.text in known:
                continue
            near = self._closest(key.text, known)
            purpose = _PURPOSE.get(near, near) if near is not None else None
            fills_gap = purpose is not None and (missing is None or purpose in missing)
            if only_near and not fills_gap:
                continue
            hint = f"; did you mean '{near}'?" if near is not None else ""
            remedy = None if near is not None else f"Known keys: {', '.join(known)}"
            message = f"unknown key '{visible(key.text)}'{hint}"
            self._report(
                TopicProblem("T106", key.line, message, key.column, query_id, remedy=remedy)
            )
            if fills_gap and purpose is not None:
                meant.add(purpose)
        return meant

    def _closest(self, key: str, known: tuple[str, ...]) -> str | None:
        """Return the most similar known key; ``None`` if none is similar."""
        if key not in self._near and len(self._near) < MAX_SPELLINGS_CHECKED:
            self._near[key] = get_close_matches(key[:64].lower(), known, 1, 0.75)
        return next((name for name in self._near.get(key, ()) if name in known), None)
