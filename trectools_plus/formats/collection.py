"""Test collections: documents in JSON Lines, queries and judgments that belong together.

They are folders, or datasets of the ``ir_datasets`` catalogue: ``irds:<id>``.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from trectools_plus.display import Displayed
from trectools_plus.errors import FormatError, InputError, TrectoolsPlusError, UsageError
from trectools_plus.formats.files.content import iter_lines
from trectools_plus.formats.files.opening import CATALOGUE_PREFIX, SUFFIXES
from trectools_plus.formats.files.opening import is_catalogue_name as is_catalogue_name
from trectools_plus.formats.hashing import ROWS_PER_STEP
from trectools_plus.formats.jsonl import iter_objects
from trectools_plus.formats.tables import (
    CORPUS_SCHEMA,
    QRELS_SCHEMA,
    TOPICS_SCHEMA,
    Corpus,
    CorpusDocument,
    Qrels,
    Topics,
)
from trectools_plus.formats.writing import id_problem
from trectools_plus.text import shortened

SAMPLE = "sample"
"""The name of the small collection that the package contains."""
SAMPLE_FOLDER = Path(__file__).parent / "sample"
"""Its files in TREC layout, and ``runs``."""
SAMPLE_VERSION = "1"


def is_named_collection(name: object) -> bool:
    """Return true for ``hpo``, ``sample`` and ``irds:<id>``, which are not paths."""
    return name in ("hpo", SAMPLE) or is_catalogue_name(name)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Collection(Displayed):
    """A test collection.

    Attributes:
        name: Its name in reports: ``irds:<id>``, ``sample``, or the name of the folder.
        corpus: The documents; ``None`` if they were not loaded.
        topics: The queries.
        qrels: The judgments.
        version: The version of the data, if known.
    """

    name: str
    corpus: Corpus | None
    topics: Topics
    qrels: Qrels
    version: str | None = None


class CollectionFiles(NamedTuple):
    """The files of a collection in a folder: its documents, queries and judgments."""

    corpus: Path
    topics: Path
    qrels: Path


def sample_files(folder: Path) -> dict[Path, bytes]:
    """Return the content of each file of ``sample``, and where it would be in a folder."""
    return {
        folder / path.relative_to(SAMPLE_FOLDER): path.read_bytes()
        for path in sorted(SAMPLE_FOLDER.rglob("*"))
        if path.is_file()
    }


def find_collection_files(spec: str | Path) -> CollectionFiles:
    """Find the three files of ``sample`` or of a folder; see ``load_collection``.

    Raises:
        UsageError: If the folder does not exist.
        InputError: If a file is missing, or exists twice, for example plain and compressed.
    """
    folder = SAMPLE_FOLDER if spec == SAMPLE else Path(spec)
    if not folder.is_dir():
        raise UsageError(
            f"no dataset '{spec}'",
            remedy="give hpo, sample, irds:<ir_datasets id> or an existing folder",
        )
    files = {
        name: path for name in dict.fromkeys(chain(*_LAYOUTS)) if (path := _find(folder, name))
    }
    complete = [layout for layout in _LAYOUTS if files.keys() >= {*layout}]
    if not complete or files.keys() >= {"queries.jsonl", "topics.tsv"}:
        raise InputError(
            f"expected the files of BEIR or TREC layout but found {', '.join(files) or 'none'}",
            where=str(folder),
            remedy="give the files of one layout: corpus.jsonl, queries.jsonl, qrels/test.tsv; or "
            "corpus.jsonl, topics.tsv, qrels.txt",
        )
    return CollectionFiles(*map(files.__getitem__, complete[0]))


_LAYOUTS = (
    ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"),
    ("corpus.jsonl", "queries.jsonl", "qrels/dev.tsv"),
    ("corpus.jsonl", "topics.tsv", "qrels.txt"),
)
"""The files of documents, queries and judgments in BEIR and in TREC layout."""


def _find(folder: Path, name: str) -> Path | None:
    """Find a file, plain or compressed; several are an error."""
    found = [path for suffix in ("", *SUFFIXES) if (path := folder / (name + suffix)).is_file()]
    if len(found) > 1:
        raise InputError(
            f"found both {' and '.join(path.name for path in found)}",
            where=str(folder),
            remedy="keep one",
        )
    return found[0] if found else None


class CatalogueDataset:
    """A dataset of the catalogue; its parts are downloaded and read on demand.

    ``ir_datasets`` stores downloads under ``IR_DATASETS_HOME``.

    Args:
        name: The id in the catalogue, for example ``cranfield`` or ``irds:beir/scifact/test``.

    Raises:
        UsageError: If the catalogue has no such id.
    """

    def __init__(self, name: str) -> None:
        import ir_datasets

        dataset_id = name.removeprefix(CATALOGUE_PREFIX)
        self.name = f"{CATALOGUE_PREFIX}{dataset_id}"
        try:
            self._dataset: Any = ir_datasets.load(dataset_id)
        except KeyError as error:
            raise UsageError(
                f"ir_datasets has no dataset '{dataset_id}'",
                where=self.name,
                remedy="choose one of ir-datasets.com",
            ) from error
        except Exception as error:
            raise self._unreadable("dataset", error) from error

    def read_corpus(self) -> Corpus:
        """Read the documents: ``title`` and ``text`` if they have both, else all their text.

        Raises:
            InputError: If there are none, or they cannot be downloaded or read.
        """
        with self._reading("documents", "docs"):
            return collect_corpus(self._documents(), self.name)

    def read_topics(self) -> Topics:
        """Read the queries; line ends in texts are preserved.

        Raises:
            InputError: If there are none, or they cannot be downloaded or read.
        """
        with self._reading("queries", "queries"):
            rows = [
                (query.query_id, str(getattr(query, "text", None) or query.default_text()))
                for query in self._dataset.queries_iter()
            ]
            return Topics(pl.DataFrame(rows, TOPICS_SCHEMA, orient="row"), self.name)

    def read_qrels(self) -> Qrels:
        """Read the judgments.

        Raises:
            InputError: If there are none, or they cannot be downloaded or read.
        """
        with self._reading("qrels", "qrels"):
            rows = [
                (
                    qrel.query_id,
                    getattr(qrel, "iteration", None) or "0",
                    qrel.doc_id,
                    qrel.relevance,
                )
                for qrel in self._dataset.qrels_iter()
            ]
            return Qrels(pl.DataFrame(rows, QRELS_SCHEMA, orient="row"), self.name)

    @contextmanager
    def _reading(self, what: str, attribute: str) -> Iterator[None]:
        if not getattr(self._dataset, f"has_{attribute}")():
            raise InputError(
                f"this dataset has no {what}",
                where=self.name,
                remedy="use one of its subsets, see ir-datasets.com",
            )
        try:
            yield
        except TrectoolsPlusError:
            raise
        # The parsers and downloads of the catalogue raise many kinds of errors.
        except Exception as error:
            raise self._unreadable(what, error) from error

    def _documents(self) -> Iterator[CorpusDocument]:
        for document in self._dataset.docs_iter():
            text = getattr(document, "text", None)
            title = getattr(document, "title", None)
            if isinstance(text, str) and isinstance(title, str):
                yield CorpusDocument(document.doc_id, title, text)
            else:
                yield CorpusDocument(document.doc_id, "", document.default_text())

    def _unreadable(self, what: str, error: Exception) -> InputError:
        first_line = str(error).partition("\n")[0]
        return InputError(
            f"cannot download or read the {what}: {first_line or type(error).__name__}",
            where=self.name,
            remedy="check the network, or set IR_DATASETS_HOME to a folder with a copy of the "
            "files (see docs/formats.md)",
        )


for _name in ("ir_datasets", "ir_datasets.util.download"):
    # The error contains a failed download.
    logging.getLogger(_name).addFilter(
        lambda record: (
            not re.match(
                r"(?i)download error|download failed|\[starting\]|\[error\]", record.getMessage()
            )
        )
    )

ID_KEYS = ("_id", "doc_id", "docid", "docno", "id")
TEXT_KEYS = ("text", "contents", "body")


def load_corpus(path: str | Path) -> Corpus:
    """Read a whole corpus into memory.

    Args:
        path: The file, which can be compressed. Each line is a JSON object with an id, a text and
            optionally a title.

    Returns:
        The documents in the order of the file.

    Raises:
        InputError: If the file cannot be read.
        FormatError: If a line is not a JSON object or has no id or text, an id is repeated or
            cannot be written to a run, the text is not UTF-8, or there are no documents.
    """
    return collect_corpus(iter_corpus(path), str(path))


def collect_corpus(documents: Iterable[CorpusDocument], path: str) -> Corpus:
    """Collect documents in a table."""
    rows = iter(documents)
    # In steps, because strings need more memory in Python than in a table.
    return Corpus(
        pl.concat(
            pl.DataFrame(step, CORPUS_SCHEMA, orient="row")
            for step in iter(lambda: [*islice(rows, ROWS_PER_STEP)], [])
        ),
        path,
    )


def iter_corpus(path: str | Path) -> Iterator[CorpusDocument]:
    """Yield the documents of a JSON Lines file, which may be compressed, one at a time.

    A line is an object with an id (``_id``, ``doc_id``, ``docid``, ``docno`` or ``id``), a text
    (``text``, ``contents`` or ``body``) and optionally a ``title``. The fields of id and text must
    have the same names on every line. Other fields are ignored.

    Args:
        path: The file, or ``-`` for standard input.

    Raises:
        InputError: If the file cannot be read.
        FormatError: If a line is not a JSON object or lacks id or text, an id occurs twice or
            cannot be written to a run, the text is not UTF-8, or there are no documents.
    """
    shown = str(path)
    keys: list[str] = []
    lines: dict[str, int] = {}
    for line, record in iter_objects(iter_lines(path), shown):
        id_key, text_key = keys = keys or [
            next(filter(record.__contains__, names), names[0]) for names in (ID_KEYS, TEXT_KEYS)
        ]
        doc_id, title, text = record.get(id_key), record.get("title") or "", record.get(text_key)
        doc_id = str(doc_id) if type(doc_id) is int else doc_id
        if not (isinstance(doc_id, str) and isinstance(title, str) and isinstance(text, str)):
            raise FormatError(
                f"expected an id in '{id_key}', and texts in '{text_key}' and 'title'",
                path=shown,
                line=line,
                remedy="name the fields as in the first line "
                f"(id: {', '.join(ID_KEYS)}; text: {', '.join(TEXT_KEYS)})",
            )
        first, problem = lines.setdefault(doc_id, line), id_problem(doc_id, "document")
        if problem or first != line:
            raise FormatError(
                problem or f"document {shortened(doc_id)} is already on line {first}",
                path=shown,
                line=line,
                remedy="give each document its own id, which a run can contain",
            )
        yield CorpusDocument(doc_id, title, text)
    if not keys:
        raise FormatError(
            "no documents", path=shown, remedy="check that the program that wrote the file finished"
        )
