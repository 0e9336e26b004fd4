"""Load shipped test sets, and test sets from files in JSON or YAML, in one language."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from trectools_plus.display import Displayed
from trectools_plus.errors import FormatError, InputError, UsageError
from trectools_plus.formats.files.content import FileContent, read_file
from trectools_plus.formats.nodes import TreeError, load_value
from trectools_plus.formats.topic_formats import JSON, YAML, TopicFormat, format_of
from trectools_plus.testsets.model import TestQuery, TestSet, checked_test_set
from trectools_plus.text import listed, plural
from trectools_plus.validation.findings import Severity
from trectools_plus.validation.texts import primary_language
from trectools_plus.validation.topics import check_topics, read_view
from trectools_plus.validation.views.topics import Cases, JudgedTopic, TopicsView

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
            descriptions. See :func:`trectools_plus.testsets.loading.with_text_field`.
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
            test_set.metadata.language,
            len(test_set.queries),
            test_set.metadata.version,
            test_set.metadata.description,
        )
        for name in shipped_names()
        for test_set in [load_test_set(name)]
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
        FormatError: If the file is not JSON or YAML, or a field is missing or invalid.
    """
    source = read_file(path)
    view = read_view(source, _form_of(source))
    _refuse_errors(view)
    document = view.cases
    keys = None if document is None else document.keys
    if document is None or keys is None or {*keys} >= {"queries", "test_cases"}:
        seen = ", ".join(keys or view.frame["query_id"])[:60]
        raise FormatError(f"expected {_FORM} but got {seen}", path=source.path)
    cases: dict[tuple[str, str | None], JudgedTopic] = {}
    for case in document.cases:
        cases.setdefault((case.query_id, case.topic.text), case)
    metadata = _metadata(document, source.path)
    if implied and view.implied_language is not None:
        metadata["language"] = view.implied_language
    content = {"metadata": metadata, "queries": [_query(case) for case in cases.values()]}
    return checked_test_set(content, source.path)


def _form_of(source: FileContent) -> TopicFormat:
    """Return the format of a test set, by its file name and first characters."""
    start = source.data.decode("utf-8", "replace").removeprefix("\ufeff")
    form = format_of(source.path, start)
    if form.is_document:
        return form
    return JSON if start.lstrip()[:1] in "{[" else YAML


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


def _query(case: JudgedTopic) -> dict[str, Any]:
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


TextField = Literal["text", "description"]


def languages_in(test_set: TestSet) -> dict[str, int]:
    """Return the number of queries by language, in the order of the set.

    The language of a query is its own or that of the metadata, as ISO 639-1 code; empty if neither
    is declared.
    """
    facts, queries = test_set.metadata, test_set.queries
    return dict(Counter(primary_language(query.language or facts.language) for query in queries))


def language_notes(test_set: TestSet) -> list[str]:
    """Return a note if the queries are in several languages."""
    counts = languages_in(test_set)
    if len(counts) < 2:
        return []
    shown = ", ".join(f"{language or 'none declared'} {n:,}" for language, n in counts.items())
    return [
        f"The queries are in several languages ({shown}), so the means over all queries depend on "
        "these numbers. The strata by language have the means of each language."
    ]


def split_languages(test_set: TestSet, where: str) -> dict[str, TestSet]:
    """Return a set for each language, in the order of the set.

    The language is appended to the name of a set, unless all queries are in one language.

    Args:
        test_set: The set.
        where: The name of the set in error messages.

    Raises:
        FormatError: If a query has no language, or a language no query with a relevant term.
    """
    counts = languages_in(test_set)
    if "" in counts:
        raise FormatError(
            f"{plural(counts[''], 'query declares', 'queries declare')} no language",
            path=where,
            remedy="add the field language to each query",
        )
    return {language: select_language(test_set, language, where) for language in counts}


def select_language(test_set: TestSet, language: str, where: str) -> TestSet:
    """Return the queries in one language; see :func:`split_languages`.

    Raises:
        FormatError: If no query with a relevant term is in this language.
    """
    wanted, counts = primary_language(language), languages_in(test_set)
    queries = tuple(
        query
        for query in test_set.queries
        if primary_language(query.language or test_set.metadata.language) == wanted
    )
    if not any(query.has_relevant for query in queries):
        raise FormatError(
            f"no query with a relevant term is in the language {language}",
            path=where,
            remedy=f"the languages of the set are {', '.join(code or 'none' for code in counts)}",
        )
    dataset_id = test_set.metadata.dataset_id + (f"-{wanted}" if len(counts) > 1 else "")
    return _labelled(test_set, queries, dataset_id, wanted)


def declared_language(test_set: TestSet, where: str) -> str:
    """Return the language of all queries, as ISO 639-1 code; empty if none is declared.

    Args:
        test_set: The set.
        where: The name of the set in error messages.

    Raises:
        FormatError: If the queries are in several languages.
    """
    declared = sorted(filter(None, languages_in(test_set)))
    if len(declared) > 1:
        raise FormatError(
            f"texts in several languages: {', '.join(declared)}",
            path=where,
            remedy="write one set per language: trectools-plus testset convert SET OUT "
            "--split-languages",
        )
    return "".join(declared)


def with_text_field(
    test_set: TestSet, text_field: TextField, language: str | None, where: str
) -> TestSet:
    """Return the set with texts from the given field, and with their language declared.

    A file with texts in one language and descriptions in another can be read as two sets. With
    ``description``, the descriptions replace the texts, and the language is appended to the name of
    the set.

    Args:
        test_set: The set as it was read.
        text_field: ``text`` or ``description``.
        language: The language of that field, as ISO 639-1 code. ``None`` means the declared
            language for texts, and no language for descriptions.
        where: The name of the set in error messages.

    Raises:
        FormatError: If a query has no description to use as its text.
        UsageError: If the set declares another language for its texts.
    """
    name, queries = test_set.metadata.dataset_id, test_set.queries
    if text_field == "description":
        missing = [query.query_id for query in queries if not (query.description or "").strip()]
        if missing:
            raise FormatError(
                f"queries without a description to use as their text: {listed(missing)}",
                path=where,
                remedy="add a description to each query, or use the field 'text'",
            )
        described = tuple(
            query.model_copy(update={"text": query.description, "description": None})
            for query in queries
        )
        return _labelled(test_set, described, f"{name}-{language or 'descriptions'}", language)
    if language is None:
        return test_set
    declared = declared_language(test_set, where)
    if declared not in ("", primary_language(language)):
        raise UsageError(
            f"the set declares the language {declared}, not {language}",
            where=where,
            remedy="omit --language, or select the field with this language",
        )
    return _labelled(test_set, queries, name, language)


def _labelled(
    test_set: TestSet, queries: tuple[TestQuery, ...], dataset_id: str, language: str | None
) -> TestSet:
    """Return the set with other queries and another name, and one language for all queries."""
    named = tuple(query.model_copy(update={"language": language or None}) for query in queries)
    metadata = test_set.metadata.model_copy(
        update={"dataset_id": dataset_id, "language": language or ""}
    )
    return test_set.model_copy(update={"queries": named, "metadata": metadata})
