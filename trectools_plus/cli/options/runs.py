"""Run files as arguments: ``NAME=FILE``, or a file that names the run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from trectools_plus import formats
from trectools_plus.errors import UsageError

_ENDING = re.compile(r"(\.(run|txt|trec|res|tsv))?(\.(gz|bz2|xz|zst))?$")


def parse_runs(values: Sequence[str], where: str) -> dict[str, str]:
    """Return the files of ``NAME=FILE`` values by name; a ``FILE`` alone is named after the file.

    Args:
        values: The values.
        where: The option or argument, for error messages.

    Raises:
        UsageError: If a name or file is empty, or a name is given twice.
    """
    option = f"{where} " if where.startswith("-") else ""
    runs: dict[str, str] = {}
    for assignment in values:
        name, equals, path = assignment.partition("=")
        if not equals or formats.is_address(assignment):
            file = assignment.partition("?")[0] if formats.is_address(assignment) else assignment
            name, path = _ENDING.sub("", Path(file).name), assignment
        if not name.strip() or not path:
            raise UsageError(
                f"expected NAME=FILE but got '{assignment}'",
                where=where,
                remedy=f"write {option}bm25=bm25.run",
            )
        if name in runs:
            raise UsageError(
                f"two runs are named '{name}'", where=where, remedy=f"write {option}NAME=FILE"
            )
        runs[name] = path
    return runs
