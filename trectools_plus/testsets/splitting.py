"""Split a test set, and replace queries for its next version: both choose queries by strata."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from trectools_plus.display import Displayed
from trectools_plus.errors import CheckFailedError, UsageError
from trectools_plus.formats.files.atomic import make_folder
from trectools_plus.formats.files.guards import read_manifest, refuse_foreign
from trectools_plus.formats.hashing import sha256_text
from trectools_plus.testsets.agreement import GradeAgreement
from trectools_plus.testsets.loading import declared_language, languages_in
from trectools_plus.testsets.model import (
    TestQuery,
    TestSet,
    checked_test_set,
    render_test_set,
    write_test_set,
)
from trectools_plus.text import listed
from trectools_plus.validation.texts import near_groups, near_pairs

DEFAULT_HELD_OUT = 0.2
DEFAULT_SEED = 42

_ATTEMPTS = 50
"""Orders of the queries to try until near-duplicates fit into the proportions."""

StratumField = Literal["query_type", "category", "difficulty"]
"""Fields of test cases that form strata."""
PLURALS: Mapping[StratumField, str] = {
    "query_type": "query_types",
    "category": "categories",
    "difficulty": "difficulties",
}
"""The fields that form strata, and the names of their counts."""

_NAMED = {"query_id", "text"}
"""The fields of a query that are listed in ``changes``."""

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

    Returns:
        The parts, each in the order of the set. Their metadata contain parent, seed and fraction.

    Raises:
        UsageError: If the fraction is not between 0 and 1.
        FormatError: If a part would have no query with a relevant term.
    """
    if not 0.0 < held_out < 1.0:
        raise UsageError(
            f"expected a fraction between 0 and 1, for example 0.2, but got {held_out:g}"
        )
    fields = strata_fields(test_set)
    chosen = _choose_held_out(test_set, held_out, seed, fields)
    split = {
        "seed": seed,
        "held_out": held_out,
        "strata": ", ".join(fields),
        "parent": parent_of(test_set),
    }
    return Split(
        _part(test_set, "used", {*range(len(test_set.queries))} - chosen, split),
        _part(test_set, "held-out", chosen, split),
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
    parts = (split.used, split.held_out)
    names = [f"{_FILE_NAME.sub('-', part.metadata.dataset_id)}.json" for part in parts]
    known = {name: read_manifest(root / name).get("metadata") for name in names}
    parts_of_splits = {
        name
        for name, metadata in known.items()
        if isinstance(metadata, dict) and "split" in metadata
    }
    refuse_foreign(root, names, parts_of_splits)
    for name, part in zip(names, parts, strict=True):
        write_test_set(part, root / name)
    return root / names[0], root / names[1]


def parent_of(test_set: TestSet) -> dict[str, str]:
    """Return ``dataset_id`` and ``version`` of a set, and the ``sha256`` of its JSON."""
    named = test_set.metadata.model_dump(include={"dataset_id", "version"})
    return named | {"sha256": sha256_text(render_test_set(test_set))}


def strata_fields(*sets: TestSet) -> tuple[StratumField, ...]:
    """Return the fields to stratify by; the proportions of the first are exact.

    They are ``query_type``, ``category`` and ``difficulty``, as far as queries of every set have
    them, or one that the first set has.
    """
    of_sets = [
        [name for name in PLURALS if any(getattr(query, name) for query in test_set.queries)]
        for test_set in sets
    ]
    shared = [name for name in PLURALS if all(name in fields for fields in of_sets)]
    return tuple(shared or of_sets[0][:1] or ["category"])


def stratum_of(query: TestQuery, fields: Sequence[StratumField]) -> Stratum:
    """Return the values of a query in the fields."""
    return tuple(getattr(query, name) or "" for name in fields)


def _choose_held_out(
    test_set: TestSet, fraction: float, seed: int, fields: Sequence[StratumField]
) -> set[int]:
    """Return the positions of the queries to hold out."""
    import numpy as np

    queries = test_set.queries
    total = min(max(round(fraction * len(queries)), 1), len(queries) - 1)
    languages = list(languages_in(test_set))
    groups = near_groups(
        [query.text for query in queries], languages[0] if len(languages) == 1 else ""
    )
    strata = [stratum_of(query, fields) for query in queries]
    cells = apportion_strata(total, strata)
    generator = np.random.default_rng(seed)
    best: set[int] = set()
    least = len(queries) + 1
    for _ in range(_ATTEMPTS):
        chosen = _choose([groups[at] for at in generator.permutation(len(groups))], cells, strata)
        missing = _sum_by(cells, 1)
        missing.subtract(strata[at][:1] for at in chosen)
        missed = sum(map(abs, missing.values()))
        if missed < least:
            best, least = chosen, missed
        if not missed:
            break
    return best


def _sum_by(sizes: Mapping[Stratum, int], length: int) -> Counter[Stratum]:
    """Return the sums of the strata with the same values in the first fields."""
    sums: Counter[Stratum] = Counter()
    for stratum, size in sizes.items():
        sums[stratum[:length]] += size
    return sums


def _choose(
    groups: Sequence[list[int]], cells: Mapping[Stratum, int], strata: Sequence[Stratum]
) -> set[int]:
    """Choose groups in order, as long as the strata of all their queries have room for them.

    A group of near-duplicates can be too large for the rest of its stratum. The missing queries
    come from the other strata with the same values in the first fields, then from all queries.

    Args:
        groups: Positions of queries that stay together.
        cells: The number of queries to choose of each stratum.
        strata: The stratum of each query.
    """
    chosen: set[int] = set()
    for length in range(len(strata[0]), -1, -1):
        room = _sum_by(cells, length)
        room.subtract(strata[at][:length] for at in chosen)
        for group in groups:
            needed = Counter(strata[at][:length] for at in group)
            if group[0] not in chosen and needed <= room:
                chosen.update(group)
                room.subtract(needed)
    return chosen


def _part(test_set: TestSet, part: str, chosen: set[int], split: dict[str, Any]) -> TestSet:
    metadata = test_set.metadata
    metadata = metadata.model_copy(
        update={"dataset_id": f"{metadata.dataset_id}-{part}", "split": {"part": part, **split}}
    )
    queries = [query for at, query in enumerate(test_set.queries) if at in chosen]
    return checked_test_set({"metadata": metadata, "queries": queries}, metadata.dataset_id)


@dataclass(frozen=True, slots=True, repr=False)
class Refreshed(Displayed):
    """The next version of a test set.

    Attributes:
        test_set: The new version; ``changes`` in its metadata has an entry for each refresh.
        removed: The removed queries.
        added: The queries that replace the removed ones, in the same order.
    """

    test_set: TestSet
    removed: tuple[TestQuery, ...]
    added: tuple[TestQuery, ...]


def refresh_test_set(
    test_set: TestSet,
    pool: TestSet,
    count: int,
    *,
    seed: int = DEFAULT_SEED,
) -> Refreshed:
    """Replace queries by new ones of the same query type, category and difficulty.

    Fields that the set or the pool lacks are left out. Queries of the pool are not used if their
    text is nearly identical to that of a query of the set, or of an earlier query of the pool.

    The replaced queries are distributed over query types in proportion to their numbers in the set
    by largest remainders, within a type over categories, and within these over difficulties, as far
    as the pool has new ones. The same seed gives the same set.

    Args:
        test_set: The set.
        pool: The source of new queries, in the same language.
        count: The number of queries to replace.
        seed: The seed of the random choice.

    Returns:
        The new set, with the removed and the added queries.

    Raises:
        UsageError: If ``count`` is out of range, the languages differ, the pool has too few new
            queries of the kinds in the set, a new query has the id of an old one, or the next
            version cannot be computed.
        FormatError: If the set or the pool is in several languages.
    """
    import numpy as np

    if not 1 <= count <= len(test_set.queries):
        raise UsageError(f"expected a number from 1 to {len(test_set.queries)} but got {count}")
    languages = {declared_language(side, side.metadata.dataset_id) for side in (test_set, pool)}
    if len(languages - {""}) > 1:
        raise UsageError(
            f"the set and the pool are in different languages: {', '.join(sorted(languages))}",
            remedy="use new queries in the language of the set",
        )
    generator = np.random.default_rng(seed)
    new = _new_queries(test_set, pool)
    fields = strata_fields(test_set, pool)
    old_strata, new_strata = (
        [stratum_of(query, fields) for query in queries] for queries in (test_set.queries, new)
    )
    room, offered = Counter(old_strata), list[list[int]]()
    for at in generator.permutation(len(new)).tolist():
        if room[new_strata[at]] > 0:
            room[new_strata[at]] -= 1
            offered.append([at])
    if len(offered) < count:
        raise UsageError(
            f"expected {count} new queries of the kinds in the set but the pool has {len(offered)}",
            remedy="replace fewer queries, or give a larger pool",
        )
    chosen = _choose(offered, apportion_strata(count, old_strata), new_strata)
    old = [[at] for at in generator.permutation(len(old_strata)).tolist()]
    leaving = _choose(old, Counter(new_strata[at] for at in chosen), old_strata)
    replaced = {
        at: new[other]
        for at, other in zip(
            sorted(leaving, key=lambda at: (old_strata[at], at)),
            sorted(chosen, key=lambda at: (new_strata[at], at)),
            strict=True,
        )
    }
    queries = [replaced.get(at, query) for at, query in enumerate(test_set.queries)]
    removed = [test_set.queries[at] for at in sorted(replaced)]
    added = [replaced[at] for at in sorted(replaced)]
    taken = {query.query_id for query in test_set.queries} & {query.query_id for query in added}
    if taken:
        raise UsageError(
            f"change ids of new queries that the set already uses: {listed(sorted(taken))}"
        )
    new_version = next_version(test_set.metadata.version)
    changes = {
        "version": new_version,
        "parent": parent_of(test_set),
        "seed": seed,
        "removed": [query.model_dump(include=_NAMED) for query in removed],
        "added": [query.model_dump(include=_NAMED) for query in added],
    }
    earlier = (test_set.metadata.model_extra or {}).get("changes")
    all_changes = [*(earlier if isinstance(earlier, list) else []), changes]
    metadata = test_set.metadata.model_copy(update={"version": new_version, "changes": all_changes})
    refreshed = TestSet(metadata=metadata, queries=tuple(queries))
    return Refreshed(refreshed, tuple(removed), tuple(added))


def record_annotators(
    done: Refreshed,
    names: tuple[str, str],
    agreement: GradeAgreement,
    *,
    accept_low_agreement: bool = False,
) -> Refreshed:
    """Record the two annotators of the new queries and their kappa in ``changes``.

    Args:
        done: The next version of a test set.
        names: The annotators.
        agreement: The agreement of their grades.
        accept_low_agreement: Accept any kappa.

    Raises:
        CheckFailedError: If kappa is not above the threshold, or the annotators did not both grade
            a term of each new query.
    """
    value = agreement.kappas[agreement.weights].value
    kappa = None if math.isnan(value) else value
    missing = [query.query_id for query in done.added if query.query_id not in agreement.queries]
    problem = None
    if missing:
        problem = f"new queries without a term that both annotators graded: {listed(missing)}"
    elif not agreement.accepted:
        problem = f"kappa is {value:.4f}, not above {agreement.threshold:g}"
    if problem is not None and not accept_low_agreement:
        raise CheckFailedError(
            problem,
            where=" and ".join(names),
            remedy="review the grades, or give --accept-low-agreement",
        )
    metadata = done.test_set.metadata
    *earlier, latest = (metadata.model_extra or {})["changes"]
    recorded = {
        "annotators": list(names),
        "kappa": kappa,
        "weights": agreement.weights,
        "pairs": agreement.pairs,
        "accepted_low_agreement": not agreement.accepted,
    }
    update = {"changes": [*earlier, {**latest, "agreement": recorded}]}
    metadata = metadata.model_copy(update=update)
    return replace(done, test_set=done.test_set.model_copy(update={"metadata": metadata}))


def next_version(version: str) -> str:
    """Return the next minor version.

    It is ``1.1.0`` after ``1.0.0`` or an empty version, and ``2.4`` after ``2.3``.

    Raises:
        UsageError: If the version does not consist of one to three whole numbers.
    """
    match = re.fullmatch(r"(v?)(\d+)(?:\.(\d+))?(\.\d+)?", version or "1.0.0")
    if match is None:
        raise UsageError(
            f"the version after '{version}' is unknown: write it with numbers as in 1.0.0"
        )
    prefix, major, minor, patch = match.groups()
    return f"{prefix}{major}.{int(minor or 0) + 1}{'.0' if patch else ''}"


def _new_queries(test_set: TestSet, pool: TestSet) -> list[TestQuery]:
    """Return queries of the pool that have a relevant term and a new text."""
    language = declared_language(test_set, test_set.metadata.dataset_id)
    old_texts = [query.text for query in test_set.queries]
    texts = [query.text for query in pool.queries]
    pairs, size = near_pairs([*old_texts, *texts], language), len(old_texts)
    known = {later - size for earlier, later in pairs if earlier < size}
    firsts = {group[0] for group in near_groups(texts, language)} - known
    return [query for at, query in enumerate(pool.queries) if at in firsts and query.has_relevant]


def apportion(total: int, sizes: Mapping[Key, int]) -> dict[Key, int]:
    """Divide a number in proportion to sizes by largest remainders (Hamilton's method).

    Args:
        total: The number to divide, at most the sum of the sizes.
        sizes: The size of each part, which is also its maximum.

    Returns:
        Whole numbers that add up to ``total``; each differs from the exact proportion by less than
        1. If remainders are equal, the larger part comes first, then the earlier one.
    """
    whole = sum(sizes.values()) or 1
    shares = {key: total * size // whole for key, size in sizes.items()}
    by_remainder = sorted(sizes, key=lambda key: (-(total * sizes[key] % whole), -sizes[key]))
    for key in by_remainder[: total - sum(shares.values())]:
        shares[key] += 1
    return shares


def apportion_strata(total: int, strata: Sequence[Stratum]) -> dict[Stratum, int]:
    """Divide a number over the values of the first field, and each share over those of the next.

    So the values of the first field are as close to their proportions as possible, even if some
    combinations of values have few queries.

    Args:
        total: The number to divide, at most the number of queries.
        strata: The stratum of each query.
    """
    if not strata[0]:
        return {(): total}
    return {
        (value, *rest): number
        for value, share in apportion(total, Counter(first for first, *_ in strata)).items()
        for rest, number in apportion_strata(
            share, [stratum[1:] for stratum in strata if stratum[0] == value]
        ).items()
    }
