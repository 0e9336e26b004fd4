"""Normalised documents (without values that differ by run), their differences and storage."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

TEXTS = {"message", "remedy", "formula", "notes", "help", "shortDescription", "fullDescription"}
TIMES = {"created_at", "latency_ms", "seconds", "time"}
VERSIONS = {"packages", "python", "platform", "cached_from", "command"}
KEYS = {"index_snapshots", "indexes", "cache_key"}
IGNORED = TEXTS | TIMES | VERSIONS | KEYS
"""Keys whose values are not compared, only whether they are null and how many there are."""

PRIVATE = {"text", "title", "description"}
"""Keys with texts of collections that are not part of this project: left out."""

FROM_RANKS = {"failing_queries", "first_relevant_rank", "groups", "judged", "near_misses", "sha256"}
FROM_RANKS |= {"diagnosis", "losses", "median", "status", "status_high", "status_low", "strata"}
FROM_RANKS |= {"observed", "ties", "wins"}
FROM_VARIANCE = {"best_mode_significant", "ci", "detectable_difference", "effect_size", "p", "std"}
FROM_VARIANCE |= {"p_adjusted", "paired_bootstrap", "randomisation", "sign_test", "significant"}
FROM_VARIANCE |= {"t_test", "wilcoxon"}
VECTOR_DEPENDENT = FROM_RANKS | FROM_VARIANCE
"""Keys whose values a difference in a score's last bits can change a lot."""

RELATIVE = 1e-9
ABSOLUTE = 1e-12
LOOSE = 5e-3
"""Tolerance of figures that depend on vector scores, which differ by processor."""

_EXPERIMENT = re.compile(r"\d{8}-\d{6}-(?=[0-9a-f]{8})")
"""The time in an experiment's id, before the configuration's hash."""
_VERSION = re.compile(r"\d+(\.\d+)+(\.?[a-z]+\d*)?")


def normalise(value: Any, *, private: bool = False, loose: bool = False) -> Any:
    """Return a JSON value without times, versions and rewordable texts.

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
            if key in VERSIONS and isinstance(inner, Mapping):
                kept[key] = "…"
            elif key in IGNORED or (is_tool and key == "version"):
                kept[key] = _shape(inner)
            elif private and key in PRIVATE and isinstance(inner, str):
                kept[key] = "…"
            elif key == "provider" and isinstance(inner, str):
                kept[key] = _VERSION.sub("N", inner)
            else:
                kept[key] = normalise(inner, private=private, loose=loose)
        return kept
    if isinstance(value, list):
        return [normalise(inner, private=private, loose=loose) for inner in value]
    if isinstance(value, float):
        return float(f"{value:.12g}")
    return _EXPERIMENT.sub("…-", value) if isinstance(value, str) else value


def _shape(value: Any) -> Any:
    """Return the compared part of an ignored value: whether it is null, and its length."""
    if isinstance(value, list):
        return ["…"] * len(value)
    if isinstance(value, Mapping):
        return {} if not value else "…"
    return None if value is None else "…"


def differences(expected: Any, actual: Any, *, loose: bool = False, at: str = "") -> Iterator[str]:
    """Describe the differences of two normalised documents, one line per difference."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in [*expected, *(key for key in actual if key not in expected)]:
            where = f"{at}/{key}"
            if key not in actual:
                yield f"{where}: missing (was {_short(expected[key])})"
            elif key not in expected:
                yield f"{where}: new ({_short(actual[key])})"
            else:
                yield from differences(expected[key], actual[key], loose=loose, at=where)
    elif isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            yield f"{at}: {len(expected)} items, now {len(actual)}"
        for number, (one, other) in enumerate(zip(expected, actual, strict=False)):
            yield from differences(one, other, loose=loose, at=f"{at}/{number}")
    elif not _equal(expected, actual, loose):
        yield f"{at}: {_short(expected)}, now {_short(actual)}"


def _equal(expected: Any, actual: Any, loose: bool) -> bool:
    numbers = all(
        isinstance(value, int | float) and not isinstance(value, bool)
        for value in (expected, actual)
    )
    if numbers and (isinstance(expected, float) or isinstance(actual, float)):
        absolute = LOOSE if loose else ABSOLUTE
        return math.isclose(expected, actual, rel_tol=RELATIVE, abs_tol=absolute) or (
            math.isnan(expected) and math.isnan(actual)
        )
    return type(expected) is type(actual) and bool(expected == actual)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else f"{text[:97]}…"


def write_document(path: Path, document: Any) -> None:
    """Write a frozen document so that a change of one figure is a change of one line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(_lines(document, "")) + "\n", encoding="utf-8")


def read_document(path: Path) -> Any:
    """Return a frozen document."""
    return json.loads(path.read_text(encoding="utf-8"))


def _lines(value: Any, indent: str) -> Iterator[str]:
    """Write JSON with keys sorted and values without further nesting on one line."""
    inner = value.values() if isinstance(value, dict) else value
    nested = isinstance(value, dict | list) and any(isinstance(one, dict | list) for one in inner)
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if not nested and (len(text) <= 160 or not isinstance(value, dict | list) or not value):
        yield text
        return
    is_mapping = isinstance(value, dict)
    yield "{" if is_mapping else "["
    items = sorted(value.items()) if is_mapping else [(None, one) for one in value]
    for number, (key, one) in enumerate(items):
        yield f"{',' if number else ''}\n{indent} "
        if key is not None:
            yield f"{json.dumps(key, ensure_ascii=False)}: "
        yield from _lines(one, f"{indent} ")
    yield f"\n{indent}{'}' if is_mapping else ']'}"
