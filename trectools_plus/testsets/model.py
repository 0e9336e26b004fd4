"""The model of a test set: queries with graded relevant terms; as tables, and its JSON Schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

import polars as pl
from pydantic import (
    ConfigDict,
    Field,
    StrictInt,
    ValidationError,
    field_validator,
    model_validator,
)

from trectools_plus.display import MAX_TABLE_ROWS, TextTable
from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.tables import QRELS_SCHEMA, Qrels, Topics
from trectools_plus.formats.topic_records.schema import NOTE_KEYS, NOTE_WORDS
from trectools_plus.models import Model
from trectools_plus.text import plural

Category = Literal["exact_match", "synonym", "abbreviation", "layperson", "complex"]
Difficulty = Literal["easy", "medium", "hard"]
QueryType = Literal["exact_term", "paraphrase", "complex_clinical"]

_ID_PATTERN = r"^\S+$"
Identifier = Annotated[str, Field(pattern=_ID_PATTERN)]
"""An id without white space, because it is a column in run files."""

LOWEST_GRADE, HIGHEST_GRADE = 0, 3
"""The scale of grades; other grades are accepted, and ``testset validate`` reports them."""


class _Model(Model):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
    __test__: ClassVar[bool] = False  # pytest must not collect it


class RelevantTerm(_Model):
    """A judged term of a query, and its grade."""

    doc_id: Identifier
    """The id of the term."""
    grade: StrictInt = Field(ge=-127, le=127)
    """3 exactly this term; 2 broader or narrower, in the same branch; 1 one part of a phrase that
    names several findings; 0 judged and not relevant. Other scales are accepted too: up to 127, and
    -1 for not judged."""
    span: str | None = Field(default=None, pattern=r"\S")
    """The words of the query text that name this term, if they are only a part of the text."""


class TestQuery(_Model):
    """One test case."""

    query_id: Identifier
    """The id, unique in the set."""
    text: str = Field(pattern=r"\S")
    """The text to search for."""
    relevant: tuple[RelevantTerm, ...]
    """The judged terms; a query without a grade above 0 is excluded from every mean."""
    category: Category | None = None
    """The kind of wording."""
    difficulty: Difficulty | None = None
    """The difficulty for systems that match words."""
    query_type: QueryType | None = None
    """A coarser classification of the wording."""
    hpo_domain: str | None = None
    """The organ system: the label of a child of "Phenotypic abnormality"."""
    language: str | None = None
    """The language of the text, as ISO 639-1 code."""
    description: str | None = None
    """A comment, or the text in English."""

    @field_validator("relevant")
    @classmethod
    def _check_relevant(cls, terms: tuple[RelevantTerm, ...]) -> tuple[RelevantTerm, ...]:
        _refuse_repeated(term.doc_id for term in terms)
        return terms

    @property
    def has_relevant(self) -> bool:
        """True if a term has a grade above 0, so that the query can score above 0."""
        return any(term.grade > 0 for term in self.relevant)


class TestSetMetadata(Model):
    """The metadata of a test set, which can have further keys."""

    model_config = ConfigDict(extra="allow", frozen=True, use_attribute_docstrings=True)
    __test__: ClassVar[bool] = False

    dataset_id: str
    """The name; by default the name of the file."""
    version: str = ""
    """The version, for example ``1.0.0``; it changes when queries are replaced."""
    language: str = ""
    """The language of all texts, as ISO 639-1 code; empty if not declared."""
    description: str = ""
    """A description of the contents and of the meaning of the grades."""


class TestSet(_Model):
    """Test cases with graded terms."""

    metadata: TestSetMetadata
    """The metadata."""
    queries: tuple[TestQuery, ...] = Field(min_length=1)
    """The test cases."""

    def _text(self) -> str:
        """Name, version, language and size; ``queries`` has the content."""
        facts = self.metadata
        named = " ".join(part for part in (facts.dataset_id, facts.version) if part)
        language = f", {facts.language}" if facts.language else ""
        return f"<TestSet {named}: {plural(len(self.queries), 'query', 'queries')}{language}>"

    def _content(self) -> TextTable:
        rows = [
            [query.query_id, query.text, ", ".join(term.doc_id for term in query.relevant)]
            for query in self.queries[:MAX_TABLE_ROWS]
        ]
        return TextTable.of(
            ["Query", "Text", "Judged terms"],
            rows,
            caption=self._text().strip("<>"),
            total=len(self.queries),
        )

    @model_validator(mode="after")
    def _check_queries(self) -> Self:
        _refuse_repeated(query.query_id for query in self.queries)
        # A set of wrong terms measures whether a search finds nothing.
        if not any(q.has_relevant for q in self.queries) and not all(
            q.relevant for q in self.queries
        ):
            raise ValueError("expected at least one term with a grade above 0")
        return self


def _refuse_repeated(ids: Iterable[str]) -> None:
    repeated = [item for item, count in Counter(ids).items() if count > 1]
    if repeated:
        raise ValueError(f"repeated ids: {', '.join(repeated[:3])}")


def format_error(
    error: ValidationError,
    path: str,
    find_line: Callable[[tuple[int | str, ...]], int | None] = lambda _: None,
) -> FormatError:
    """Convert the first of Pydantic's errors to a format error; mention the number of the others.

    Args:
        error: The errors.
        path: The file.
        find_line: A function that returns the line of a field, by its location in the model.
    """
    problems = error.errors(include_url=False)
    # If items of a list are invalid, Pydantic also reports that the list is too short.
    deepest = [p for p in problems if not any(_lies_within(q["loc"], p["loc"]) for q in problems)]
    first = deepest[0]
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"])
    place = "".join(steps).removeprefix(".") or "the file"
    message = first["msg"]
    if first["type"] == "value_error":
        message = str(first["ctx"]["error"])
    else:
        message = message[:1].lower() + message[1:]
    value = first["input"]
    seen = f", got {value!r}"[:60] if not isinstance(value, dict | list) else ""
    more = f" (and {len(deepest) - 1} more)" if len(deepest) > 1 else ""
    line = find_line(first["loc"])
    remedy = "each query needs query_id, text and relevant: [{doc_id, grade}]"
    return FormatError(f"{place}: {message}{seen}{more}", path=path, line=line, remedy=remedy)


def _lies_within(place: tuple[int | str, ...], outer: tuple[int | str, ...]) -> bool:
    return len(place) > len(outer) and place[: len(outer)] == outer


def json_schema_of_test_sets() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of test sets in the form that is written."""
    schema = TestSet.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


QUERY_FIELDS = NOTE_KEYS
"""The fields of queries other than id, text and judgments; they become columns of topics."""


def topics_of(test_set: TestSet, path: str | None = None) -> Topics:
    """Return the queries as topics, with those of :data:`QUERY_FIELDS` that any query has.

    The cell of a query without such a field is empty.

    Args:
        test_set: The set.
        path: The name of the set in error messages.
    """
    queries = test_set.queries
    further = {
        name: [getattr(query, name) or "" for query in queries]
        for name in QUERY_FIELDS
        if any(getattr(query, name) for query in queries)
    }
    if language := test_set.metadata.language:
        further["language"] = [query.language or language for query in queries]
    columns = {
        "query_id": [query.query_id for query in queries],
        "text": [query.text for query in queries],
        **further,
    }
    return Topics(pl.DataFrame(columns), path=path)


def qrels_of(test_set: TestSet, path: str | None = None) -> Qrels:
    """Return the judgments as qrels, in the order of the set.

    Args:
        test_set: The set.
        path: The name of the set in error messages.
    """
    rows = [
        (query.query_id, "0", term.doc_id, term.grade)
        for query in test_set.queries
        for term in query.relevant
    ]
    return Qrels(pl.DataFrame(rows, schema=QRELS_SCHEMA, orient="row"), path=path)


def from_tables(
    topics: Topics,
    qrels: Qrels,
    metadata: Mapping[str, Any],
    where: str = "test set",
    spans: Mapping[str, Mapping[str, Any]] | None = None,
) -> TestSet:
    """Combine topics and judgments into a test set.

    Further columns of the topics are used if they are among :data:`QUERY_FIELDS`. Unknown values of
    fields with fixed values, for example ``category``, are dropped.

    Args:
        topics: The queries, in the order of the set.
        qrels: The judgments, in the order of each query.
        metadata: The metadata, with at least ``dataset_id``.
        where: The name of the set in error messages.
        spans: By query and document, the words of the text that name the document.

    Raises:
        InputError: If a judged query is not among the topics.
        FormatError: If a document is judged twice, or no document is relevant.
    """
    unknown = set(qrels.query_ids) - set(topics.query_ids)
    if unknown:
        raise InputError(
            f"{len(unknown)} judged queries are not in the topics: "
            f"{', '.join(sorted(unknown)[:3])}",
            where=qrels.path or where,
            remedy="give the topics of these judgments",
        )
    relevant: dict[str, list[dict[str, Any]]] = {}
    for query_id, doc_id, grade in qrels.frame.select(
        "query_id", "doc_id", "relevance"
    ).iter_rows():
        span = (spans or {}).get(query_id, {}).get(doc_id)
        term = {"doc_id": doc_id, "grade": grade, "span": span}
        relevant.setdefault(query_id, []).append(term)
    queries = [
        {
            **_fields(row),
            "query_id": row["query_id"],
            "text": row["text"],
            "relevant": relevant.get(row["query_id"], []),
        }
        for row in topics.frame.iter_rows(named=True)
    ]
    content = {"metadata": dict(metadata), "queries": queries}
    try:
        return TestSet.model_validate(content)
    except ValidationError as error:
        raise format_error(error, where) from None


def _fields(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: row[name]
        for name in QUERY_FIELDS
        if row.get(name) and (name not in NOTE_WORDS or row[name] in NOTE_WORDS[name])
    }
