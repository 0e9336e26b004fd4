"""Data files of this package, in ``retrieval/hpo/data``."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from hashlib import sha256
from importlib.resources import files

from trectools_plus.validation.texts import stop_words

_FOLDER = files("trectools_plus.retrieval.hpo") / "data"


def read_data(name: str) -> str:
    """Return the content of a file; empty if it does not exist."""
    file = _FOLDER / name
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def read_rows(name: str) -> list[list[str]]:
    """Return the rows of a tab-separated table below its header, with as many fields as that."""
    header, *rows = read_data(name).splitlines()
    width = header.count("\t") + 1
    return [[*row.split("\t"), *[""] * width][:width] for row in rows if row.strip()]


@lru_cache(maxsize=8)
def read_cues(language: str) -> dict[str, str]:
    """Return phrases of negation and relatives in a language, separated by semicolons.

    They are named by what they do; empty for a language without any.
    """
    _, *parts = re.split(r"^\[(.+)\]$", read_data(f"cues_{language}.txt"), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


@cache
def function_words(language: str) -> frozenset[str]:
    """Return stop words, and the words of these phrases that are too long for an abbreviation."""
    cues = " ".join(read_cues(language).values())
    return stop_words(language).union(re.findall(r"\w{4,}", cues))


@cache
def data_sha256() -> str:
    """Return a hash of all files."""
    hashed = sha256()
    for file in sorted(_FOLDER.iterdir(), key=lambda file: file.name):
        hashed.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return hashed.hexdigest()
