"""Which data a benchmark works on: a dataset, files, or given runs; just one of them."""

from __future__ import annotations

import os
import re
from typing import Annotated

from pydantic import BeforeValidator, field_validator

from trectools_plus.retrieval.backends.settings import BackendSettings

FileName = Annotated[
    str, BeforeValidator(lambda name: os.fspath(name) if isinstance(name, os.PathLike) else name)
]

RUN_NAME = re.compile(r"\w[\w .+-]{0,99}")
"""What a run may be called: its file is ``runs/<name>.run``."""


class DataSettings(BackendSettings):
    """Settings that name data, and the backend that may have its own.

    Attributes:
        dataset: ``hpo``, ``irds:<ir_datasets id>``, or a folder in BEIR or TREC layout.
        test_file: Test cases of one's own for ``hpo``, or the name of a shipped test set.
        corpus: Documents (JSONL).
        topics: Queries (TSV, JSONL or TREC).
        qrels: Judgments (TREC, or BEIR's TSV).
        runs: Existing run files by name, to compare instead of fetching.
    """

    dataset: FileName | None = None
    test_file: FileName | None = None
    corpus: FileName | None = None
    topics: FileName | None = None
    qrels: FileName | None = None
    runs: dict[str, FileName] | None = None

    @field_validator("runs")
    @classmethod
    def _usable_run_names(cls, runs: dict[str, str] | None) -> dict[str, str] | None:
        if runs is None:
            return None
        if not runs:
            raise ValueError("no run is named — write NAME=FILE, at least once")
        for name in runs:
            if not RUN_NAME.fullmatch(name):
                raise ValueError(
                    f"run name '{name}' cannot be a file name — "
                    "use letters, digits, blanks, . + - _"
                )
        folded = [name.casefold() for name in runs]
        if len(set(folded)) < len(folded):
            raise ValueError(
                "two runs have the same name but for upper and lower case — rename one"
            )
        return runs

    def check_data(self) -> None:
        """See that the data are of one kind, with the files that go with it.

        Raises:
            ValueError: If none or several are given, or a file is missing or too many.
        """
        kinds = [name for name in ("dataset", "corpus", "runs") if getattr(self, name) is not None]
        if not kinds and self.topics is not None and not self.is_embedded:
            kinds = ["topics"]
        if not kinds:
            raise ValueError(
                "no data to work on — give `dataset`, or `corpus` with `topics` and `qrels`, "
                "or `runs` with `qrels`"
            )
        if len(kinds) > 1:
            named = " and ".join(f"`{kind}`" for kind in kinds)
            raise ValueError(f"{named} do not go together — give one of them")
        self._check_companions(kinds[0])

    def _check_companions(self, kind: str) -> None:
        """Which of topics and qrels go with the kind of data chosen."""
        both = ("topics", "qrels")
        required = {"dataset": (), "corpus": both, "runs": ("qrels",), "topics": ("qrels",)}[kind]
        allowed = () if kind == "dataset" else both
        for name in ("topics", "qrels"):
            given = getattr(self, name) is not None
            if given and name not in allowed:
                raise ValueError(
                    f"`{name}` and `{kind}` do not go together — leave `{name}` out: "
                    f"the {kind} brings its own"
                )
            if not given and name in required:
                raise ValueError(f"`{kind}` needs `{name}` beside it — name the file")
