"""What datasets, reports and measures are called in answers and in metrics."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from trectools_plus.formats.collection import CATALOGUE_PREFIX
from trectools_plus.measures.registry import plain_name

_PLAIN = re.compile(r"(?P<label>[A-Za-z]+)(?:@(?P<cutoff>\d+))?")


def split_measure(name: str) -> tuple[str, str | None] | None:
    """``R@10`` as ``("recall", "10")``, ``RR`` as ``("mrr", None)``.

    Args:
        name: A canonical name.

    Returns:
        ``None`` where the measure has parameters or no plain name: only its canonical one will do.
    """
    match = _PLAIN.fullmatch(name)
    base = plain_name(match["label"]) if match else None
    return None if match is None or base is None else (base, match["cutoff"])


def answer_key(name: str) -> str:
    """The measure's key in an answer: ``recall_at_10``, or its canonical name."""
    parts = split_measure(name)
    if parts is None:
        return name
    base, cutoff = parts
    return base if cutoff is None else f"{base}_at_{cutoff}"


def dataset_name(given: str) -> str:
    """What a dataset is called where others read it: where it lies is none of their business.

    Args:
        given: ``hpo``, ``irds:…``, or a file or folder as it was named.

    Returns:
        Names of catalogues as they are; of paths the last part; ``dataset`` where that is no name.
    """
    if given.startswith(CATALOGUE_PREFIX):
        return given
    name = Path(given).name
    return "dataset" if name in ("", "..") else name


def report_names(paths: Sequence[str]) -> list[str]:
    """What reports are called: the last part of their paths.

    Of several with one name the second has ``#2`` after it, and so on, in the order given.

    Args:
        paths: ``BenchmarkReport.json``, or its folder, each; a file has its folder's name.

    Returns:
        One for each, none twice.
    """
    names: list[str] = []
    for path in paths:
        place = Path(path).resolve()
        name = (place.parent if place.suffix == ".json" else place).name or "report"
        spellings = (name if n == 1 else f"{name}#{n}" for n in count(1))
        names.append(next(one for one in spellings if one not in names))
    return names
