"""What fixing a file did: a summary for people and programs, and a diff line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from trectools_plus.text import plural, visible

_LONGEST_SHOWN = 500


@dataclass(frozen=True, slots=True)
class Applied:
    """A fix that was applied.

    Attributes:
        code: The rule's code; ``None`` for what no rule is about.
        name: The rule's name.
        count: In how many places the rule was broken.
        what: What was done, in the past tense.
    """

    code: str | None
    name: str
    count: int
    what: str


@dataclass(frozen=True, slots=True)
class Change:
    """A line that is not what or where it was.

    Attributes:
        line: The input's own line number, from 1.
        before: Its text, without LF.
        after: Its text in the output; ``None`` if it was left out. It ends in LF only where the
            input's last line did not.
        moved_to: Its line in the output, where its order among the others changed.
    """

    line: int
    before: str
    after: str | None
    moved_to: int | None = None


@dataclass(frozen=True, slots=True)
class FixSummary:
    """What :func:`trectools_plus.validation.fixes.fix_run` and its kin did.

    Attributes:
        path: The input, as the user named it.
        kind: ``run``, ``qrels`` or ``topics``.
        output: The file written; ``None`` if none was.
        applied: The fixes applied, in order; none if the file had nothing to fix.
        notes: Fixes that were held back, and why.
        refused: Why nothing was written.
        repacked: How the output is compressed otherwise than the input.
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
        """Yield each changed line, in the input's order; worked out as it is asked for.

        A line whose encoding, byte order mark or line end was mended is a changed one. Only where
        the whole file was in an encoding such as UTF-16, that is in :attr:`applied` alone.
        """
        return self._changes()

    def iter_diff(self) -> Iterator[str]:
        """Yield the diff as lines of text, each with LF: the input's line number, before, after."""
        for change in self.iter_changes():
            place = f"{self.path}:{change.line}"
            moved = "" if change.moved_to is None else f"  (now line {change.moved_to})"
            if change.after == change.before:
                yield f"{place}: > {_shown(change.before)}{moved}\n"
                continue
            yield f"{place}: - {_shown(change.before)}\n"
            if change.after is not None:
                yield f"{place}: + {_shown(change.after)}{moved}\n"

    def to_text(self) -> str:
        """The summary for people, several lines."""
        if self.output is None:
            lines = [f"{self.path}: not fixed, nothing written: {self.refused}"]
        elif self.applied:
            before, after = plural(self.lines_before, "line"), f"{self.lines_after:,}"
            lines = [f"{self.path}: fixed, written to {self.output} ({before}, now {after})"]
        else:
            done = self.repacked or "copied"
            lines = [f"{self.path}: nothing was fixed, {done} to {self.output}"]
        for one in self.applied if self.output is not None else ():
            label = f"{one.code} {one.name}" if one.code else one.name
            lines.append(f"  {label}: {one.what} ({one.count:,})")
        lines += [f"  {note}" for note in self.notes]
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """The summary as JSON values."""
        return {
            "path": self.path,
            "output": self.output,
            "refused": self.refused,
            "lines_before": self.lines_before,
            "lines_after": self.lines_after,
            "applied": [
                {"code": one.code, "name": one.name, "count": one.count, "what": one.what}
                for one in self.applied
            ],
            "notes": list(self.notes),
        }


def _shown(text: str) -> str:
    if text.isprintable() and len(text) <= _LONGEST_SHOWN:
        return text
    return "\\t".join(visible(part, _LONGEST_SHOWN) for part in text.split("\t"))
