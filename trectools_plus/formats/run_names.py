"""Names of runs in output: those of their files, the same everywhere.

A name that the user gives (``NAME=FILE``, a dictionary) comes first. Otherwise a run is named after
its file, without folder and extension; after its tag if two files have that name; and after its
path if the tags are equal too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from trectools_plus.errors import UsageError
from trectools_plus.text import printable

_ENDING = re.compile(
    r"(\.(run|txt|trec|res|results|tsv|csv|json|jsonl|ndjson|parquet))?(\.(gz|bz2|xz|zst|lz4))?$",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r"[/\\]+")


class NamedRun(Protocol):
    """A run with its tag and its file."""

    @property
    def name(self) -> str:
        """The tag."""

    @property
    def path(self) -> str | None:
        """The file; ``None`` for a table."""


_Named = TypeVar("_Named", bound=NamedRun)


def name_of_file(path: str | None) -> str:
    """Return the name of a file without folder and extension; empty if it has none.

    An extension is one of those of runs: ``input.bm25`` has none.

    Args:
        path: A path; ``-`` is standard input, which has no name.
    """
    if path is None or path == "-":
        return ""
    return _SEPARATOR.split(_ENDING.sub("", path))[-1].strip(".")


def name_runs(
    runs: Sequence[_Named], given: Sequence[str | None] = (), files: Sequence[str | None] = ()
) -> dict[str, _Named]:
    """Return runs by name, in their order.

    Args:
        runs: The runs. The tag of a run is only read if its file's name is not unique.
        given: The name that the user gave to each run, or ``None``; by default no names.
        files: The files that the runs are named after, if these are not their paths.

    Raises:
        UsageError: If a run is given twice, or two tables have the same name.
    """
    paths = files or [run.path for run in runs]
    choices: list[Callable[[int], str | None]] = [
        lambda place: given[place] if given else None,
        lambda place: name_of_file(paths[place]),
        lambda place: runs[place].name,
        lambda place: _SEPARATOR.sub("-", _ENDING.sub("", paths[place] or "")),
        lambda place: runs[place].path,
    ]
    chosen: dict[int, str] = {}
    for choose in choices:
        places = [place for place in range(len(runs)) if place not in chosen]
        offered = {place: printable(choose(place) or "") for place in places}
        if not offered:
            break
        taken = Counter([*offered.values(), *chosen.values()])
        chosen |= {place: name for place, name in offered.items() if name and taken[name] == 1}
    for place, run in enumerate(runs):
        if place not in chosen:
            raise UsageError(
                f"two runs are named {run.name!r}, or one is given twice ({run.path})",
                remedy="pass each file once, and tables with names: evaluate(qrels, {'a': run_a})",
            )
    return {chosen[place]: run for place, run in enumerate(runs)}


def name_baselines(baselines: Iterable[str], files: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of baselines, of which some may be given as the files of runs.

    Args:
        baselines: Names, paths, or names of files.
        files: The path of each run, by its name; empty if it is not a file.
    """
    names = {path: name for name, path in files.items()}
    counts = Counter(Path(path).name for path in files.values())
    names |= {Path(path).name: name for name, path in files.items() if counts[Path(path).name] == 1}
    return tuple(one if one in files else names.get(one, one) for one in baselines)
