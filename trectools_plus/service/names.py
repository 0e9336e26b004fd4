"""Names of datasets, reports and measures in responses and metrics."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from trectools_plus.formats.ir_datasets import is_catalogue_name
from trectools_plus.measures.parser import plain_name

_PLAIN = re.compile(r"(?P<label>[A-Za-z]+)(?:@(?P<cutoff>\d+))?")


def split_measure(name: str) -> tuple[str, str | None] | None:
    """Split a measure into plain name and cutoff, for example ``R@10`` into ``("recall", "10")``.

    Args:
        name: A canonical name.

    Returns:
        Plain name and cutoff; the cutoff is ``None`` for a measure without one. ``None`` if the
        measure has other parameters or no plain name.
    """
    match = _PLAIN.fullmatch(name)
    base = plain_name(match["label"]) if match else None
    return None if match is None or base is None else (base, match["cutoff"])


def answer_key(name: str) -> str:
    """Return the key of a measure in responses, for example ``recall_at_10``.

    The key of a measure without a plain name is its canonical name.
    """
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
        ``irds:…`` unchanged; otherwise the last part of the path, or ``dataset`` if that is empty
        or ``..``.
    """
    if is_catalogue_name(given):
        return given
    name = Path(given).name
    return "dataset" if name in ("", "..") else name


def report_names(paths: Sequence[str]) -> list[str]:
    """Return a unique name for each report: the name of its folder.

    If several folders have the same name, ``#2`` is appended to the second, and so on.

    Args:
        paths: Report files (``BenchmarkReport.json``) or their folders.
    """
    names: list[str] = []
    for path in paths:
        resolved = Path(path).resolve()
        name = (resolved.parent if resolved.suffix == ".json" else resolved).name or "report"
        candidates = (name if n == 1 else f"{name}#{n}" for n in count(1))
        names.append(next(candidate for candidate in candidates if candidate not in names))
    return names
