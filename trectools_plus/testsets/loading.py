"""Load shipped test sets, and test sets from files in JSON, YAML or CSV."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from trectools_plus.arguments import show
from trectools_plus.display import Displayed
from trectools_plus.errors import FormatError, InputError, UsageError
from trectools_plus.formats.files.content import FileContent, read_file
from trectools_plus.formats.nodes.model import TreeError, load_value
from trectools_plus.formats.topic_records.forms import form_of
from trectools_plus.testsets.languages import TextField, with_text_field
from trectools_plus.testsets.model import TestSet, format_error
from trectools_plus.validation.findings import Severity
from trectools_plus.validation.topics.engine import check_topics, read_view
from trectools_plus.validation.views.topics import Cases, CaseView, TopicsView

DEFAULT_TEST_SET = "hpo-en-standard"
"""The default test set of ``--dataset hpo``."""

_FOLDER = Path(__file__).parent / "data"
_ENDING = ".json"
_FORM = "a list of test cases, or a mapping with 'queries' or 'test_cases'"


@dataclass(frozen=True, slots=True, repr=False)
class ListedTestSet(Displayed):
    """A shipped test set.

    Attributes:
        name: The name, for ``load_test_set(name)``.
        language: The language of its texts, as ISO 639-1 code.
        queries: The number of queries.
        version: The version.
        description: The description of its contents.
    """

    name: str
    language: str
    queries: int
    version: str
    description: str


def load_test_set(
    name_or_path: str | Path, *, text_field: TextField = "text", language: str | None = None
) -> TestSet:
    """Load a shipped test set, or read a file in JSON, YAML or CSV.

    Args:
        name_or_path: A name, for example ``hpo-en-tiny``, or a file, compressed or not. The suffix
            can be omitted: ``mine`` also finds ``mine.yaml``, ``mine.yml`` and ``mine.json``. For a
            file with the name of a shipped set, give the folder too: ``./hpo-en-tiny``.
        text_field: The field with the texts, for example if a set has German texts and English
            descriptions. See :func:`trectools_plus.testsets.languages.with_text_field`.
        language: The language of the texts, as ISO 639-1 code, for a set that declares none.

    Raises:
        InputError: If the set or file does not exist, or cannot be read.
        FormatError: If the file is not JSON, YAML or CSV, a field is missing or invalid, or a query
            lacks the ``text_field``.
        UsageError: If the set declares another language for its texts.
    """
    return load_with_notes(name_or_path, text_field=text_field, language=language)[0]


def load_with_notes(
    name_or_path: str | Path, *, text_field: TextField = "text", language: str | None = None
) -> tuple[TestSet, list[str]]:
    """Load a test set as :func:`load_test_set`, with notes on what it does not declare itself."""
    test_set, notes = _read(find_test_set(name_or_path), implied=language is None)
    return with_text_field(test_set, text_field, language, str(name_or_path)), notes


def find_test_set(name_or_path: str | Path) -> Path:
    """Return the path of a shipped test set or of a file, whose suffix can be omitted.

    Raises:
        InputError: If there is no shipped set and no file with this name.
    """
    if not isinstance(name_or_path, str | os.PathLike):
        raise UsageError(
            f"expected a name or a path but got {show(name_or_path)}",
            remedy=f"give a file, or one of {', '.join(shipped_names())}",
        )
    text = str(name_or_path)

    def exists(path: str) -> bool:
        with contextlib.suppress(OSError, ValueError):  # too long, or not valid as a path
            return Path(path).exists()
        return False

    shipped = find_shipped(text)
    if shipped is not None:
        return shipped
    if text != "-" and not exists(text):
        for ending in (".yaml", ".yml", ".json"):
            if exists(f"{text}{ending}"):
                return Path(f"{text}{ending}")
    if text != "-" and Path(text).name == text and "." not in text and not exists(text):
        raise InputError(
            "no such test set or file",
            where=text,
            remedy=f"give a file, or one of {', '.join(shipped_names())}",
        )
    return Path(name_or_path)


def find_shipped(name: str) -> Path | None:
    """Return the file of a shipped test set; ``None`` if no shipped set has this name."""
    return _FOLDER / f"{name}{_ENDING}" if name in shipped_names() else None


def shipped_names() -> list[str]:
    """Return the names of the shipped test sets, in alphabetical order."""
    return sorted(path.name.removesuffix(_ENDING) for path in _FOLDER.glob(f"*{_ENDING}"))


def list_test_sets() -> list[ListedTestSet]:
    """Return the shipped test sets in the order of their names."""
    listed = []
    for name in shipped_names():
        test_set = load_test_set(name)
        facts, size = test_set.metadata, len(test_set.queries)
        entry = ListedTestSet(name, facts.language, size, facts.version, facts.description)
        listed.append(entry)
    return listed


def read_test_set(path: str | Path) -> TestSet:
    """Read a test set in any form that ``trectools_plus.validation.topics.cases`` accepts.

    Files with errors of ``topics validate`` are refused; the message contains the code of the rule.
    Warnings are accepted: ids that are whole numbers become text, repeated cases and judgments
    count once, and a case without judgments has no score. If the file declares no language, and its
    folder is named after one (``german/``, ``de/``), that is the language of the set.

    Args:
        path: The file, compressed or not; ``-`` is standard input.

    Raises:
        InputError: If the file cannot be read.
        FormatError: If the file is not JSON, YAML or CSV, or a field is missing or invalid.
    """
    return _read(path)[0]


def _read(path: str | Path, *, implied: bool = True) -> tuple[TestSet, list[str]]:
    """Read a test set, and describe a language that only its folder implies.

    Args:
        path: The file.
        implied: Use the language that the folder is named after, if the file declares none.
    """
    source = read_file(path)
    form = _form_of(source)
    view = read_view(source, form)
    _refuse_errors(view)
    if view.cases is None:
        seen = ", ".join(view.frame["query_id"])[:60]
        raise FormatError(f"expected {_FORM} but got {seen}", path=source.path)
    cases = _distinct(view.cases.cases)
    notes = []
    try:
        metadata = _metadata(view.cases, source.path)
        if implied and view.implied_language is not None:
            metadata["language"], folder = view.implied_language
            read_as = f"read as {metadata['language']}, from the folder {folder}"
            notes.append(f"{source.path} declares no language; {read_as}.")
        content: dict[str, Any] = {"metadata": metadata, "queries": list(map(_query, cases))}
        if view.cases.strict and "test_cases" in view.cases.lines:
            content["test_cases"] = []  # only one of the two keys is allowed
        return TestSet.model_validate(content), notes
    except TreeError as error:
        what, line, column = error.what, error.line, error.column
        raise FormatError(what, path=source.path, line=line, column=column) from None
    except ValidationError as error:
        find_line = partial(_line_of, document=view.cases, cases=cases)
        raise format_error(error, source.path, find_line) from None
    except (RecursionError, ValueError) as error:
        what = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise FormatError(f"not valid JSON or YAML: {what}", path=source.path) from None


def _form_of(source: FileContent) -> Literal["json", "yaml", "csv"]:
    """Return the format of a test set, by its file name and first characters."""
    start = source.data.decode("utf-8", "replace").removeprefix("\ufeff")
    form = form_of(source.path, start)
    if form in ("json", "yaml", "csv"):
        return form
    return "json" if start.lstrip().startswith(("{", "[")) else "yaml"


def _refuse_errors(view: TopicsView) -> None:
    """Raise the first error of the validator that prevents scoring, if there is one."""
    for finding in check_topics(view):
        if finding.severity is Severity.ERROR and finding.blocks_scoring:
            raise FormatError(
                f"{finding.message} ({finding.code})",
                path=view.path,
                line=finding.line,
                column=finding.column,
                remedy=finding.remedy[:1].lower() + finding.remedy[1:],
            )


def _distinct(cases: Iterable[CaseView]) -> list[CaseView]:
    """Return the cases without repetitions of id and text, each judgment once."""
    distinct: dict[tuple[str, str | None], CaseView] = {}
    for case in cases:
        judged = {(term.doc_id, term.grade): term for term in reversed(case.judged)}
        terms = [term for term in case.judged if judged[term.doc_id, term.grade] is term]
        distinct.setdefault((case.query_id, case.topic.text), replace(case, judged=terms))
    return list(distinct.values())


def _metadata(document: Cases, path: str) -> dict[str, Any]:
    """Return the metadata; a set without a name is named after its file.

    Raises:
        TreeError: If a value is invalid.
    """
    values = {key: load_value(node) for key, node in document.metadata.items()}
    if not document.strict:
        values = {key: str(value) for key, value in values.items() if value is not None}
    return {"dataset_id": Path(path).name.partition(".")[0], **values}


def _query(case: CaseView) -> dict[str, Any]:
    """Return the fields of a query."""
    relevant = [
        # A grade with hundreds of digits is infinite; the model refuses it with its line.
        {
            "doc_id": term.doc_id,
            "grade": int(grade) if isfinite(grade) else grade,
            "span": term.span,
        }
        for term in case.judged
        if (grade := term.grade) is not None
    ]
    query = {"query_id": case.query_id, "text": case.topic.text, "relevant": relevant}
    return case.notes | query


def _line_of(place: Sequence[str | int], document: Cases, cases: Sequence[CaseView]) -> int | None:
    """Return the line of a field of the model, or of the field that contains it."""
    if place[:1] != ("queries",) or len(place) < 2:
        node = document.metadata.get(str(place[1])) if len(place) > 1 else None
        return node.line if node is not None else document.lines.get("".join(map(str, place[:1])))
    case = cases[int(place[1])]
    if place[2:3] == ("relevant",) and len(place) > 3:
        return case.judged[int(place[3])].line
    return case.topic.text_line if place[2:3] == ("text",) else case.topic.line
