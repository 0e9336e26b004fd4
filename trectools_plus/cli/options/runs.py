"""Arguments of commands: run files, ``NAME=FILE``, and names of measures after them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from trectools_plus import formats, measures
from trectools_plus.errors import UsageError


class RunArgument(NamedTuple):
    """A run file, and the name that the user gave to it, if any."""

    path: str
    name: str | None


def parse_runs(values: Sequence[str], where: str) -> list[RunArgument]:
    """Parse run files and ``NAME=FILE`` values; a file that exists has no ``NAME=``.

    Args:
        values: The values.
        where: The option or argument, for error messages.

    Raises:
        UsageError: If a name or file is empty, or a name is given twice.
    """
    option = f"{where} " if where.startswith("-") else ""
    runs: list[RunArgument] = []
    for value in values:
        name, equals, path = value.partition("=")
        if not equals or _is_input(value):
            name, path = "", value
        if (equals and not name.strip() and path != value) or not path:
            raise UsageError(
                f"expected NAME=FILE but got '{value}'",
                where=where,
                remedy=f"write {option}bm25=bm25.run",
            )
        if name and name in (run.name for run in runs):
            raise UsageError(
                f"two runs are named '{name}'", where=where, remedy=f"write {option}NAME=FILE"
            )
        runs.append(RunArgument(path, name or None))
    return runs


def name_files(runs: Sequence[RunArgument]) -> dict[str, str]:
    """Return the files by name; see :func:`~trectools_plus.formats.run_names.name_runs`.

    Raises:
        UsageError: If a file is given twice.
        InputError: If a file whose tag is needed cannot be read.
    """
    files = [_RunFile(run.path) for run in runs]
    named = formats.name_runs(files, [run.name for run in runs])
    return {name: run.path for name, run in named.items()}


def split_measures(
    values: Sequence[str], options: Iterable[str] | None
) -> tuple[list[str], list[str]]:
    """Separate run files from names of measures, which may follow them.

    A file that exists, an address and ``NAME=FILE`` are runs, whatever their name.

    Args:
        values: The arguments.
        options: The values of ``--measure``.

    Returns:
        The runs, and the names of all measures: those of the option, then those of the arguments.

    Raises:
        UsageError: If a value looks like a measure, as in ``nDGC@10``, but there is none.
    """
    names = [name for text in options or () for name in measures.split_names(text)]
    runs: list[str] = []
    for value in values:
        if _is_run(value):
            runs.append(value)
            continue
        found = measures.split_names(value)
        try:
            measures.parse_measures(found)
        except UsageError:
            if "@" in value and formats.name_of_file(value) == value:
                raise
            runs.append(value)
        else:
            names += found
    return runs, names


def _is_run(value: str) -> bool:
    name, equals, path = value.partition("=")
    return _is_input(value) or (bool(equals and name) and _is_input(path))


def _is_input(value: str) -> bool:
    return value == "-" or formats.is_address(value) or Path(value).exists()


@dataclass(frozen=True)
class _RunFile:
    """A run file whose tag is read when it is needed."""

    path: str

    @cached_property
    def name(self) -> str:
        """The tag; ``stdin`` for standard input, which can be read only once."""
        from trectools_plus import validation

        return "stdin" if self.path == "-" else validation.load_run(self.path).name
