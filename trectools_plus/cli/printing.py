"""Writing what a command has to say, to a file or to stdout."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from trectools_plus.formats.atomic import atomic_write

if TYPE_CHECKING:
    import polars as pl


def write_text(lines: Iterator[str], output: Path | None = None) -> None:
    """Write lines to a file, or to stdout."""
    with atomic_write(output or "-", "w") as stream:
        stream.writelines(f"{line}\n" for line in lines)


def write_json(document: Mapping[str, Any], output: Path | None = None) -> None:
    """Write one JSON document to a file, or to stdout."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    write_text(iter([text]), output)


def write_frame(
    table: pl.DataFrame, kind: Literal["csv", "parquet"], output: Path | None = None
) -> None:
    """Write a table to a file, or to stdout."""
    with atomic_write(output or "-", "wb") as stream:
        if kind == "csv":
            table.write_csv(stream)
        else:
            table.write_parquet(stream)
