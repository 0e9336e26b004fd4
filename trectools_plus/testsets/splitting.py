"""Split a test set into a part for development, and a held-out part."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

from trectools_plus.choices import StratumField
from trectools_plus.display import Displayed
from trectools_plus.errors import UsageError
from trectools_plus.formats.files.atomic import make_folder
from trectools_plus.formats.files.outputs import read_manifest, refuse_foreign
from trectools_plus.formats.hashing import sha256_text
from trectools_plus.testsets.conversion import render_test_set, write_test_set
from trectools_plus.testsets.languages import languages_in
from trectools_plus.testsets.model import TestQuery, TestSet
from trectools_plus.validation.topics.texts import near_groups

DEFAULT_HELD_OUT = 0.2
DEFAULT_SEED = 42

_ATTEMPTS = 50
"""Orders of the queries to try until near-duplicates fit into the proportions."""

STRATA_FIELDS: tuple[StratumField, ...] = get_args(StratumField)
"""Fields that form strata."""

PLURALS: Mapping[StratumField, str] = {
    "query_type": "query_types",
    "category": "categories",
    "difficulty": "difficulties",
    "hpo_domain": "hpo_domains",
    "language": "languages",
}

Key = TypeVar("Key")

Stratum = tuple[str, ...]
"""The values of the fields that form strata; an empty string for a field that a query lacks."""

_FILE_NAME = re.compile(r"[^\w.+-]+")


@dataclass(frozen=True, slots=True, repr=False)
class Split(Displayed):
    """The two parts of a test set.

    Attributes:
        used: The part for development.
        held_out: The part to use only once, at the end.
    """

    used: TestSet
    held_out: TestSet


def split_test_set(
    test_set: TestSet,
    held_out: float = DEFAULT_HELD_OUT,
    seed: int = DEFAULT_SEED,
    *,
    stratify_by: StratumField | None = None,
) -> Split:
    """Hold out a fraction of the queries, stratified by query type, category and difficulty.

    The fraction applies to each query type, rounded to whole queries by largest remainders; of 20,
    15 and 15 queries, a fifth is 4, 3 and 3. Within a query type it applies to each category, and
    within that to each difficulty. Fields that no query has are left out. Queries with nearly
    identical texts stay in one part, which can change the numbers if there are many of them. The
    same seed gives the same parts.

    Args:
        test_set: The set.
        held_out: The fraction to hold out, between 0 and 1.
        seed: The seed of the random choice.
        stratify_by: Stratify by this field only.

    Returns:
        The parts, each in the order of the set. Their metadata contain parent, seed and fraction.

    Raises:
        UsageError: If the fraction is not between 0 and 1, no query has the field, or a part would
            have no query with a relevant term.
    """
    if not 0.0 < held_out < 1.0:
        raise UsageError(
            f"expected a fraction between 0 and 1 but got {held_out:g}",
            where="held-out",
            remedy="for example, 0.2 holds out a fifth",
        )
    fields = strata_fields(test_set, stratify_by=stratify_by)
    chosen = _choose(test_set, held_out, seed, fields)
    split = {
        "seed": seed,
        "held_out": held_out,
        "strata": ", ".join(fields),
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
    written = {file.name for file in (used, held_out) if _is_part(file)}
    refuse_foreign(root, (used.name, held_out.name), written)
    write_test_set(split.used, used)
    write_test_set(split.held_out, held_out)
    return used, held_out


def _is_part(file: Path) -> bool:
    """Return whether a file is a part of a test set that was split."""
    metadata = (read_manifest(file) or {}).get("metadata")
    return isinstance(metadata, dict) and "split" in metadata


def parent_of(test_set: TestSet) -> dict[str, str]:
    """Return ``dataset_id`` and ``version`` of a set, and the ``sha256`` of its JSON."""
    facts = test_set.metadata
    digest = sha256_text(render_test_set(test_set))
    return {"dataset_id": facts.dataset_id, "version": facts.version, "sha256": digest}


def strata_fields(
    test_set: TestSet, *others: TestSet, stratify_by: str | None = None
) -> tuple[StratumField, ...]:
    """Return the fields to stratify by; the proportions of the first are exact.

    They are ``query_type``, ``category`` and ``difficulty``, as far as some queries have them.
    Without a query type, the first is ``category``.

    Args:
        test_set: The set.
        others: Other sets that have the fields too, if possible.
        stratify_by: Only this field.

    Raises:
        UsageError: If no query of a set has the field ``stratify_by``.
    """
    sets = (test_set, *others)
    if stratify_by is not None:
        known = [name for name in STRATA_FIELDS if all(_has_field(one, name) for one in sets)]
        if stratify_by not in known:
            raise UsageError(
                f"not every set has queries with the field '{stratify_by}'"
                if others
                else f"no query has the field '{stratify_by}'",
                where="stratify-by",
                remedy=f"use {', '.join(known)}" if known else "the queries have no such fields",
            )
        return tuple(name for name in known if name == stratify_by)
    kinds: list[StratumField] = ["query_type", "category"]
    shared = [name for name in kinds if all(_has_field(one, name) for one in sets)]
    of_set = [name for name in kinds if _has_field(test_set, name)]
    # Difficulties cannot be matched if only one of two sets has them.
    rated = {_has_field(one, "difficulty") for one in sets}
    found = shared or of_set[:1] or ["category"]
    return (*found, "difficulty") if len(rated) == 1 else tuple(found)


def _has_field(test_set: TestSet, name: str) -> bool:
    return any(getattr(query, name) for query in test_set.queries)


def stratum_of(query: TestQuery, fields: Sequence[StratumField]) -> Stratum:
    """Return the values of a query in the fields."""
    return tuple(getattr(query, name) or "" for name in fields)


def _choose(
    test_set: TestSet, fraction: float, seed: int, fields: Sequence[StratumField]
) -> set[int]:
    """Return the positions of the queries to hold out."""
    import numpy as np

    queries = test_set.queries
    total = min(max(round(fraction * len(queries)), 1), len(queries) - 1)
    languages = languages_in(test_set)
    language = next(iter(languages)) if len(languages) == 1 else ""
    groups = near_groups([query.text for query in queries], language)
    strata = [stratum_of(query, fields) for query in queries]
    cells = apportion_strata(total, strata)
    # A group of near-duplicates can be too large for the rest of its stratum. The missing queries
    # come from the other strata with the same values in the first fields, then from all queries.
    quotas = [
        _sum_by(cells, lambda stratum, size=size: stratum[:size])  # type: ignore[misc]
        for size in range(len(fields), -1, -1)
    ]
    generator = np.random.default_rng(seed)
    best: tuple[int, set[int]] | None = None
    for _ in range(_ATTEMPTS):
        order = generator.permutation(len(groups)).tolist()
        chosen: set[int] = set()
        for quota in quotas:
            _fill(chosen, [groups[at] for at in order], quota, strata)
        first = Counter(strata[at][:1] for at in chosen)
        missed = sum(abs(number - first[value]) for value, number in quotas[-2].items())
        if best is None or missed < best[0]:
            best = missed, chosen
        if not missed:
            break
    assert best is not None
    return best[1]


def _sum_by(sizes: Mapping[Stratum, int], key: Callable[[Stratum], Stratum]) -> dict[Stratum, int]:
    found: dict[Stratum, int] = {}
    for stratum, size in sizes.items():
        found[key(stratum)] = found.get(key(stratum), 0) + size
    return found


def _fill(
    chosen: set[int],
    groups: Sequence[list[int]],
    quota: Mapping[Stratum, int],
    strata: Sequence[Stratum],
) -> None:
    """Choose groups in order, if the quotas of all their queries have room for them.

    Args:
        chosen: The positions of chosen queries, to which others are added.
        groups: Positions of queries that stay together.
        quota: The number of queries by the first values of their strata.
        strata: The stratum of each query.
    """
    size = len(next(iter(quota)))
    room = Counter(quota)
    room.subtract(strata[at][:size] for at in chosen)
    for group in groups:
        needed = Counter(strata[at][:size] for at in group)
        if group[0] not in chosen and all(room[key] >= number for key, number in needed.items()):
            chosen.update(group)
            room.subtract(needed)


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
    """Divide a number over the values of the first field, and each share over those of the next.

    So the values of the first field are as close to their proportions as possible, even if some
    combinations of values have few queries.

    Args:
        total: The number to divide, at most the number of queries.
        strata: The stratum of each query.
    """
    return _apportion_level(total, Counter(strata), 0)


def _apportion_level(total: int, cells: Mapping[Stratum, int], level: int) -> dict[Stratum, int]:
    if level == len(next(iter(cells))):
        return dict.fromkeys(cells, total)
    sizes = _sum_by(cells, lambda stratum: stratum[level : level + 1])
    found: dict[Stratum, int] = {}
    for value, number in apportion(total, sizes).items():
        inside = {key: size for key, size in cells.items() if key[level : level + 1] == value}
        found.update(_apportion_level(number, inside, level + 1))
    return found
