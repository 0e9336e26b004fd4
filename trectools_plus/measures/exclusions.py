"""Documents that are left out of runs and judgments before anything is scored.

These are, for example, the excluded ids of BRIGHT, or documents that users have seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from trectools_plus.errors import InputError
from trectools_plus.formats.files.content import decode_lines, iter_lines
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.text import plural
from trectools_plus.validation.inputs import as_qrels, is_path
from trectools_plus.validation.views.tables import fields_of


@dataclass(frozen=True, eq=False)
class Exclusions:
    """Documents to leave out, by query.

    Attributes:
        pairs: ``query_id, doc_id``, each pair once.
        path: The file; ``None`` without one.
    """

    pairs: pl.DataFrame
    path: str | None = None

    @classmethod
    def of(cls, documents: Any) -> Exclusions:
        """Read documents to leave out.

        Args:
            documents: A file with lines ``query_id doc_id``, or qrels, whatever the grades;
                ``{query_id: [doc_id, …]}``; or qrels in any form of :func:`evaluate`.

        Raises:
            InputError: If the file cannot be read, or has no or other columns.
        """
        path = str(documents) if is_path(documents) else None
        lists = documents.values() if isinstance(documents, Mapping) else ()
        if path is not None:
            lines = [fields_of(line) for _, line in decode_lines(iter_lines(path), path)]
            rows = [tuple(fields) for fields in lines if fields and not fields[0].startswith("#")]
            if any(len(row) != 2 or row[0][0] in "{[" for row in rows):
                rows = as_qrels(path).frame.select("query_id", "doc_id").rows()
        elif lists and not any(isinstance(value, Mapping) for value in lists):
            rows = [
                (str(query), str(doc_id))
                for query, ids in documents.items()
                for doc_id in ([ids] if isinstance(ids, str) else ids)
            ]
        else:
            rows = as_qrels(documents).frame.select("query_id", "doc_id").rows()
        if not rows:
            raise InputError("there are no documents to leave out", where=path or "exclude")
        return cls(pl.DataFrame(rows, ["query_id", "doc_id"], orient="row").unique(), path)

    @property
    def most(self) -> int:
        """The greatest number of documents of a query."""
        return int(self.pairs["query_id"].value_counts()["count"].max())  # type: ignore[arg-type]

    def from_run(self, run: Run) -> Run:
        """Return the run without these documents."""
        rows = run.frame.join(self.pairs, on=["query_id", "doc_id"], how="anti")
        return Run(rows, run.name, run.path)

    def from_qrels(self, qrels: Qrels) -> Qrels:
        """Return the judgments without these documents.

        Raises:
            InputError: If none are left.
        """
        rows = qrels.frame.join(self.pairs, on=["query_id", "doc_id"], how="anti")
        if rows.is_empty():
            raise InputError("every judged document is left out", where=self.path or "exclude")
        return Qrels(rows, qrels.path)

    def describe(self, runs: Mapping[str, Run]) -> str:
        """Return a note with the numbers of results that are left out."""
        counts = (
            f"{name} {run.frame.height - self.from_run(run).frame.height:,}"
            for name, run in runs.items()
        )
        documents = plural(self.pairs.height, "document")
        return f"{documents} left out (exclude); results of {', '.join(counts)}"

    @property
    def record(self) -> dict[str, Any]:
        """The file, its hash and the number of pairs, for JSON."""
        digest = None if self.path is None else sha256_file(self.path)
        return {"path": self.path, "sha256": digest, "pairs": self.pairs.height}
