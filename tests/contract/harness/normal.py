"""Documents without texts and without values that differ by run, and their differences."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

TEXTS = {"message", "remedy", "formula", "notes", "help", "shortDescription", "fullDescription"}
"""Keys of texts: only the key is compared."""
TIMES = {"created_at", "latency_ms", "seconds", "time"}
VERSIONS = {"packages", "python", "platform", "cached_from", "command"}
KEYS = {"index_snapshots", "indexes", "cache_key", "plan_sha256", "labels_sha256"}
IGNORED = TIMES | VERSIONS | KEYS
"""Keys whose values are not compared, only whether they are null and how many there are."""

PRIVATE = {"text", "title", "description"}
"""Keys with texts of collections that are not part of this project: left out."""

FROM_RANKS = {"failing_queries", "first_relevant_rank", "groups", "judged", "sha256"}
FROM_RANKS |= {"diagnosis", "losses", "median", "status", "status_high", "status_low", "strata"}
FROM_RANKS |= {"observed", "ties", "wins"}
FROM_VARIANCE = {"best_mode_significant", "ci", "detectable_difference", "effect_size", "p", "std"}
FROM_VARIANCE |= {"p_adjusted", "paired_bootstrap", "randomisation", "sign_test", "significant"}
FROM_VARIANCE |= {"t_test", "wilcoxon"}
VECTOR_DEPENDENT = FROM_RANKS | FROM_VARIANCE
"""Keys whose values a difference in a score's last bits can change a lot."""

TOLERANCE = 1e-12
DIGITS = 14
LOOSE = 5e-3
"""Tolerance of figures that depend on vector scores, which differ by processor."""

TEXT = "…"
"""Stands for a text, or for another value that is not compared."""

IDENTITIES = (
    ("code", "line"),
    ("code", "line", "query_id", "doc_id"),
    ("baseline", "contrast", "measure"),
    ("measure", "runs"),
    ("query_id",),
    ("doc_id",),
    ("path",),
    ("id",),
    ("name",),
)
"""Keys that tell the items of a list apart, so that one item more does not change all others."""

_EXPERIMENT = re.compile(r"\d{8}-\d{6}-(?=[0-9a-f]{8})")
"""The time in an experiment's id, before the configuration's hash."""


def normalise(value: Any, *, private: bool = False, loose: bool = False) -> Any:
    """Return the contract of a JSON value: without texts, times and versions.

    A string with a space is a text. Items of a list with an identity become values of a mapping.

    Args:
        value: A value of a document that a command wrote.
        private: Leave out the texts of a collection.
        loose: Leave out values that vector scores of another processor can change a lot.
    """
    if isinstance(value, Mapping):
        is_tool = "rules" in value and "version" in value
        kept = {}
        for key, inner in value.items():
            if loose and key in VECTOR_DEPENDENT and not (key == "sha256" and "id" in value):
                continue
            if key in TEXTS or (key in VERSIONS and isinstance(inner, Mapping)):
                kept[key] = TEXT
            elif key in IGNORED or (is_tool and key == "version"):
                kept[key] = _shape(inner)
            elif private and key in PRIVATE and isinstance(inner, str):
                kept[key] = TEXT
            else:
                kept[key] = normalise(inner, private=private, loose=loose)
        return kept
    if isinstance(value, list):
        items = [normalise(inner, private=private, loose=loose) for inner in value]
        if items and all(item == TEXT for item in items):
            return TEXT
        return _by_identity(items, loose)
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    return short_string(value) if isinstance(value, str) else value


def short_string(value: str) -> str:
    """Return a code, name, path or id as it is, without the time of an experiment."""
    return TEXT if re.search(r"\s", value) else _EXPERIMENT.sub(f"{TEXT}-", value)


def _shape(value: Any) -> Any:
    """Return the compared part of an ignored value: whether it is null, and its length."""
    if isinstance(value, list):
        return [TEXT] * len(value)
    if isinstance(value, Mapping):
        return {} if not value else TEXT
    return None if value is None else TEXT


def _by_identity(items: list[Any], loose: bool) -> Any:
    """Return the items by what tells them apart, with a short hash of their order."""
    for keys in IDENTITIES:
        if items and all(isinstance(one, dict) and one.keys() >= {*keys} for one in items):
            names = [" ".join(str(one[key]) for key in keys) for one in items]
            if len({*names}) == len(names):
                rest = ({k: v for k, v in one.items() if k not in keys} for one in items)
                found = dict(zip(names, rest, strict=True))
                return found if loose else {**found, "(order)": digest(names)}
    return items


def digest(texts: Iterable[str]) -> str:
    """Return a short hash of texts in their order."""
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:10]


class Difference(NamedTuple):
    """A place where two documents differ, and the values there; an empty tuple for none."""

    path: str
    before: Sequence[Any]
    after: Sequence[Any]

    def __str__(self) -> str:
        return f"{self.path}: {_short(self.before, 'new')}, now {_short(self.after, 'missing')}"


def differences(
    before: Any, after: Any, *, loose: bool = False, at: str = ""
) -> Iterator[Difference]:
    """Return the differences of two normalised documents."""
    if isinstance(before, list) and isinstance(after, list):
        before, after = ({str(n): one for n, one in enumerate(items)} for items in (before, after))
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            where = f"{at}/{key}"
            if key not in after:
                yield Difference(where, [before[key]], [])
            elif key not in before:
                yield Difference(where, [], [after[key]])
            else:
                yield from differences(before[key], after[key], loose=loose, at=where)
    elif not _equal(before, after, loose):
        yield Difference(at, [before], [after])


def _equal(before: Any, after: Any, loose: bool) -> bool:
    numbers = all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in (before, after)
    )
    if numbers and (isinstance(before, float) or isinstance(after, float)):
        absolute = LOOSE if loose else TOLERANCE
        return math.isclose(before, after, rel_tol=TOLERANCE, abs_tol=absolute) or (
            math.isnan(before) and math.isnan(after)
        )
    return type(before) is type(after) and bool(before == after)


def _short(values: Sequence[Any], none: str) -> str:
    text = json.dumps(values[0], ensure_ascii=False) if values else none
    return text if len(text) <= 100 else f"{text[:97]}…"


def write_document(path: Path, document: Any) -> None:
    """Write a document so that a change of one figure is a change of one line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(_lines(document)) + "\n", encoding="utf-8")


def read_document(path: Path) -> Any:
    """Return a document that :func:`write_document` wrote."""
    return json.loads(path.read_text(encoding="utf-8"))


def _lines(value: Any) -> Iterator[str]:
    """Write JSON with keys sorted and values without further nesting on one line."""
    inner = value.values() if isinstance(value, dict) else value
    nested = isinstance(value, dict | list) and any(isinstance(one, dict | list) for one in inner)
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    if not nested and (len(text) <= 160 or not isinstance(value, dict | list) or not value):
        yield text
        return
    is_mapping = isinstance(value, dict)
    yield "{" if is_mapping else "["
    items = sorted(value.items()) if is_mapping else [(None, one) for one in value]
    for number, (key, one) in enumerate(items):
        yield f"{',' if number else ''}\n"
        if key is not None:
            yield f"{json.dumps(key, ensure_ascii=False)}:"
        yield from _lines(one)
    yield f"\n{'}' if is_mapping else ']'}"
