"""Read ids and texts of topics and test sets from the values of JSON and YAML."""

from __future__ import annotations

from dataclasses import replace

from trectools_plus.formats.nodes.model import JSON_CONSTANTS, Node, Scalar, Tree, describe
from trectools_plus.formats.topic_records.model import Problem, Report, Topic
from trectools_plus.text import quoted, visible


def read_id(node: Node, what: str, query_id: str | None, report: Report) -> str | None:
    """Read an id as it is written in the file; ``None`` without one.

    Args:
        node: The value.
        what: The name of the value in messages: "id" or "document id".
        query_id: The topic that it belongs to, if that is known.
        report: Takes the problems: null (T105), or a value that loaders do not read as text (T114).
    """
    if not isinstance(node, Scalar):
        message = f"the {what} is {describe(node)}, not text"
        report(Problem("T105", node.line, message, node.column, query_id))
        return None
    if node.meaning == "null" or not node.text:
        state = "null" if node.meaning == "null" else "empty"
        report(Problem("T105", node.line, f"{what} is {state}", node.column, query_id))
        return None
    problem = _id_problem(node, what, query_id)
    if problem is not None:
        report(problem)
    return node.text


def _id_problem(node: Scalar, what: str, query_id: str | None) -> Problem | None:
    """Return the problem of an id that a loader does not read as text (T114)."""
    shown = visible(node.text)
    is_integer = node.meaning == "integer"
    # The id does not change if a loader converts the number back to text.
    is_same = is_integer and node.value is None
    message = f"{what} {shown} is a number, not text"
    if node.meaning == "text":
        if node.core is None:
            return None
        is_same = True
        message = f"{what} {shown} is read as {node.core} by YAML 1.2"
    elif node.text in JSON_CONSTANTS:
        return None  # T104 reports it
    elif node.value is not None:
        by = " by YAML 1.1" if is_integer else ""
        message = f"{what} {shown} is read as {node.value}{by}"
    return Problem(
        "T114",
        node.line,
        message,
        node.column,
        query_id,
        severity="warning" if is_same else None,
        remedy=f'Quote it: "{shown}"',
    )


def read_text(node: Node, topic: Topic, report: Report) -> None:
    """Read the text of a topic, and its place.

    Reports null (T105), values of other types (T115) and a text cut at '#' (T117).
    """
    topic.text_line, topic.text_column = node.line, node.column
    if not isinstance(node, Scalar) or node.meaning == "null":
        state = "text is null"
        if not isinstance(node, Scalar):
            state = f"the text is {describe(node)}, not text"
        report(Problem("T105", node.line, state, node.column, topic.query_id))
        return
    topic.text = node.text
    if node.meaning != "text" and node.text not in JSON_CONSTANTS:
        shown = visible(node.text)
        is_same = node.meaning == "integer" and node.value is None
        read_as = node.value or f"the {node.meaning} {shown}"
        if node.meaning != "boolean":
            read_as = f"read as {read_as}"
        problem = Problem(
            "T115",
            node.line,
            f"text {shown} is {read_as}",
            node.column,
            topic.query_id,
            severity="warning" if is_same else None,
            remedy=f'Quote it: "{shown}"',
            refused=True,
        )
        report(problem)
    if node.cut is not None:
        what = f"text is cut at '#': {quoted(node.text)}"
        problem = Problem("T117", node.line, what, node.column, topic.query_id)
        if node.cut != node.line:  # it begins and ends on different lines
            problem = replace(problem, line=node.cut, column=None, fix="no")
        report(problem)


def report_empty_text(topic: Topic, report: Report) -> None:
    """Report a text without visible characters (T121)."""
    if topic.text is None or topic.text.strip():
        return
    what = "no text" if topic.query_id is None else f"topic {visible(topic.query_id)} has no text"
    problem = Problem(
        "T121",
        topic.text_line or topic.line,
        what,
        topic.text_column,
        topic.query_id,
        remedy="Write a text, or remove the topic",
    )
    report(problem)


def report_repeated_keys(tree: Tree, report: Report) -> None:
    """Report the repeated keys of mappings (T116)."""
    for repeat in tree.repeats:
        first, here = repeat.first, repeat.value
        where = f"line {first.line}" if first.line != here.line else f"column {first.column}"
        if isinstance(first, Scalar) and isinstance(here, Scalar):
            seen = f"({where}: {visible(first.text)}; here: {visible(here.text)})"
        else:
            seen = f"(first on {where})"
        key = repeat.key
        message = f"key {visible(key.text)} is repeated {seen}; loaders keep the last value"
        report(Problem("T116", key.line, message, key.column, remedy="Keep one of them"))


def report_constants(tree: Tree, report: Report) -> None:
    """Report NaN and infinity in a JSON document (T104)."""
    for node in tree.constants:
        what, remedy = f"{node.text} is not valid JSON", "Write a number or null"
        report(Problem("T104", node.line, what, node.column, remedy=remedy))
