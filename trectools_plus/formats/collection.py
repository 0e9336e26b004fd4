"""Test collections: documents, queries and judgments that belong together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from trectools_plus.display import Displayed
from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.files.compression import SUFFIXES
from trectools_plus.formats.ir_datasets import (
    is_catalogue_name,
)
from trectools_plus.formats.tables import Corpus, Qrels, Topics

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
    sources = [path for path in sorted(SAMPLE_FOLDER.rglob("*")) if path.is_file()]
    return {folder / path.relative_to(SAMPLE_FOLDER): path.read_bytes() for path in sources}


def find_collection_files(spec: str | Path) -> CollectionFiles:
    """Find the three files of ``sample`` or of a folder; see ``load_collection``.

    Raises:
        UsageError: If the folder does not exist.
        InputError: If a file is missing, or exists twice, for example plain and compressed.
    """
    folder = SAMPLE_FOLDER if spec == SAMPLE else Path(spec)
    if not folder.is_dir():
        remedy = "give hpo, sample, irds:<ir_datasets id> or an existing folder"
        raise UsageError(f"no dataset '{spec}'", remedy=remedy)
    files = {
        name: path for name in dict.fromkeys(chain(*_LAYOUTS)) if (path := _find(folder, name))
    }
    complete = [layout for layout in _LAYOUTS if files.keys() >= {*layout}]
    if not complete or files.keys() >= {"queries.jsonl", "topics.tsv"}:
        what = f"expected the files of BEIR or TREC layout but found {', '.join(files) or 'none'}"
        remedy = "; ".join(", ".join(layout) for layout in (_LAYOUTS[0], _LAYOUTS[-1]))
        raise InputError(what, where=str(folder), remedy=f"give the files of one layout: {remedy}")
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
        names = " and ".join(path.name for path in found)
        raise InputError(f"found both {names}", where=str(folder), remedy="keep one")
    return found[0] if found else None
