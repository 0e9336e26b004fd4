"""Read and write test sets as JSON, YAML, or topics and qrels in TREC or BEIR layout."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from trectools_plus.choices import TestSetForm
from trectools_plus.display import Displayed
from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.files.atomic import atomic_write
from trectools_plus.formats.files.content import iter_lines
from trectools_plus.formats.files.outputs import refuse_foreign_beside
from trectools_plus.formats.jsonl import iter_objects
from trectools_plus.formats.tables import Qrels, Topics
from trectools_plus.formats.topic_records.model import DEFAULTS, TopicOptions
from trectools_plus.formats.topics import read_topics, write_topics
from trectools_plus.formats.trec_files import write_qrels
from trectools_plus.formats.writing import open_output, refuse_unwritable
from trectools_plus.testsets.model import (
    QUERY_FIELDS,
    TestQuery,
    TestSet,
    from_tables,
    qrels_of,
    topics_of,
)
from trectools_plus.validation.loading import load_qrels

Layout = Literal["trec", "trec-jsonl", "beir"]

_METADATA_KEYS = ("dataset_id", "version", "language", "description")
LAYOUTS: Mapping[Layout, tuple[str, str]] = {
    "trec": ("topics.tsv", "qrels.txt"),
    "trec-jsonl": ("topics.jsonl", "qrels.txt"),
    "beir": ("queries.jsonl", "qrels/test.tsv"),
}
"""The files of topics and qrels in each layout, relative to the folder."""

METADATA_FILE = "metadata.json"
"""The file with the metadata of the set, in the same folder."""

SPANS = "spans"
"""The field of topics with the spans of the judgments, by document id."""

_BEIR_HEADER = "query-id\tcorpus-id\tscore\n"

_FILE = re.compile(r"\.(json|ya?ml)(\.(gz|bz2|xz|zst))?$", re.IGNORECASE)
_LINES_FILE = re.compile(r"\.jsonl(\.\w+)?$", re.IGNORECASE)
_YAML_FILE = re.compile(r"\.ya?ml(\.\w+)?$", re.IGNORECASE)


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
    if form not in ("json", "yaml"):
        return Path(output, language)
    path = Path(output)
    match = _FILE.search(path.name)
    stem = path.name[: match.start()] if match else path.name
    return path.with_name(f"{stem}-{language}{path.name[len(stem) :]}")


def convert_test_set(test_set: TestSet, output: str | Path, form: TestSetForm) -> ConvertedTestSet:
    """Write a test set as one file, or as topics and qrels in a folder.

    Args:
        test_set: The set.
        output: The file or folder; ``-`` is standard output, for JSON.
        form: The format: ``json`` or ``yaml`` for a file; ``trec``, ``trec-jsonl`` or ``beir`` for
            a folder, see :func:`write_folder`.

    Returns:
        The written files, and the fields that the format cannot contain.

    Returns:
        The files written, and what they omit.

    Raises:
        UsageError: If the suffix of a file does not match the format.
        InputError: If a file cannot be written, or an id is not allowed in qrels.
    """
    if form == "json" or form == "yaml":
        to_stdout = str(output) == "-" and form == "json"
        if not to_stdout and form_of_output(output) != form:
            raise UsageError(
                f"the name of a {form} file must end in .{form}",
                where=str(output),
                remedy="rename the output, or choose another --to",
            )
        write_test_set(test_set, output)
        return ConvertedTestSet((Path(output),))
    files = write_folder(test_set, output, form)
    dropped = [
        name
        for name in (*QUERY_FIELDS, SPANS)
        if form == "trec" and any(_field(query, name) for query in test_set.queries)
    ]
    return ConvertedTestSet(tuple(files), tuple(dropped))


def write_folder(test_set: TestSet, folder: str | Path, layout: Layout) -> list[Path]:
    """Write a test set as topics, qrels and metadata.

    The topics of ``trec`` have only ids and texts, so every TREC tool can read them. ``trec-jsonl``
    and ``beir`` contain all fields of the queries.

    Args:
        test_set: The set.
        folder: The folder; created if missing.
        layout: ``trec``, ``trec-jsonl`` or ``beir``.

    Returns:
        The files of topics, qrels and metadata.

    Raises:
        InputError: If a file cannot be written, or an id is not allowed in qrels.
    """
    root = Path(folder)
    topics_path, qrels_path = (root / name for name in LAYOUTS[layout])
    topics, qrels = topics_of(test_set), qrels_of(test_set)
    # Check both before writing either: topics are useless without qrels.
    refuse_unwritable(topics.frame, ("query_id",), "topics")
    refuse_unwritable(qrels.frame, ("query_id", "doc_id"), "qrels")
    names = [*LAYOUTS[layout], METADATA_FILE]
    refuse_foreign_beside(root, names, METADATA_FILE, _METADATA_KEYS)
    try:
        qrels_path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot create the folder: {error.strerror}", where=str(root)) from error
    if layout == "trec":
        write_topics(topics, topics_path)
    else:
        write_utf8(_json_lines(test_set, "_id" if layout == "beir" else "query_id"), topics_path)
    if layout == "beir":
        _write_beir_qrels(qrels, qrels_path)
    else:
        write_qrels(qrels, qrels_path)
    metadata = json.dumps(test_set.metadata.model_dump(mode="json"), indent=2, ensure_ascii=False)
    write_utf8(f"{metadata}\n", root / METADATA_FILE)
    return [topics_path, qrels_path, root / METADATA_FILE]


def read_folder(folder: str | Path) -> TestSet:
    """Read a test set from a folder in TREC or BEIR layout, as :func:`write_folder` writes it.

    Without ``metadata.json``, the set is named after the folder.

    Raises:
        InputError: If topics or qrels are missing, exist in two layouts, or cannot be read.
        FormatError: If they are malformed, or are not a valid test set.
    """
    root = Path(folder)
    found = [
        (root / topics, root / qrels)
        for topics, qrels in LAYOUTS.values()
        if (root / topics).is_file()
    ]
    if len(found) != 1:
        names = " or ".join(topics for topics, _ in LAYOUTS.values())
        raise InputError(
            f"expected {names} but found {'several of them' if found else 'no such file'}",
            where=str(root),
            remedy="give a folder that contains topics in exactly one layout",
        )
    topics, qrels = found[0]
    if not qrels.is_file():
        raise InputError(
            "the qrels are missing", where=str(qrels), remedy="add this file to the folder"
        )
    return read_parts(topics, qrels, metadata=_read_metadata(root), where=str(root))


def read_parts(
    topics: str | Path,
    qrels: str | Path,
    *,
    metadata: Mapping[str, Any] | None = None,
    where: str | None = None,
    options: TopicOptions = DEFAULTS,
    note: Callable[[str], None] | None = None,
) -> TestSet:
    """Read topics and qrels as a test set.

    Args:
        topics: Topics in any format; see :func:`trectools_plus.formats.topics.read_topics`.
        qrels: Qrels in any format; see :func:`trectools_plus.load_qrels`.
        metadata: The metadata; by default the set is named after the file of topics.
        where: The name of the set in error messages.
        options: The fields and the language of the topics.
        note: Takes a description of unusual formats and fields.

    Raises:
        InputError: If a file cannot be read, or a judged query is not among the topics.
        FormatError: If a file is malformed, or the files are not a valid test set.
    """
    metadata = {"dataset_id": Path(topics).name.partition(".")[0], **(metadata or {})}
    read = read_topics(topics, options)
    if note is not None and read.read_as is not None:
        note(f"{topics} {read.read_as}")
    found = _without_empty_fields(read)
    judged = _without_repeats(load_qrels(qrels))
    return from_tables(found, judged, metadata, where or str(topics), _read_spans(topics))


def _field(query: TestQuery, name: str) -> Any:
    """Return a further field of a query, or the spans of its judgments by document id."""
    if name != SPANS:
        return getattr(query, name)
    return {term.doc_id: term.span for term in query.relevant if term.span is not None} or None


def _read_spans(topics: str | Path) -> dict[str, dict[str, Any]]:
    """Return the spans in topics that :func:`write_folder` wrote, by query and document."""
    if not _LINES_FILE.search(str(topics)):
        return {}
    return {
        str(record.get("query_id", record.get("_id"))): record[SPANS]
        for _, record in iter_objects(iter_lines(topics), str(topics))
        if isinstance(record.get(SPANS), dict)
    }


def _json_lines(test_set: TestSet, id_key: str) -> str:
    lines = []
    for query in test_set.queries:
        fields = {name: _field(query, name) for name in (*QUERY_FIELDS, SPANS)}
        given = {name: value for name, value in fields.items() if value is not None}
        record = {id_key: query.query_id, "text": query.text, **given}
        lines.append(json.dumps(record, ensure_ascii=False) + "\n")
    return "".join(lines)


def _write_beir_qrels(qrels: Qrels, path: Path) -> None:
    with atomic_write(path, "wb") as stream:
        stream.write(_BEIR_HEADER.encode())
        rows = qrels.frame.select("query_id", "doc_id", "relevance")
        rows.write_csv(stream, include_header=False, separator="\t", quote_style="never")


def _read_metadata(folder: Path) -> dict[str, Any]:
    path = folder / METADATA_FILE
    if not path.is_file():
        return {"dataset_id": folder.resolve().name}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"invalid JSON: {error}", where=str(path)) from error
    if not isinstance(content, dict):
        raise InputError("expected a JSON object", where=str(path))
    return {"dataset_id": folder.resolve().name, **content}


def _without_empty_fields(topics: Topics) -> Topics:
    """Replace empty cells by null: they stand for missing fields."""
    names = [name for name in topics.frame.columns if name not in ("query_id", "text")]
    empty = [pl.when(pl.col(name) != "").then(pl.col(name)).alias(name) for name in names]
    return Topics(topics.frame.with_columns(empty), topics.path)


def _without_repeats(qrels: Qrels) -> Qrels:
    """Drop repeated judgments."""
    columns = ["query_id", "doc_id", "relevance"]
    return Qrels(qrels.frame.unique(columns, keep="first", maintain_order=True), qrels.path)


def write_test_set(test_set: TestSet, path: str | Path) -> None:
    """Write a test set atomically; reading the file returns the same set.

    The file is YAML if its name ends in ``.yaml`` or ``.yml``, otherwise JSON. It is compressed if
    ``.gz``, ``.bz2``, ``.xz`` or ``.zst`` follows.

    Args:
        test_set: The set.
        path: The file; ``-`` writes JSON to standard output.

    Raises:
        InputError: If a text cannot be encoded as UTF-8, or the file cannot be written.
    """
    content = as_content(test_set)
    text = _as_yaml(content) if _YAML_FILE.search(str(path)) else render_test_set(test_set)
    write_utf8(text, path)


def render_test_set(test_set: TestSet) -> str:
    """Return the set as JSON, with a final newline."""
    return json.dumps(as_content(test_set), indent=2, ensure_ascii=False) + "\n"


def as_content(test_set: TestSet) -> dict[str, Any]:
    """Return the set as JSON values without fields that are null."""
    return test_set.model_dump(mode="json", exclude_none=True)


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


class _Quoted(str):
    """A text to quote in YAML, because loaders differ in unquoted numbers, dates and booleans."""


def _as_yaml(content: Mapping[str, Any]) -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
            return True

    def represent(dumper: yaml.SafeDumper, text: _Quoted) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style='"')

    Dumper.add_representer(_Quoted, represent)
    return yaml.dump(_quote(content), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100)


def _quote(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _quote(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_quote(item) for item in value]
    return _Quoted(value) if isinstance(value, str) else value
