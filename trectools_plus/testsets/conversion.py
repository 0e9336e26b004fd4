"""Test sets into files of any form, and the two files of a split."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from trectools_plus.errors import InputError, UsageError
from trectools_plus.testsets.folders import write_folder
from trectools_plus.testsets.model import TestSet
from trectools_plus.testsets.splitting import Split
from trectools_plus.testsets.tables import QUERY_FIELDS
from trectools_plus.testsets.writing import write_test_set

Form = Literal["json", "yaml", "trec", "trec-jsonl", "beir"]

_FILE = re.compile(r"\.(json|ya?ml)(\.(gz|bz2|xz|zst))?$", re.IGNORECASE)
_NAME = re.compile(r"[^\w.+-]+")


@dataclass(frozen=True, slots=True)
class Converted:
    """What was written.

    Attributes:
        files: The files.
        dropped: Fields of the queries that the form has no room for.
    """

    files: tuple[Path, ...]
    dropped: tuple[str, ...] = ()


def form_of_output(path: str | Path) -> Form:
    """The form that a file's name says.

    Raises:
        UsageError: If it says none.
    """
    match = _FILE.search(str(path))
    if match is None:
        raise UsageError(
            "the name does not say which form is meant",
            where=str(path),
            remedy="name a .json or .yaml file, or a folder with --to trec, trec-jsonl or beir",
        )
    return "json" if match[1].lower() == "json" else "yaml"


def convert_test_set(test_set: TestSet, output: str | Path, form: Form) -> Converted:
    """Write a test set as one file, or as topics and qrels in a folder.

    Args:
        test_set: The set.
        output: The file or folder; ``-`` is standard output, for JSON.
        form: ``json`` or ``yaml``; ``trec``, ``trec-jsonl`` or ``beir``: see
            :func:`trectools_plus.testsets.folders.write_folder`.

    Raises:
        UsageError: If a file is named otherwise than its form.
        InputError: If a file cannot be written, or an id cannot stand in qrels.
    """
    if form == "json" or form == "yaml":
        to_stdout = str(output) == "-" and form == "json"
        if not to_stdout and form_of_output(output) != form:
            raise UsageError(f"a {form} file is to end in .{form}", where=str(output))
        write_test_set(test_set, output)
        return Converted((Path(output),))
    files = write_folder(test_set, output, form)
    dropped = [
        name
        for name in QUERY_FIELDS
        if form == "trec" and any(getattr(query, name) for query in test_set.queries)
    ]
    return Converted(tuple(files), tuple(dropped))


def write_split(split: Split, folder: str | Path) -> tuple[Path, Path]:
    """Write the parts as ``<dataset_id>.json`` each.

    Returns:
        The used part, and the one held out.

    Raises:
        InputError: If a file cannot be written.
    """
    root = Path(folder)
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder: {error.strerror}", where=str(root)) from error
    used, held_out = (
        root / f"{_NAME.sub('-', part.metadata.dataset_id)}.json"
        for part in (split.used, split.held_out)
    )
    write_test_set(split.used, used)
    write_test_set(split.held_out, held_out)
    return used, held_out
