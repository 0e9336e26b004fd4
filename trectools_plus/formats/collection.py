"""Test collections: documents, queries and judgments that belong together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True, slots=True)
class CollectionFiles:
    """The files of a collection in a folder.

    Attributes:
        corpus: The documents.
        topics: The queries.
        qrels: The judgments.
    """

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
    corpus, splits = _find(folder, "corpus.jsonl"), folder / "qrels"
    judgments = _find(splits, "test.tsv") or _find(splits, "dev.tsv")
    beir, trec = _find(folder, "queries.jsonl"), _find(folder, "topics.tsv")
    if beir and trec:
        raise InputError(
            "found both queries.jsonl and topics.tsv",
            where=str(folder),
            remedy="keep one: BEIR layout has queries.jsonl, TREC layout topics.tsv",
        )
    found = {
        "corpus.jsonl": corpus,
        "queries.jsonl or topics.tsv": beir or trec,
        **({"qrels.txt": _find(folder, "qrels.txt")} if trec else {}),
        **({"qrels/test.tsv": judgments} if beir else {}),
    }
    missing = [name for name, path in found.items() if path is None]
    if missing:
        raise InputError(
            f"expected a folder in BEIR or TREC layout but {', '.join(missing)} is missing",
            where=str(folder),
            remedy="BEIR: corpus.jsonl, queries.jsonl, qrels/test.tsv;"
            " TREC: corpus.jsonl, topics.tsv, qrels.txt",
        )
    return CollectionFiles(*(path for path in found.values() if path is not None))


def _find(folder: Path, name: str) -> Path | None:
    """Find a file, plain or compressed; several are an error."""
    found = [path for suffix in ("", *SUFFIXES) if (path := folder / (name + suffix)).is_file()]
    if len(found) > 1:
        names = " and ".join(path.name for path in found)
        raise InputError(f"found both {names}", where=str(folder), remedy="keep one")
    return found[0] if found else None
