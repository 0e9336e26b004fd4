"""What the user asked to be mended: codes, an output file, and choices that some fixes need."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from trectools_plus.errors import UsageError
from trectools_plus.validation.fixes.tags import LONGEST_TAG

_CODE = re.compile(r"[FRQTP][0-9]{3}")


@dataclass(frozen=True, slots=True)
class FixOptions:
    """Choices for fixes that have more than one way.

    Attributes:
        encoding: For F103: what the bytes are, a name such as ``latin-1`` or ``utf-16``; ``None``
            decodes only the lines that are not UTF-8, as Windows or ISO Latin-1.
        tag: For R101, R151, R152: the run's name; ``None`` takes the file's first one, or its name.
        dedup: For R131: which row of a repeated document stays.
        on_conflict: For Q142: which grade of a document judged twice stays.
        subtopic: For Q143: the subtopic (column 2) whose judgments stay; ``None`` merges all, the
            highest grade wins.
        max_tag_length: For R101, R151, R152: characters that a tag may have.
    """

    encoding: str | None = None
    tag: str | None = None
    dedup: Literal["best", "first", "last"] = "best"
    on_conflict: Literal["max", "min", "last"] = "max"
    subtopic: str | None = None
    max_tag_length: int = LONGEST_TAG


def split_fix_values(values: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Tell the output file from rule codes among the values of a repeated ``--fix``.

    A value is a list of codes if each of its comma-separated parts is one letter of F, R, Q, T, P
    and three digits, in either case. Everything else is a path; a file that is called like a code
    is written ``./R108``.

    Args:
        values: As the user gave them: ``["clean.run", "R108,R152"]``.

    Returns:
        The path to write, and the codes in upper case, each once.

    Raises:
        UsageError: Unless exactly one value is a path.
    """
    outputs: list[str] = []
    codes: dict[str, None] = {}
    for value in values:
        parts = [part.strip().upper() for part in value.split(",") if part.strip()]
        if parts and all(_CODE.fullmatch(part) for part in parts):
            codes.update(dict.fromkeys(parts))
        else:
            outputs.append(value)
    if len(outputs) != 1 or not outputs[0]:
        found = f"{len(outputs)} files to write" if outputs else "no file to write"
        raise UsageError(
            f"expected one file to write but got {found}",
            where="--fix",
            remedy="--fix OUT applies the safe fixes, --fix OUT --fix R108,R152 these two as well",
        )
    return outputs[0], tuple(codes)


def refuse_overwriting(output: str | Path, inputs: Iterable[str | Path | None]) -> None:
    """Refuse to write over a file that is read, under this or another name.

    Raises:
        UsageError: If the output is one of the inputs, or standard output.
    """
    if str(output) == "-":
        raise UsageError("a fixed file needs a name", where="--fix -", remedy="name a file")
    for given in inputs:
        if given is not None and str(given) != "-" and _is_same(given, output):
            raise UsageError(
                "would write over its own input",
                where=str(output),
                remedy="name another file; the input is never changed",
            )


def _is_same(left: str | Path, right: str | Path) -> bool:
    try:
        return Path(left).samefile(right)
    except (OSError, ValueError):  # one of them does not exist yet
        return os.path.realpath(left) == os.path.realpath(right)
