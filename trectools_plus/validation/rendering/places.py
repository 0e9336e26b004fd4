"""How outputs spell files, lines and texts: nothing invisible, nothing that a terminal obeys."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePath
from urllib.parse import quote

from trectools_plus.text import visible


def printable(text: str) -> str:
    """``text`` in full, with escapes for all that has no shape or steers a terminal."""
    return text if text.isprintable() else visible(text, len(text))


def file_uri(path: str) -> str:
    """A URI reference for a file: relative as it was named, ``file:`` for an absolute path.

    Bytes of a name that are not UTF-8 keep their value as percent escapes.
    """
    try:
        name = os.fsencode(PurePath(path).as_posix())
    except UnicodeEncodeError:  # half a character, which only Windows allows in a name
        path = path.encode("utf-8", "replace").decode()
        name = path.encode()
    return Path(path).as_uri() if PurePath(path).is_absolute() else quote(name)


def line_ranges(lines: Sequence[int], count: int) -> str:
    """``lines 1–3, 7, …``: the lines kept of a finding with ``count`` places; ``""`` for one."""
    if len(lines) < 2:
        return ""
    spans: list[list[int]] = []
    for line in lines:
        if spans and line == spans[-1][-1]:
            continue  # another place on the same line
        if spans and line == spans[-1][-1] + 1:
            spans[-1][1:] = [line]
        else:
            spans.append([line])
    if len(set(lines)) == 1:
        return ""
    shown = ", ".join("–".join(map(str, span)) for span in spans)
    return f"lines {shown}{', …' if count > len(lines) else ''}"
