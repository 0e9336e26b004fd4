"""Read and write test sets as JSON, YAML, or topics and qrels in TREC or BEIR layout."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from trectools_plus.choices import TestSetForm
from trectools_plus.display import Displayed
from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.files.atomic import make_folder
from trectools_plus.formats.files.guards import refuse_foreign_beside
from trectools_plus.formats.interchange.names import METADATA_KEYS, NOTE_KEYS
from trectools_plus.formats.topics import DEFAULTS, TopicOptions, read_topics, write_topics
from trectools_plus.formats.trec_files import write_qrels
from trectools_plus.formats.writing import open_output, refuse_unwritable
from trectools_plus.testsets.model import TestSet, from_tables, qrels_of, topics_of
from trectools_plus.validation.loading import load_qrels

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
    refuse_foreign_beside(root, names, METADATA_FILE, METADATA_KEYS)
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
