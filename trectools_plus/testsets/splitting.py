"""Split a test set into a part for development, and a held-out part."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from trectools_plus.errors import UsageError
from trectools_plus.formats.files.atomic import make_folder
from trectools_plus.formats.hashing import sha256_text
from trectools_plus.testsets.conversion import render_test_set, write_test_set
from trectools_plus.testsets.languages import declared_language
from trectools_plus.testsets.model import TestQuery, TestSet
from trectools_plus.validation.texts import near_groups, primary_language

DEFAULT_HELD_OUT = 0.2
DEFAULT_SEED = 42

KindField = Literal["category", "query_type"]
KIND_FIELDS: tuple[KindField, ...] = get_args(KindField)
"""Fields with the kind of a query, the preferred one first."""


Key = TypeVar("Key")

Stratum = tuple[str, str]
"""Category (or query type) and difficulty; an empty string for each that a query does not have."""

_FILE_NAME = re.compile(r"[^\w.+-]+")


@dataclass(frozen=True, slots=True)
class Split:
    """The two parts of a test set.

    Attributes:
        used: The part for development.
        held_out: The part to use only once, at the end.
    """

    used: TestSet
    held_out: TestSet


def split_test_set(
    test_set: TestSet, held_out: float = DEFAULT_HELD_OUT, seed: int = DEFAULT_SEED
) -> Split:
    """Hold out a fraction of the queries, stratified by category and difficulty.

    If no query has a category, ``query_type`` is used instead. The fraction applies to each
    category, and within it to each difficulty, rounded to whole queries. Queries with nearly
    identical texts stay in one part, which can change the numbers by one or two. The same seed
    gives the same parts.

    Args:
        test_set: The set.
        held_out: The fraction to hold out, between 0 and 1.
        seed: The seed of the random choice.

    Returns:
        The parts, each in the order of the set. Their metadata contain parent, seed and fraction.

    Raises:
        UsageError: If the fraction is not between 0 and 1, or a part would have no query with a
            relevant term.
        FormatError: If the set is in several languages.
    """
    if not 0.0 < held_out < 1.0:
        raise UsageError(
            f"expected a fraction between 0 and 1 but got {held_out:g}",
            where="held-out",
            remedy="for example, 0.2 holds out a fifth",
        )
    chosen = _choose(test_set, held_out, seed)
    split = {
        "seed": seed,
        "held_out": held_out,
        "strata": f"{kind_field(test_set)}, difficulty",
        "parent": parent_of(test_set),
    }
    queries = test_set.queries
    return Split(
        _part(test_set, [q for at, q in enumerate(queries) if at not in chosen], "used", split),
        _part(test_set, [q for at, q in enumerate(queries) if at in chosen], "held-out", split),
    )


def write_split(split: Split, folder: str | Path) -> tuple[Path, Path]:
    """Write each part as ``<dataset_id>.json``.

    Returns:
        The files of the used and the held-out part.

    Raises:
        InputError: If a file cannot be written.
    """
    root = Path(folder)
    make_folder(root)
    used, held_out = (
        root / f"{_FILE_NAME.sub('-', part.metadata.dataset_id)}.json"
        for part in (split.used, split.held_out)
    )
    write_test_set(split.used, used)
    write_test_set(split.held_out, held_out)
    return used, held_out


def parent_of(test_set: TestSet) -> dict[str, str]:
    """Return ``dataset_id`` and ``version`` of a set, and the ``sha256`` of its JSON."""
    facts = test_set.metadata
    digest = sha256_text(render_test_set(test_set))
    return {"dataset_id": facts.dataset_id, "version": facts.version, "sha256": digest}


def kind_field(test_set: TestSet, *others: TestSet) -> KindField:
    """Return the field to stratify by: ``category``, or ``query_type`` if no query has a category.

    Args:
        test_set: The set.
        others: Other sets that should have the field too. If no field is in all sets, only
            ``test_set`` decides.
    """
    fields = [name for name in KIND_FIELDS if _has_field(test_set, name)] or [KIND_FIELDS[0]]
    shared = (name for name in fields if all(_has_field(other, name) for other in others))
    return next(shared, fields[0])


def _has_field(test_set: TestSet, name: str) -> bool:
    return any(getattr(query, name) for query in test_set.queries)


def kind_of(query: TestQuery, field: KindField = "category") -> str:
    """Return the category of a query, otherwise its query type; empty if it has neither.

    Args:
        query: The query.
        field: From :func:`kind_field`; with ``query_type`` the category is ignored.
    """
    kinds = (getattr(query, name) for name in KIND_FIELDS[KIND_FIELDS.index(field) :])
    return next(filter(None, kinds), "")


def stratum_of(query: TestQuery, field: KindField) -> Stratum:
    """Return the kind (see :func:`kind_of`) and the difficulty of a query."""
    return kind_of(query, field), query.difficulty or ""


def _choose(test_set: TestSet, fraction: float, seed: int) -> set[int]:
    """Return the positions of the queries to hold out."""
    import numpy as np

    queries = test_set.queries
    total = min(max(round(fraction * len(queries)), 1), len(queries) - 1)
    language = primary_language(declared_language(test_set, test_set.metadata.dataset_id))
    groups = near_groups([query.text for query in queries], language)
    field = kind_field(test_set)
    strata = [stratum_of(query, field) for query in queries]
    order = np.random.default_rng(seed).permutation(len(groups))
    shuffled = [groups[at] for at in order.tolist()]
    quota = apportion_strata(total, strata)
    by_category = Counter[str]()
    for (category, _), count in quota.items():
        by_category[category] += count
    chosen: set[int] = set()
    # A group of near-duplicates can be too large for the rest of its stratum. The missing queries
    # come from other strata of the category, then from all queries.
    for level in (
        (quota, lambda at: strata[at]),
        (by_category, lambda at: strata[at][0]),
        ({"": total}, lambda _: ""),
    ):
        _fill(chosen, shuffled, *level)
    return chosen


def _fill(chosen: set[int], groups: Sequence[list[int]], quota: dict[Any, int], kind: Any) -> None:
    """Choose groups in order, if the quota for the kind of their first query has room for them."""
    room = dict(quota)
    for at in chosen:
        room[kind(at)] -= 1
    free = sum(quota.values()) - len(chosen)
    for group in groups:
        if group[0] in chosen or len(group) > min(room[kind(group[0])], free):
            continue
        chosen.update(group)
        free -= len(group)
        for at in group:
            room[kind(at)] -= 1


def _part(
    test_set: TestSet, queries: Sequence[TestQuery], part: str, split: dict[str, Any]
) -> TestSet:
    dataset_id = test_set.metadata.dataset_id
    metadata = test_set.metadata.model_copy(
        update={"dataset_id": f"{dataset_id}-{part}", "split": {"part": part, **split}}
    )
    try:
        return TestSet(metadata=metadata, queries=tuple(queries))
    except UsageError:
        raise UsageError(
            f"the {part} part would have no query with a relevant term",
            where=dataset_id,
            remedy="choose another fraction, or use a larger set",
        ) from None


def apportion(total: int, sizes: Mapping[Key, int]) -> dict[Key, int]:
    """Divide a number in proportion to sizes by largest remainders (Hamilton's method).

    Args:
        total: The number to divide, at most the sum of the sizes.
        sizes: The size of each part, which is also its maximum.

    Returns:
        Whole numbers that add up to ``total``; each differs from the exact proportion by less than
        1. If remainders are equal, the larger part comes first, then the earlier one.
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
    """Divide a number over categories, and each share over the difficulties of the category.

    So the categories are as close to their proportions as possible, even if some combinations of
    category and difficulty have few queries.

    Args:
        total: The number to divide, at most the number of queries.
        strata: The stratum of each query.
    """
    cells = Counter(strata)
    categories = Counter(category for category, _ in strata)
    found: dict[Stratum, int] = {}
    for category, number in apportion(total, categories).items():
        inside = {cell: size for cell, size in cells.items() if cell[0] == category}
        found.update(apportion(number, inside))
    return found
