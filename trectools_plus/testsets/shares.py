"""How many of each kind: whole numbers that add up, as near to a share as they can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

Key = TypeVar("Key")

Stratum = tuple[str, str]
"""Category (or type) and difficulty; empty where a query has none."""


def apportion(total: int, sizes: Mapping[Key, int]) -> dict[Key, int]:
    """Divide a number in proportion to sizes, by largest remainders (Hamilton's method).

    Args:
        total: What is divided, at most the sum of the sizes.
        sizes: How large each one is; none gets more.

    Returns:
        Whole numbers that add up to ``total``, each less than 1 from its exact share. Of equal
        remainders the larger one comes first, then the earlier one.
    """
    whole = sum(sizes.values())
    if not whole:
        return dict.fromkeys(sizes, 0)
    given = {key: total * size // whole for key, size in sizes.items()}
    left = total - sum(given.values())
    by_remainder = sorted(sizes, key=lambda key: (-(total * sizes[key] % whole), -sizes[key]))
    for key in by_remainder[:left]:
        given[key] += 1
    return given


def apportion_strata(total: int, strata: Sequence[Stratum]) -> dict[Stratum, int]:
    """Divide a number over categories, and what each of them gets over its difficulties.

    So categories are as near to their share as they can be, even where there are too few queries
    of each category and difficulty.

    Args:
        total: What is divided, at most the number of queries.
        strata: The stratum of each query.
    """
    cells: dict[Stratum, int] = {}
    for stratum in strata:
        cells[stratum] = cells.get(stratum, 0) + 1
    categories: dict[str, int] = {}
    for (category, _), size in cells.items():
        categories[category] = categories.get(category, 0) + size
    found: dict[Stratum, int] = {}
    for category, share in apportion(total, categories).items():
        inside = {cell: size for cell, size in cells.items() if cell[0] == category}
        found.update(apportion(share, inside))
    return found
