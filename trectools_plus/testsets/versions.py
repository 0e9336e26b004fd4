"""Versions of test sets: what the next one is called."""

from __future__ import annotations

import re

from trectools_plus.errors import UsageError

FIRST_VERSION = "1.0.0"
"""The version of a set that says none."""


def next_version(version: str) -> str:
    """The next minor version: ``1.1.0`` after ``1.0.0`` and after nothing, ``2.4`` after ``2.3``.

    Raises:
        UsageError: If it is not made of one to three whole numbers.
    """
    match = re.fullmatch(r"(v?)(\d+)(?:\.(\d+))?(\.\d+)?", version or FIRST_VERSION)
    if match is None:
        raise UsageError(
            f"version '{version}' has no next one: expected numbers such as {FIRST_VERSION}",
            remedy="name the new version",
        )
    prefix, major, minor, patch = match.groups()
    return f"{prefix}{major}.{int(minor or 0) + 1}{'.0' if patch else ''}"
