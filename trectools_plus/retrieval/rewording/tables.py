"""Tables of this package: tab-separated files with a header in ``retrieval/data``."""

from __future__ import annotations

from importlib.resources import files


def read_data(name: str) -> str:
    """Return the content of a file; empty if it does not exist."""
    file = files("trectools_plus.retrieval") / "data" / name
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def read_rows(name: str) -> list[list[str]]:
    """Return the rows of a table below its header; each has as many fields as the header."""
    header, *rows = read_data(name).splitlines() or [""]
    width = header.count("\t") + 1
    return [[*row.split("\t"), *[""] * width][:width] for row in rows if row.strip()]
