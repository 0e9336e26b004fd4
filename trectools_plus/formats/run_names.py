"""Names of runs in output: those of their files, the same everywhere.

A name that the user gives (``NAME=FILE``, a dictionary) comes first. Otherwise a run is named after
its file, without folder and extension; after its tag if two files have that name; and after its
folders and its file, or its path, if the tags are equal too. The runs of a table of several systems
share a file, so they are named after the systems, which are their tags.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from trectools_plus.errors import UsageError
from trectools_plus.formats.files.opening import is_address
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


def name_of_file(path: str | None, folders: int = 0) -> str:
    """Return the name of a file without folder and extension; empty if it has none.

    An extension is one of those of runs: ``input.bm25`` has none.

    Args:
        path: A path or an address; ``-`` is standard input, which has no name.
        folders: The number of folders to put before the name.
    """
    if path is None or path == "-":
        return ""
    file = path.partition("?")[0] if is_address(path) else path
    parts = [part for part in _SEPARATOR.split(_ENDING.sub("", file)) if part.strip(".")]
    return "-".join(parts[-1 - folders :])


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
    ]
    deepest = max((len(_SEPARATOR.split(path or "")) for path in paths), default=0)
    choices += [partial(_name_in_folders, paths, folders) for folders in range(1, deepest)]
    choices.append(lambda place: runs[place].path)
    choices.append(lambda place: f"{runs[place].path or ''} {runs[place].name}".strip())
    chosen: dict[int, str] = {}
    for choose in choices:
        places = [place for place in range(len(runs)) if place not in chosen]
        offered = {place: printable(choose(place) or "") for place in places}
        if not offered:
            break
        taken = Counter([*offered.values(), *chosen.values()])
        chosen |= {place: name for place, name in offered.items() if name and taken[name] == 1}
    unnamed = [run for place, run in enumerate(runs) if place not in chosen]
    if unnamed:
        raise _not_unique(unnamed)
    return {chosen[place]: run for place, run in enumerate(runs)}


def name_runs_of_files(
    runs: Sequence[_Named],
    paths: Sequence[str],
    *,
    given: Sequence[str | None] = (),
    files: Sequence[str | None] = (),
) -> dict[str, _Named]:
    """Return the runs of files by name.

    Args:
        runs: The runs in the order of the files; a table of several systems is several runs.
        paths: The files.
        given: As in :func:`name_runs`, for each file. A table of several systems does not use it.
        files: As in :func:`name_runs`, for each file.
    """
    n_runs, n_files = Counter(run.path for run in runs), Counter(paths)
    of_file = [n_runs[path] // n_files[path] for path in paths]
    given_names = [
        name if n == 1 else None for name, n in zip(given, of_file, strict=False) for _ in range(n)
    ]
    file_names = [name for name, n in zip(files, of_file, strict=False) for _ in range(n)]
    return name_runs(runs, given_names, file_names)


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


def _name_in_folders(paths: Sequence[str | None], folders: int, place: int) -> str:
    return name_of_file(paths[place], folders)


def _not_unique(runs: Sequence[NamedRun]) -> UsageError:
    path = runs[0].path
    if path is not None:
        return UsageError(f"{path} is given twice", remedy="pass each run file once")
    return UsageError(
        f"two runs are named {runs[0].name!r}",
        remedy="pass them with names: evaluate(qrels, {'a': run_a, 'b': run_b})",
    )
