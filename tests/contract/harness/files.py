"""Small files."""

from __future__ import annotations

from pathlib import Path


def write(path: Path, content: str | bytes) -> Path:
    """Write bytes, or a text in UTF-8 as it is, and return the path."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path
