"""Collections of the ``ir_datasets`` catalogue: ``irds:<id>``."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import polars as pl

from trectools_plus.errors import InputError, TrectoolsPlusError, UsageError
from trectools_plus.formats.corpus import collect_corpus
from trectools_plus.formats.files.opening import CATALOGUE_PREFIX
from trectools_plus.formats.files.opening import is_catalogue_name as is_catalogue_name
from trectools_plus.formats.tables import (
    QRELS_SCHEMA,
    TOPICS_SCHEMA,
    Corpus,
    CorpusDocument,
    Qrels,
    Topics,
)

_UNPRINTED = ("download error", "download failed", "[starting]", "[error]")


def open_catalogue(name: str) -> CatalogueDataset:
    """Open the dataset that ``irds:<id>`` names.

    Raises:
        UsageError: If the catalogue has no such id.
    """
    return CatalogueDataset(name.removeprefix(CATALOGUE_PREFIX))


class CatalogueDataset:
    """A dataset of the catalogue; its parts are downloaded and read on demand.

    ``ir_datasets`` stores downloads under ``IR_DATASETS_HOME``.

    Args:
        dataset_id: The id in the catalogue, for example ``cranfield`` or ``beir/scifact/test``.

    Raises:
        UsageError: If the catalogue has no such id.
    """

    def __init__(self, dataset_id: str) -> None:
        import ir_datasets

        self.dataset_id = dataset_id
        self.name = f"irds:{dataset_id}"
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
        lines = str(error.args[0] if error.args else "").splitlines() or [type(error).__name__]
        return InputError(
            f"cannot download or read the {what}: {lines[0]}",
            where=self.name,
            remedy="check the network, or set IR_DATASETS_HOME to a folder with a copy of the "
            "files (see docs/formats.md)",
        )


for _name in ("ir_datasets", "ir_datasets.util.download"):
    # The error contains a failed download.
    logging.getLogger(_name).addFilter(
        lambda record: not record.getMessage().lower().startswith(_UNPRINTED)
    )
