"""Names of datasets, reports and measures in answers and metrics."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from trectools_plus.formats.collection import CATALOGUE_PREFIX
from trectools_plus.measures.registry import plain_name

_PLAIN = re.compile(r"(?P<label>[A-Za-z]+)(?:@(?P<cutoff>\d+))?")


def split_measure(name: str) -> tuple[str, str | None] | None:
    """Split a measure into plain name and cutoff, for example ``R@10`` into ``("recall", "10")``.

    Args:
        name: A canonical name.

    Returns:
        Plain name and cutoff, which is ``None`` for measures without one. ``None`` if the measure
        has parameters or no plain name.
    """
    match = _PLAIN.fullmatch(name)
    base = plain_name(match["label"]) if match else None
    return None if match is None or base is None else (base, match["cutoff"])


def answer_key(name: str) -> str:
    """Return the key of a measure in answers: ``recall_at_10``, or its canonical name."""
    parts = split_measure(name)
    if parts is None:
        return name
    base, cutoff = parts
    return base if cutoff is None else f"{base}_at_{cutoff}"


def dataset_name(given: str) -> str:
    """Return the public name of a dataset, which contains no folders.

    Args:
        given: ``hpo``, ``irds:…``, or a file or folder as given by the user.

    Returns:
        A name of a catalogue unchanged, otherwise the last part of the path; ``dataset`` if that is
        empty or ``..``.
    """
    if given.startswith(CATALOGUE_PREFIX):
        return given
    name = Path(given).name
    return "dataset" if name in ("", "..") else name


def report_names(paths: Sequence[str]) -> list[str]:
    """Return the names of reports: the last parts of their paths.

    If several have the same name, ``#2`` is appended to the second, and so on.

    Args:
        paths: ``BenchmarkReport.json`` or its folder, each; a file has the name of its folder.

    Returns:
        One unique name for each.
    """
    names: list[str] = []
    for path in paths:
        place = Path(path).resolve()
        name = (place.parent if place.suffix == ".json" else place).name or "report"
        spellings = (name if n == 1 else f"{name}#{n}" for n in count(1))
        names.append(next(one for one in spellings if one not in names))
    return names
