"""Run tags in the form that trackers take."""

from __future__ import annotations

import re
from pathlib import Path

from trectools_plus.errors import UsageError

LONGEST_TAG = 64
_OTHER = re.compile(r"[^A-Za-z0-9_.-]+")


def in_form(tag: str, longest: int = LONGEST_TAG) -> str:
    """A tag with ``_`` for all that a tag may not hold, cut to its longest length."""
    return _OTHER.sub("_", tag)[:longest]


def tag_for(asked: str | None, path: str, longest: int = LONGEST_TAG) -> str:
    """The tag that was asked for, or one made of the file's name.

    Raises:
        UsageError: If the tag asked for is not in form.
    """
    if asked is None:
        return in_form(Path(path).name.split(".")[0].strip("-") or "run", longest)
    if not asked or in_form(asked, longest) != asked:
        raise UsageError(
            f"'{asked}' is no run tag", remedy=f"use 1 to {longest} of A-Z a-z 0-9 _ . -"
        )
    return asked
