"""Load shipped test sets, and test sets from files in JSON or YAML."""

from __future__ import annotations

import os
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from trectools_plus.display import Displayed
from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.files.content import FileContent, read_file
from trectools_plus.formats.topic_records.nodes import TreeError, load_value
from trectools_plus.formats.topics import form_of
from trectools_plus.testsets.languages import TextField, with_text_field
from trectools_plus.testsets.model import TestSet, checked_test_set
from trectools_plus.validation.findings import Severity
from trectools_plus.validation.topics import check_topics, read_view
from trectools_plus.validation.views.topics import Cases, TestCase, TopicsView

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
    """Load a shipped test set, or read a file in JSON or YAML.

    Args:
        name_or_path: A name, for example ``hpo-en-tiny``, or a file, compressed or not. The suffix
            can be omitted: ``mine`` also finds ``mine.yaml``, ``mine.yml`` and ``mine.json``. For a
            file with the name of a shipped set, give the folder too: ``./hpo-en-tiny``.
        text_field: The field with the texts, for example if a set has German texts and English
            descriptions. See :func:`trectools_plus.testsets.languages.with_text_field`.
        language: The language of the texts, as ISO 639-1 code, for a set that declares none.

    Raises:
        InputError: If the set or file does not exist, or cannot be read.
        FormatError: If the file is not JSON or YAML, a field is missing or invalid, or a query
            lacks the ``text_field``.
        UsageError: If the set declares another language for its texts.
    """
    test_set = read_test_set(find_test_set(name_or_path), implied=language is None)
    return with_text_field(test_set, text_field, language, str(name_or_path))


def find_test_set(name_or_path: str | Path) -> Path:
    """Return the path of a shipped test set or of a file, whose suffix can be omitted.

    Raises:
        InputError: If there is no shipped set and no file with this name.
    """
    text = str(name_or_path)
    shipped = find_shipped(text)
    if shipped is not None or text == "-":
        return shipped or Path(text)
    for ending in ("", ".yaml", ".yml", _ENDING):
        if os.path.exists(text + ending):  # noqa: PTH110 - false for a name that is not valid
            return Path(text + ending)
    if Path(text).name == text and "." not in text:
        remedy = f"give a file, or one of {', '.join(shipped_names())}"
        raise InputError("no such test set or file", where=text, remedy=remedy)
    return Path(text)


def find_shipped(name: str) -> Path | None:
    """Return the file of a shipped test set; ``None`` if no shipped set has this name."""
    return _FOLDER / f"{name}{_ENDING}" if name in shipped_names() else None


def shipped_names() -> list[str]:
    """Return the names of the shipped test sets, in alphabetical order."""
    return sorted(path.name.removesuffix(_ENDING) for path in _FOLDER.glob(f"*{_ENDING}"))


def list_test_sets() -> list[ListedTestSet]:
    """Return the shipped test sets in the order of their names."""
    return [
        ListedTestSet(
            name,
            one.metadata.language,
            len(one.queries),
            one.metadata.version,
            one.metadata.description,
        )
        for name in shipped_names()
        for one in [load_test_set(name)]
    ]


def read_test_set(path: str | Path, *, implied: bool = True) -> TestSet:
    """Read a test set in any form that ``trectools_plus.validation.views.topics`` accepts.

    Files with errors of ``topics validate`` are refused; the message contains the code of the rule.
    Warnings are accepted: ids that are whole numbers become text, repeated cases and judgments
    count once, and a case without judgments has no score.

    Args:
        path: The file, compressed or not; ``-`` is standard input.
        implied: If the file declares no language, and its folder is named after one (``german/``,
            ``de/``), that is the language of the set.

    Raises:
        InputError: If the file cannot be read.
        FormatError: If the file is not JSON, YAML or CSV, or a field is missing or invalid.
    """
    source = read_file(path)
    view = read_view(source, _form_of(source))
    _refuse_errors(view)
    document = view.cases
    keys = None if document is None else document.keys
    if document is None or keys is None or {*keys} >= {"queries", "test_cases"}:
        seen = ", ".join(keys or view.frame["query_id"])[:60]
        raise FormatError(f"expected {_FORM} but got {seen}", path=source.path)
    cases: dict[tuple[str, str | None], TestCase] = {}
    for case in document.cases:
        cases.setdefault((case.query_id, case.topic.text), case)
    metadata = _metadata(document, source.path)
    if implied and view.implied_language is not None:
        metadata["language"] = view.implied_language
    content = {"metadata": metadata, "queries": [_query(case) for case in cases.values()]}
    return checked_test_set(content, source.path)


def _form_of(source: FileContent) -> Literal["json", "yaml"]:
    """Return the format of a test set, by its file name and first characters."""
    start = source.data.decode("utf-8", "replace").removeprefix("\ufeff")
    form = form_of(source.path, start)
    if form in ("json", "yaml"):
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


def _metadata(document: Cases, path: str) -> dict[str, Any]:
    """Return the metadata; a set without a name is named after its file.

    Raises:
        FormatError: If a value is invalid.
    """
    try:
        values = {key: load_value(node) for key, node in document.metadata.items()}
    except (TreeError, RecursionError, ValueError) as error:
        raise FormatError(f"cannot read the metadata: {error}", path=path) from None
    if not document.strict:
        values = {key: str(value) for key, value in values.items() if value is not None}
    return {"dataset_id": Path(path).name.partition(".")[0], **values}


def _query(case: TestCase) -> dict[str, Any]:
    """Return the fields of a query, each judgment once."""
    relevant: dict[tuple[str, float], dict[str, Any]] = {}
    for term in case.judged:
        if term.grade is not None:
            # A grade with hundreds of digits is infinite; the model refuses it.
            grade = int(term.grade) if isfinite(term.grade) else term.grade
            judged = {"doc_id": term.doc_id, "grade": grade, "span": term.span}
            relevant.setdefault((term.doc_id, grade), judged)
    query = {"query_id": case.query_id, "text": case.topic.text, "relevant": [*relevant.values()]}
    return case.notes | query
