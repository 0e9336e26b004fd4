"""Arguments of ``--fix``: codes, and a file to write."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from trectools_plus.errors import UsageError

_CODE = re.compile(r"[FRQTP][0-9]{3}")


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
