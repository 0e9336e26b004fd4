"""Everything that the public functions accept as judgments, runs, topics and documents.

A run or qrels is a table of this package, a path, a dictionary of dictionaries, a data frame of
Polars or pandas, or records of ``ir_measures``. Several runs are a list of these, or a dictionary
of names to these. Files are validated when they are loaded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

from trectools_plus.errors import FormatError, InputError, UsageError
from trectools_plus.formats.collection import is_catalogue_name, load_corpus
from trectools_plus.formats.interchange.frames import (
    is_frame,
    is_record,
    rename_columns,
    unexpected,
)
from trectools_plus.formats.interchange.names import GRADES, QRELS, RUN, ColumnNames, find_fields
from trectools_plus.formats.run_names import name_runs
from trectools_plus.formats.tables import Corpus, Qrels, Run, Topics
from trectools_plus.validation.engine import open_qrels, open_run, validate_qrels, validate_run
from trectools_plus.validation.findings import FileReport
from trectools_plus.validation.loading import load_qrels, load_run, load_topics
from trectools_plus.validation.views.tables import TableView

_Table = TypeVar("_Table", Qrels, Topics, Corpus)

LoadRun = Callable[[str], Run]
"""Reads and validates the run of a file."""

Input = Any
"""A table, a path, a dictionary, a data frame or records."""


def is_path(value: object) -> bool:
    """Return whether a value names a file."""
    return isinstance(value, str | os.PathLike)


def as_qrels(
    qrels: Input, load: Callable[[str], Qrels] = load_qrels, columns: ColumnNames | None = None
) -> Qrels:
    """Return judgments in any form as a table.

    Args:
        qrels: The judgments.
        load: Reads and validates a file.
        columns: The columns of some fields in a data frame.

    Raises:
        UsageError: If it is a value of another type, or empty.
        InputError: If an id or a grade has the wrong type, or a file cannot be read.
        FindingsError: If a file has an error that makes scores wrong or ambiguous.
    """
    if isinstance(qrels, Run):
        raise unexpected(qrels, QRELS)
    return _as_table(rename_columns(qrels, columns), Qrels, load, "judgments")


def as_run(
    run: Input,
    name: str | None = None,
    load: LoadRun = load_run,
    columns: ColumnNames | None = None,
) -> Run:
    """Return one run in any form as a table; raises like :func:`as_qrels`.

    Args:
        run: The run.
        name: Its name in messages and output; by default that of the table or file, or ``run``.
        load: Reads and validates a file.
        columns: The columns of some fields in a data frame.
    """
    if isinstance(run, Run):
        return run
    if is_path(run):
        return load(os.fsdecode(run))
    if isinstance(run, Qrels):
        raise unexpected(run, RUN, name)
    run = rename_columns(run, columns)
    try:
        _refuse_empty(run, "results")
        return Run(run, name or "run")
    except (UsageError, InputError) as error:
        error.where = name or error.where
        raise


def as_runs(
    runs: Input, load: LoadRun = load_run, columns: ColumnNames | None = None
) -> dict[str, Run]:
    """Return one or several runs in any form, by name.

    A dictionary of dictionaries of numbers is one run. A dictionary of runs in any form, for
    example with one more level, has names. Other runs are named by
    :func:`~trectools_plus.formats.run_names.name_runs`: after their files.

    Args:
        runs: The runs.
        load: Reads and validates a file.
        columns: The columns of some fields in data frames.

    Raises:
        UsageError: If there is no run, two tables have the same name, or one has another type.
        InputError: If an id or a score has the wrong type, or a file cannot be read.
        FindingsError: If a file has an error that makes scores wrong or ambiguous.
    """
    found = list_runs(runs, load, columns)
    return name_runs([run for _, run in found], [name for name, _ in found])


_SINGLE = (Run, str, bytes, Mapping)
"""Types of one run that can be iterated."""


def list_runs(
    runs: Input, load: LoadRun = load_run, columns: ColumnNames | None = None
) -> list[tuple[str | None, Run]]:
    """Return runs like :func:`as_runs`, with the names that the user gave to them, if any."""
    if isinstance(runs, Mapping) and not _is_one_run(runs):
        named: list[tuple[str | None, Input]] = [(_name(name), run) for name, run in runs.items()]
    elif is_frame(runs) or not isinstance(runs, Iterable) or isinstance(runs, _SINGLE):
        named = [(None, runs)]
    else:
        items = list(runs)
        if not items:
            raise UsageError("no run is given", remedy="pass at least one run")
        is_run = not is_frame(items[0]) and all(map(is_record, items))
        named = [(None, run) for run in ([items] if is_run else items)]
    return [(name, as_run(run, name, load, columns)) for name, run in named]


def as_topics(topics: Input) -> Topics:
    """Return topics in any form as a table; raises like :func:`as_qrels`."""
    return _as_table(topics, Topics, load_topics, "queries")


def as_corpus(corpus: Input) -> Corpus:
    """Return documents in any form as a table; raises like :func:`as_qrels`."""
    return _as_table(corpus, Corpus, load_corpus, "documents")


def _as_table(
    value: Input, table: type[_Table], load: Callable[[str], _Table], contents: str
) -> _Table:
    if isinstance(value, table):
        return value
    if is_path(value):
        return load(os.fsdecode(value))
    _refuse_empty(value, contents)
    return table(value)


def validate(data: Input, *, qrels: Input | None = None, max_depth: int | None = 100) -> FileReport:
    """Check a run or judgments in any form, and return all findings.

    A file is checked as judgments if its lines have four columns, and a data frame if it has a
    column of grades. A dictionary is a run; for judgments, write ``validate(Qrels(…))``.
    :func:`validate_run` and :func:`validate_qrels` have further options.

    Args:
        data: The run or the judgments.
        qrels: The judgments whose ids a run should have.
        max_depth: Results allowed per query of a run; ``None`` for no limit.

    Returns:
        The findings; ``errors`` has those with severity error. A malformed file is a report with
        errors, not an exception.

    Raises:
        InputError: If a file cannot be read at all, or a value of a table has the wrong type.
        UsageError: If ``data`` is neither of these.
    """
    if _are_judgments(data):
        if qrels is not None:
            raise UsageError(
                "judgments cannot be compared with judgments",
                remedy="leave qrels out, or pass a run: validate(run, qrels=qrels)",
            )
        return validate_qrels(data)
    return validate_run(data, qrels=qrels, max_depth=max_depth)


def _are_judgments(data: Input) -> bool:
    if is_path(data) and str(data) != "-" and not is_catalogue_name(data):
        run = _opened(partial(open_run, max_depth=None), data)
        if run is None:
            return _opened(open_qrels, data) is not None
        return "corpus" in str(run.file.header)  # BEIR, whose grade is a score
    if not is_frame(data):
        return isinstance(data, Qrels) or is_catalogue_name(data)
    grades = [name for name in GRADES if "score" not in name]
    fields = {"relevance": grades, "score": ("score",)}
    return [*find_fields(map(str, data.columns), fields)] == ["relevance"]


def _opened(read: Callable[[Any], TableView | FileReport], path: Any) -> TableView | None:
    """Return a file with rows of a kind; ``None`` if it has none."""
    try:
        view = read(path)
    except FormatError:  # a Parquet file of the other kind
        return None
    return view if isinstance(view, TableView) and view.n_rows else None


def _is_one_run(runs: Mapping[Any, Any]) -> bool:
    """Return whether the values of a dictionary are documents with scores."""
    if not runs:
        raise UsageError("no run is given", remedy=f"the dictionary is empty; give {RUN.accepted}")
    first: Any = next((one for one in runs.values() if not _is_empty(one)), {})
    is_nested = isinstance(first, Mapping) and any(isinstance(x, Mapping) for x in first.values())
    return isinstance(first, Mapping) and not is_nested


def _is_empty(value: object) -> bool:
    return isinstance(value, Mapping) and not value


def _refuse_empty(value: object, contents: str) -> None:
    if isinstance(value, Mapping) and all(map(_is_empty, value.values())):
        raise UsageError(f"the dictionary has no {contents}", remedy="give at least one")


def _name(name: object) -> str:
    if isinstance(name, int) and not isinstance(name, bool):
        return str(name)
    if isinstance(name, str) and name.strip():
        return name
    raise UsageError(
        f"expected text as the name of a run but got {name!r}",
        remedy="name runs as in {'bm25': run_a, 'dense': run_b}",
    )
