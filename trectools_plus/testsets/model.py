"""The model of a test set: queries with graded relevant terms. Its JSON Schema, tables and files.

Test sets are written as JSON, YAML, or topics and qrels in TREC or BEIR layout.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

import polars as pl
from pydantic import (
    ConfigDict,
    Field,
    StrictInt,
    ValidationError,
    field_validator,
    model_validator,
)

from trectools_plus.choices import TestSetForm
from trectools_plus.display import Displayed
from trectools_plus.errors import FormatError, InputError, UsageError
from trectools_plus.formats.files.atomic import make_folder
from trectools_plus.formats.files.guards import refuse_foreign_beside
from trectools_plus.formats.interchange.names import NOTE_KEYS
from trectools_plus.formats.tables import QRELS_SCHEMA, Qrels, Topics
from trectools_plus.formats.topics import DEFAULTS, TopicOptions, read_topics, write_topics
from trectools_plus.formats.writing import open_output, refuse_unwritable, write_qrels
from trectools_plus.models import Model, explain_problem
from trectools_plus.text import listed
from trectools_plus.validation.loading import load_qrels
from trectools_plus.validation.views.topics import Metadata, Notes

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


class _Judged(_Model):
    """A text with judged terms."""

    query_id: Identifier
    """The id, unique in the set."""
    text: str = Field(pattern=r"\S")
    """The text to search for."""
    relevant: tuple[RelevantTerm, ...]
    """The judged terms; a query without a grade above 0 is excluded from every mean."""

    @field_validator("relevant")
    @classmethod
    def _check_relevant(cls, terms: tuple[RelevantTerm, ...]) -> tuple[RelevantTerm, ...]:
        _refuse_repeated(term.doc_id for term in terms)
        return terms

    @property
    def has_relevant(self) -> bool:
        """True if a term has a grade above 0, so that the query can score above 0."""
        return any(term.grade > 0 for term in self.relevant)


class TestQuery(Notes, _Judged):
    """One test case."""


class TestSetMetadata(_Model, Metadata):
    """The metadata of a test set, which can have further keys."""

    model_config = ConfigDict(extra="allow")


class TestSet(_Model):
    """Test cases with graded terms."""

    _entries: ClassVar[str] = "queries"
    _columns: ClassVar[tuple[str, ...]] = ("query_id", "text", "relevant")

    metadata: TestSetMetadata
    """The metadata."""
    queries: tuple[TestQuery, ...] = Field(min_length=1)
    """The test cases."""

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
        raise ValueError(f"repeated ids: {listed(repeated)}")


def checked_test_set(content: Mapping[str, Any], path: str) -> TestSet:
    """Return a test set with this content.

    Args:
        content: The metadata and the queries.
        path: The name of the set in error messages.

    Raises:
        FormatError: If a field is missing or invalid.
    """
    try:
        return TestSet.model_validate(content)
    except ValidationError as error:
        # A list with an invalid item is also reported as too short.
        problem = max(error.errors(include_url=False), key=lambda detail: len(detail["loc"]))
        place = ".".join(map(str, problem["loc"])) or "the file"
        remedy = "each query needs query_id, text and relevant: [{doc_id, grade}]"
        what, _ = explain_problem(problem)
        raise FormatError(f"{place}: {what}", path=path, remedy=remedy) from None


def json_schema_of_test_sets() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of test sets in the form that is written."""
    schema = TestSet.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def topics_of(test_set: TestSet, path: str | None = None) -> Topics:
    """Return the queries as topics, with those of their other fields that any query has.

    The cell of a query without such a field is empty.

    Args:
        test_set: The set.
        path: The name of the set in error messages.
    """
    general = {"language": test_set.metadata.language or None}
    rows = [
        general | query.model_dump(exclude={"relevant"}, exclude_none=True)
        for query in test_set.queries
    ]
    frame = pl.DataFrame(rows, dict.fromkeys(("query_id", "text", *NOTE_KEYS), pl.String))
    notes = [name for name in NOTE_KEYS if frame[name].null_count() < frame.height]
    return Topics(frame.select("query_id", "text", *notes).fill_null(""), path=path)


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


def distinct_judgments(qrels: Qrels) -> pl.DataFrame:
    """Return ``query_id, doc_id, relevance`` of each judgment once, in the order of the qrels."""
    return qrels.frame.select("query_id", "doc_id", "relevance").unique(maintain_order=True)


def from_tables(
    topics: Topics, qrels: Qrels, metadata: Mapping[str, Any], where: str = "test set"
) -> TestSet:
    """Combine topics and judgments into a test set.

    Further columns of the topics are used if they are fields of a query. Unknown values of fields
    with fixed values, for example ``category``, are dropped.

    Args:
        topics: The queries, in the order of the set.
        qrels: The judgments, in the order of each query; repeated ones count once.
        metadata: The metadata, with at least ``dataset_id``.
        where: The name of the set in error messages.

    Raises:
        InputError: If a judged query is not among the topics.
        FormatError: If a document has two grades, or no document is relevant.
    """
    unknown = sorted(set(qrels.query_ids) - set(topics.query_ids))
    if unknown:
        raise InputError(
            f"{len(unknown)} judged queries are not in the topics: {listed(unknown)}",
            where=qrels.path or where,
            remedy="give the topics of these judgments",
        )
    relevant: dict[str, list[dict[str, Any]]] = {}
    for query_id, doc_id, grade in distinct_judgments(qrels).iter_rows():
        relevant.setdefault(query_id, []).append({"doc_id": doc_id, "grade": grade})
    fields = Notes.model_fields.items()
    words = {name: get_args(get_args(field.annotation)[0]) for name, field in fields}
    queries = [
        {
            "query_id": row["query_id"],
            "text": row["text"],
            "relevant": relevant.get(row["query_id"], []),
            **{
                name: row[name]
                for name, known in words.items()
                if row.get(name) and (not known or row[name] in known)
            },
        }
        for row in topics.frame.iter_rows(named=True)
    ]
    return checked_test_set({"metadata": dict(metadata), "queries": queries}, where)


Layout = Literal["trec", "trec-jsonl", "beir"]

LAYOUTS: Mapping[Layout, tuple[str, str]] = {
    "trec": ("topics.tsv", "qrels.txt"),
    "trec-jsonl": ("topics.jsonl", "qrels.txt"),
    "beir": ("queries.jsonl", "qrels/test.tsv"),
}
"""The files of topics and qrels in each layout, relative to the folder."""

METADATA_FILE = "metadata.json"
"""The file with the metadata of the set, in the same folder."""

_BEIR_HEADER = "query-id\tcorpus-id\tscore\n"
_JUDGED = {"query_id", "relevant"}
"""Fields of a query that its topic does not have under the same name."""

_FILE = re.compile(r"\.(json|ya?ml)(\.(gz|bz2|xz|zst))?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, repr=False)
class ConvertedTestSet(Displayed):
    """The result of a conversion.

    Attributes:
        files: The written files.
        dropped: Fields of the queries that the format cannot contain.
    """

    files: tuple[Path, ...]
    dropped: tuple[str, ...] = ()


def form_of_output(path: str | Path) -> TestSetForm:
    """Return the format of an output file, by the suffix of its name.

    Raises:
        UsageError: If the suffix is unknown.
    """
    match = _FILE.search(str(path))
    if match is None:
        raise UsageError(
            "the format cannot be determined from the file name",
            where=str(path),
            remedy="give a .json or .yaml file, or a folder with --to trec, trec-jsonl or beir",
        )
    return "json" if match[1].lower() == "json" else "yaml"


def path_of_language(output: str | Path, form: TestSetForm, language: str) -> Path:
    """Return the path for the queries in one language.

    It is ``out-de.json`` for the file ``out.json``, and ``out/de`` for the folder ``out``.
    """
    path = Path(output)
    if form not in ("json", "yaml"):
        return path / language
    return path.with_name(_FILE.sub(lambda ending: f"-{language}{ending[0]}", path.name))


def convert_test_set(test_set: TestSet, output: str | Path, form: TestSetForm) -> ConvertedTestSet:
    """Write a test set as one file, or as topics and qrels in a folder.

    Args:
        test_set: The set.
        output: The file or folder; ``-`` is standard output, for JSON.
        form: The format: ``json`` or ``yaml`` for a file; ``trec``, ``trec-jsonl`` or ``beir`` for
            a folder.

    Returns:
        The written files, and the fields that the format cannot contain.

    Raises:
        InputError: If a file cannot be written, or an id is not allowed in qrels.
    """
    if form == "json" or form == "yaml":
        text = _as_yaml(test_set) if form == "yaml" else render_test_set(test_set)
        write_utf8(text, output)
        return ConvertedTestSet((Path(output),))
    dropped = [
        name
        for name in (NOTE_KEYS if form == "trec" else ())
        if any(getattr(query, name) for query in test_set.queries)
    ]
    if any(term.span for query in test_set.queries for term in query.relevant):
        dropped.append("span")
    return ConvertedTestSet(_write_folder(test_set, Path(output), form), tuple(dropped))


def _write_folder(test_set: TestSet, root: Path, layout: Layout) -> tuple[Path, ...]:
    """Write a test set as topics, qrels and metadata, and return their files.

    The topics of ``trec`` have only ids and texts, so every TREC tool can read them. ``trec-jsonl``
    and ``beir`` contain all fields of the queries.
    """
    topics, qrels = topics_of(test_set), qrels_of(test_set)
    # Check both before writing either: topics are useless without qrels.
    refuse_unwritable(topics.frame, ("query_id",), "topics")
    refuse_unwritable(qrels.frame, ("query_id", "doc_id"), "qrels")
    names = (*LAYOUTS[layout], METADATA_FILE)
    topics_path, qrels_path, metadata_path = files = tuple(root / name for name in names)
    refuse_foreign_beside(root, names, METADATA_FILE, Metadata.model_fields)
    make_folder(qrels_path.parent)
    if layout == "trec":
        write_topics(topics, topics_path)
    else:
        id_key = "_id" if layout == "beir" else "query_id"
        records = (
            {id_key: query.query_id, **query.model_dump(exclude=_JUDGED, exclude_none=True)}
            for query in test_set.queries
        )
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        write_utf8("".join(lines), topics_path)
    if layout == "beir":
        rows = qrels.frame.select("query_id", "doc_id", "relevance")
        table = rows.write_csv(include_header=False, separator="\t", quote_style="never")
        write_utf8(_BEIR_HEADER + table, qrels_path)
    else:
        write_qrels(qrels, qrels_path)
    metadata = json.dumps(test_set.metadata.model_dump(mode="json"), indent=2, ensure_ascii=False)
    write_utf8(f"{metadata}\n", metadata_path)
    return files


def read_parts(
    topics: str | Path,
    qrels: str | Path,
    *,
    options: TopicOptions = DEFAULTS,
    note: Callable[[str], None] = lambda _: None,
) -> TestSet:
    """Read topics and qrels as a test set, which is named after the file of topics.

    Args:
        topics: Topics in any format; see :func:`trectools_plus.formats.topics.read_topics`.
        qrels: Qrels in any format; see :func:`trectools_plus.load_qrels`.
        options: The fields and the language of the topics.
        note: Takes a description of unusual formats and fields.

    Raises:
        InputError: If a file cannot be read, or a judged query is not among the topics.
        FormatError: If a file is malformed, or the files are not a valid test set.
    """
    metadata = {"dataset_id": Path(topics).name.partition(".")[0]}
    table = read_topics(topics, options)
    if table.read_as is not None:
        note(f"{topics} {table.read_as}")
    return from_tables(table, load_qrels(qrels), metadata, str(topics))


def write_test_set(test_set: TestSet, path: str | Path) -> None:
    """Write a test set atomically; reading the file returns the same set.

    The file is compressed if ``.gz``, ``.bz2``, ``.xz`` or ``.zst`` follows.

    Args:
        test_set: The set.
        path: The file, which ends in ``.json``, ``.yaml`` or ``.yml``.

    Raises:
        UsageError: If the file has another suffix.
        InputError: If a text cannot be encoded as UTF-8, or the file cannot be written.
    """
    convert_test_set(test_set, path, form_of_output(path))


def render_test_set(test_set: TestSet) -> str:
    """Return the set as JSON without fields that are null, with a final newline."""
    content = test_set.model_dump(mode="json", exclude_none=True)
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def write_utf8(text: str, path: str | Path) -> None:
    """Write a text atomically, compressed according to the suffix of the path.

    Raises:
        InputError: If the text cannot be encoded as UTF-8, or the file cannot be written.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            "a text contains a lone surrogate",
            where=str(path),
            remedy=f"correct the text near {text[max(0, error.start - 20) : error.start]!r}",
        ) from error
    with open_output(path) as stream:
        stream.write(data)


def _as_yaml(test_set: TestSet) -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Quotes all texts but words: loaders differ in unquoted numbers and dates."""

    Dumper.add_representer(
        str,
        lambda dumper, text: dumper.represent_scalar(
            "tag:yaml.org,2002:str", text, None if text.isidentifier() and text[1:] else '"'
        ),
    )
    content = test_set.model_dump(mode="json", exclude_none=True)
    return yaml.dump(content, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100)
