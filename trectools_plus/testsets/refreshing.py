"""Replace some queries of a test set, so that systems do not become tuned to it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from trectools_plus.choices import StratumField
from trectools_plus.display import Displayed
from trectools_plus.errors import CheckFailedError, UsageError
from trectools_plus.testsets.agreement import GradeAgreement
from trectools_plus.testsets.languages import declared_language, same_language
from trectools_plus.testsets.model import TestQuery, TestSet
from trectools_plus.testsets.splitting import (
    DEFAULT_SEED,
    PLURALS,
    Stratum,
    apportion_strata,
    parent_of,
    strata_fields,
    stratum_of,
)
from trectools_plus.text import listed, plural
from trectools_plus.validation.topics.texts import near_across, near_groups, primary_language

if TYPE_CHECKING:
    import numpy as np


FIRST_VERSION = "1.0.0"
"""The version of a set that does not declare one."""


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
    version: str | None = None,
    stratify_by: StratumField | None = None,
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
        version: The version of the new set; by default the next minor version.
        stratify_by: Stratify by this field only.

    Returns:
        The new set, with the removed and the added queries.

    Raises:
        UsageError: If ``count`` is out of range, the languages differ, the pool has too few new
            queries of the kinds in the set, no query has the field ``stratify_by``, a new query has
            the id of an old one, or the next version cannot be computed.
        FormatError: If the set or the pool is in several languages.
    """
    import numpy as np

    if not 1 <= count <= len(test_set.queries):
        raise UsageError(
            f"cannot replace {count} of {len(test_set.queries)} queries",
            where="count",
            remedy=f"choose a number from 1 to {len(test_set.queries)}",
        )
    _check_languages(test_set, pool)
    generator = np.random.default_rng(seed)
    new = _new_queries(test_set, pool)
    strata = _Strata(strata_fields(test_set, pool, stratify_by=stratify_by))
    quota = strata.quota(count, test_set, new)
    removed = strata.draw(test_set.queries, quota, generator)
    added = strata.draw(new, quota, generator)
    queries = list(test_set.queries)
    pairs = list(zip(strata.sort(removed, queries), strata.sort(added, new), strict=True))
    for old, query in pairs:
        queries[queries.index(old)] = query
    _check_ids(test_set, queries, [query for _, query in pairs])
    pairs.sort(key=lambda pair: test_set.queries.index(pair[0]))
    new_version = next_version(test_set.metadata.version) if version is None else version
    changes = {
        "version": new_version,
        "parent": parent_of(test_set),
        "seed": seed,
        "removed": [_named(old) for old, _ in pairs],
        "added": [_named(query) for _, query in pairs],
    }
    earlier = (test_set.metadata.model_extra or {}).get("changes")
    all_changes = [*(earlier if isinstance(earlier, list) else []), changes]
    update = {"version": new_version, "changes": all_changes}
    metadata = test_set.metadata.model_copy(update=update)
    return Refreshed(
        TestSet(metadata=metadata, queries=tuple(queries)),
        removed=tuple(old for old, _ in pairs),
        added=tuple(query for _, query in pairs),
    )


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
    both = " and ".join(names)
    value = agreement.kappas[agreement.weights].value
    if not accept_low_agreement:
        remedy = "review the grades, or give --accept-low-agreement"
        missing = [one.query_id for one in done.added if one.query_id not in agreement.queries]
        if missing:
            raise CheckFailedError(
                f"{plural(len(missing), 'new query', 'new queries')} without a term that both "
                f"annotators graded: {listed(missing)}",
                where=both,
                remedy=remedy,
            )
        if not agreement.accepted:
            found = "undefined" if math.isnan(value) else f"{value:.4f}"
            raise CheckFailedError(
                f"the agreement of the annotators is too low: kappa is {found}, not above "
                f"{agreement.threshold:g}",
                where=both,
                remedy=remedy,
            )
    metadata = done.test_set.metadata
    *earlier, latest = (metadata.model_extra or {})["changes"]
    recorded = {
        "annotators": list(names),
        "kappa": None if math.isnan(value) else value,
        "weights": agreement.weights,
        "pairs": agreement.pairs,
        "accepted_low_agreement": not agreement.accepted,
    }
    changes = [*earlier, {**latest, "agreement": recorded}]
    metadata = metadata.model_copy(update={"changes": changes})
    return replace(done, test_set=done.test_set.model_copy(update={"metadata": metadata}))


def next_version(version: str) -> str:
    """Return the next minor version.

    It is ``1.1.0`` after ``1.0.0`` or an empty version, and ``2.4`` after ``2.3``.

    Raises:
        UsageError: If the version does not consist of one to three whole numbers.
    """
    match = re.fullmatch(r"(v?)(\d+)(?:\.(\d+))?(\.\d+)?", version or FIRST_VERSION)
    if match is None:
        raise UsageError(
            f"the version after '{version}' is unknown: expected numbers as in {FIRST_VERSION}",
            remedy="give the new version",
        )
    prefix, major, minor, patch = match.groups()
    return f"{prefix}{major}.{int(minor or 0) + 1}{'.0' if patch else ''}"


def _check_languages(test_set: TestSet, pool: TestSet) -> None:
    names = test_set.metadata.dataset_id, pool.metadata.dataset_id
    one, other = declared_language(test_set, names[0]), declared_language(pool, names[1])
    if one and other and not same_language(one, other):
        raise UsageError(
            f"the language of the set is {one}, that of the pool {other}",
            where=names[1],
            remedy="use new queries in the language of the set",
        )


def _new_queries(test_set: TestSet, pool: TestSet) -> list[TestQuery]:
    """Return queries of the pool that have a relevant term and a new text."""
    language = primary_language(declared_language(test_set, test_set.metadata.dataset_id))
    old_texts = [query.text for query in test_set.queries]
    texts = [query.text for query in pool.queries]
    known = {later for _, later in near_across(old_texts, texts, language)}
    firsts = {group[0] for group in near_groups(texts, language)}
    return [
        query
        for at, query in enumerate(pool.queries)
        if at in firsts and at not in known and query.has_relevant
    ]


class _Strata:
    """Queries by the values of fields.

    Args:
        fields: The fields.
    """

    def __init__(self, fields: Sequence[StratumField]) -> None:
        self._fields = fields

    def quota(self, count: int, test_set: TestSet, new: Sequence[TestQuery]) -> dict[Stratum, int]:
        """Return the number of queries to replace in each stratum, limited by the pool."""
        strata = list(map(self._of, test_set.queries))
        sizes, available = Counter(strata), Counter(map(self._of, new))
        possible = sum(min(size, available[stratum]) for stratum, size in sizes.items())
        if possible < count:
            raise UsageError(
                f"expected {count} new queries with the {_named_fields(self._fields)} of the set "
                f"but the pool has {possible}",
                remedy="replace fewer queries, or give a larger pool",
            )
        exact = apportion_strata(count, strata)
        quota = {key: min(number, available[key]) for key, number in exact.items()}
        for stratum, wanted in exact.items():
            for _ in range(wanted - min(wanted, available[stratum])):
                # Take another query of the same type, then of those with the most new ones left.
                left = {key: min(sizes[key], available[key]) - quota[key] for key in exact}
                free = [key for key, number in left.items() if number > 0]
                quota[max(free, key=partial(_preference, stratum, left))] += 1
        return quota

    def draw(
        self,
        queries: Sequence[TestQuery],
        quota: dict[Stratum, int],
        generator: np.random.Generator,
    ) -> list[TestQuery]:
        """Draw the given number of queries of each stratum."""
        drawn: list[TestQuery] = []
        for stratum in sorted(quota):
            of_kind = [query for query in queries if self._of(query) == stratum]
            places = generator.permutation(len(of_kind))[: quota[stratum]]
            drawn += [of_kind[at] for at in sorted(places.tolist())]
        return drawn

    def sort(self, drawn: Iterable[TestQuery], order: Sequence[TestQuery]) -> list[TestQuery]:
        """Sort by stratum and then by the given order, to pair old and new queries."""
        places = {query.query_id: at for at, query in enumerate(order)}
        return sorted(drawn, key=lambda query: (self._of(query), places[query.query_id]))

    def _of(self, query: TestQuery) -> Stratum:
        return stratum_of(query, self._fields)


def _preference(stratum: Stratum, left: dict[Stratum, int], other: Stratum) -> tuple[int, int]:
    """Return the number of first values that two strata share, and the number of queries left."""
    shared = 0
    while shared < len(stratum) and stratum[shared] == other[shared]:
        shared += 1
    return shared, left[other]


def _named_fields(fields: Sequence[StratumField]) -> str:
    """Return ``query types, categories and difficulties``."""
    names = [PLURALS[name].replace("_", " ") for name in fields]
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def _check_ids(test_set: TestSet, queries: Sequence[TestQuery], added: Sequence[TestQuery]) -> None:
    """Check that no new query has the id of an old one, even of a removed one."""
    old = {query.query_id for query in test_set.queries}
    taken = [query.query_id for query in added if query.query_id in old]
    if taken:
        raise UsageError(
            f"ids of new queries are already used in the set: {', '.join(taken[:3])}",
            remedy="change the ids in the pool",
        )
    assert len({query.query_id for query in queries}) == len(queries)


def _named(query: TestQuery) -> dict[str, str]:
    return {"query_id": query.query_id, "text": query.text}
