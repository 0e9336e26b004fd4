"""Golden documents of an earlier commit, and what is different now.

`tests/golden/<name>.json` is what a case gave then; it is never written again.
`tests/contract/frozen/<name>.json` is what differs from it today: by path, without and with its
last part, a list with the value, or an empty list if there is none. A document without a golden one
is frozen whole.
`tests/golden/expected.toml` says why.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from harness.normal import Difference, differences, read_document, write_document

_TESTS = Path(__file__).resolve().parents[2]
GOLDEN = _TESTS / "golden"
FROZEN = _TESTS / "contract/frozen"
EXPECTED = GOLDEN / "expected.toml"
COSTS = GOLDEN / "costs.json"


@dataclass(frozen=True)
class Expected:
    """A reason for differences from golden documents.

    Args:
        cases: A pattern of names of documents, as of a shell.
        paths: Patterns of paths in these documents. `*` stands for any text, also with `/`.
        change: What changed in the product.
        why: Why these places differ.
    """

    cases: str
    paths: tuple[str, ...]
    change: str
    why: str

    def explains(self, case: str, path: str) -> bool:
        """Return whether this is a reason for a difference."""
        return fnmatchcase(case, self.cases) and any(fnmatchcase(path, one) for one in self.paths)


def read_expected(path: Path = EXPECTED) -> list[Expected]:
    """Return the reviewed list of reasons."""
    entries = tomllib.loads(path.read_text("utf-8")).get("expected", [])
    return [Expected(**{**entry, "paths": tuple(entry["paths"])}) for entry in entries]


def names() -> list[str]:
    """Return the names of all golden documents."""
    found = (path.relative_to(GOLDEN) for path in sorted(GOLDEN.rglob("*.json")) if path != COSTS)
    return [str(path.with_suffix("")) for path in found]


def golden_path(name: str) -> Path:
    """Return the path of a golden document."""
    return GOLDEN / f"{name}.json"


def frozen_path(name: str) -> Path:
    """Return the path of a frozen document, or of the differences from the golden one."""
    return FROZEN / f"{name}.json"


def from_golden(name: str, document: Any, *, loose: bool = False) -> list[Difference]:
    """Return the differences of a document from the golden one."""
    return [*differences(read_document(golden_path(name)), document, loose=loose)]


def freeze(name: str, document: Any, *, loose: bool = False) -> None:
    """Write what differs from the golden document; without one, the whole document."""
    path = frozen_path(name)
    if not golden_path(name).exists():
        write_document(path, document)
        return
    found = from_golden(name, document, loose=loose)
    path.unlink(missing_ok=True)
    if found:
        by_place: dict[str, dict[str, Any]] = {}
        for one in found:
            place, _, last = one.path.rpartition("/")
            by_place.setdefault(place, {})[last] = one.after
        write_document(path, by_place)


def read_differences(name: str) -> dict[str, Any]:
    """Return what is frozen of a document that has a golden one, by path."""
    path = frozen_path(name)
    by_place = read_document(path) if path.exists() else {}
    return {
        f"{place}/{last}": value
        for place, values in by_place.items()
        for last, value in values.items()
    }


def problems(name: str, document: Any, *, loose: bool = False) -> Iterator[str]:
    """Describe where a document is neither the golden one nor differs as frozen."""
    if not golden_path(name).exists():
        if not frozen_path(name).exists():
            yield f"{name} is not frozen: pytest tests/contract --freeze"
        else:
            frozen = read_document(frozen_path(name))
            yield from map(str, differences(frozen, document, loose=loose))
        return
    listed = read_differences(name)
    found = {one.path: one for one in from_golden(name, document, loose=loose)}
    for path, one in found.items():
        if path not in listed:
            yield str(one)
        else:
            inner = differences(listed[path], [*one.after], loose=loose, at=path)
            yield from map(str, inner)
    for path in listed:
        if path not in found:
            yield f"{path}: no longer differs from the golden document"
