"""The result of fixing a file: a summary as text and JSON, and a diff line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trectools_plus.display import Displayed
from trectools_plus.text import plural, visible
from trectools_plus.validation.fixes.session import Applied, LineNumbers

_LONGEST_SHOWN = 500


@dataclass(frozen=True, slots=True)
class Change:
    """A line whose text changed.

    Attributes:
        line: The line number in the input, from 1.
        before: The text, without LF.
        after: The text in the output; ``None`` if the line was removed. It ends in LF only for the
            last line of an input without a final line end.
    """

    line: int
    before: str
    after: str | None


@dataclass(frozen=True, slots=True, repr=False)
class FixSummary(Displayed):
    """The result of fixing a file.

    Attributes:
        path: The input, as the user named it.
        kind: ``run``, ``qrels`` or ``topics``.
        output: The file written; ``None`` if none was.
        applied: The applied fixes, in order; none if the file had nothing to fix.
        notes: Fixes that were not applied, and why.
        refused: The reason why nothing was written.
        repacked: The change of compression from input to output.
        lines_before, lines_after: Number of lines of input and output.
    """

    path: str
    kind: str
    output: str | None
    applied: tuple[Applied, ...] = ()
    notes: tuple[str, ...] = ()
    refused: str | None = None
    repacked: str | None = None
    lines_before: int = 0
    lines_after: int = 0
    _changes: Callable[[], Iterator[Change]] = field(default=lambda: iter(()), repr=False)

    def iter_changes(self) -> Iterator[Change]:
        """Yield each changed line, in the order of the input; computed lazily.

        A change of encoding, byte order mark or line end is a change of the line. If a whole file
        is converted from UTF-16 or UTF-32, only :attr:`applied` shows it.
        """
        return self._changes()

    def iter_diff(self) -> Iterator[str]:
        """Yield the lines of a diff, with LF: line number in the input, text before and after."""
        for change in self.iter_changes():
            place = f"{self.path}:{change.line}"
            yield f"{place}: - {_shown(change.before)}\n"
            if change.after is not None:
                yield f"{place}: + {_shown(change.after)}\n"

    def to_text(self) -> str:
        """Return the summary as text of several lines."""
        if self.output is None:
            lines = [f"{self.path}: not fixed, nothing written: {self.refused}"]
        elif self.applied:
            before, after = plural(self.lines_before, "line"), f"{self.lines_after:,}"
            lines = [f"{self.path}: fixed, written to {self.output} ({before}, now {after})"]
        else:
            done = self.repacked or "copied"
            lines = [f"{self.path}: nothing was fixed, {done} to {self.output}"]
        for one in self.applied if self.output is not None else ():
            deleted = ", rows deleted" if one.deleted else ""
            lines.append(f"  {one.code} {one.name}: {one.what} ({one.count:,}{deleted})")
        lines += [f"  {note}" for note in self.notes]
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as JSON values."""
        return {
            "path": self.path,
            "output": self.output,
            "refused": self.refused,
            "lines_before": self.lines_before,
            "lines_after": self.lines_after,
            "applied": [
                {
                    "code": one.code,
                    "name": one.name,
                    "count": one.count,
                    "what": one.what,
                    **({"deleted": one.deleted} if one.deleted else {}),
                }
                for one in self.applied
            ],
            "notes": list(self.notes),
        }


def _shown(text: str) -> str:
    if text.isprintable() and len(text) <= _LONGEST_SHOWN:
        return text
    return "\\t".join(visible(part, _LONGEST_SHOWN) for part in text.split("\t"))


def iter_changes(
    raw: bytes, text: bytes, after: bytes, origin: LineNumbers | None
) -> Iterator[Change]:
    r"""Yield the lines of a file that were removed or changed.

    Changed line ends are shown: ``\r`` before LF, and the LF that was added to the last line. Bytes
    that are not UTF-8 are shown as escapes (``\xe9``).

    Args:
        raw: The bytes of the file.
        text: The file as UTF-8 without byte order mark, with LF or CRLF.
        after: The fixed text, with LF.
        origin: For each line of ``after``, its line number in ``text``; ``None`` for 1, 2, 3, …
    """
    old, new = _original_lines(raw, text), _lines_of(after)
    if origin is None:
        origin = np.arange(1, len(new) + 1, dtype=np.uint32)
    order = np.argsort(origin, kind="stable")
    ends = np.searchsorted(origin[order], np.arange(len(old) + 1), "right").tolist()
    line_end_added = after.endswith(b"\n") and not text.endswith(b"\n")
    for line, before in enumerate(old, 1):
        places = order[ends[line - 1] : ends[line]].tolist()
        if not places:
            yield Change(line, before, None)
        for place in places:
            found = new[place] + "\n" * (line_end_added and line == len(old))
            if found != before:
                yield Change(line, before, found)


def _original_lines(raw: bytes, text: bytes) -> list[str]:
    """Return the lines of a file before all fixes, with CR and byte order mark."""
    lines = _lines_of(text)
    if raw == text or b"\0" in raw:  # in UTF-16 and UTF-32, the bytes of every line change
        return lines
    if b"\n" not in raw and b"\r" in raw:
        raw = raw.replace(b"\r", b"\r\n")
    before = _lines_of(raw)
    return before if len(before) == len(lines) else lines


def _lines_of(data: bytes) -> list[str]:
    """Split a text into lines without LF, with escapes for bytes that are not UTF-8."""
    text = data.decode(errors="backslashreplace").removesuffix("\n")
    return text.split("\n") if text else []
