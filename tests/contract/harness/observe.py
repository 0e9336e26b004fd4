"""Run a case and describe its results: exit codes, documents on stdout, written files."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sqlite3
import tarfile
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl

from harness.cases import Case
from harness.normal import normalise
from harness.program import Done

ROOT = Path(__file__).resolve().parents[3]
INPUTS = Path(__file__).resolve().parents[1] / "inputs"
_PACKAGE = re.compile(r"# +- [\w.-]+==\S+|# +python: \S+ \S+")
"""A line of ir_metadata that names the interpreter or an installed package."""
SHOWN_ROWS = 200
"""Text files with more rows than this are stored as their number of rows and hash."""

Run = Callable[[str, Path], Done]


def prepare(case: Case, folder: Path, shared: Path | None, earlier: Mapping[str, Path]) -> None:
    """Make the folder in which a case runs: links to its inputs, copies of files that it changes.

    Args:
        case: The case to run.
        folder: The folder to make.
        shared: The folder of shared test data, if there is one.
        earlier: Folders of the cases that have run, by name.
    """
    folder.mkdir(parents=True)
    (folder / "fixtures").symlink_to(ROOT / "fixtures")
    (folder / "inputs").symlink_to(INPUTS)
    if shared is not None:
        (folder / "shared").symlink_to(shared)
    for name in case.after:
        (folder / name).symlink_to(earlier[name])
    for name, source in case.copies.items():
        target = folder / name
        target.parent.mkdir(exist_ok=True)
        if source.endswith(".tar.xz"):
            with tarfile.open(INPUTS / source) as archive:
                archive.extractall(target.parent, filter="data")
        elif (INPUTS / source).is_dir():
            shutil.copytree(INPUTS / source, target)
        else:
            shutil.copy(INPUTS / source, target)
    for name, text in case.writes.items():
        (folder / name).write_text(text, encoding="utf-8")


def observe(case: Case, folder: Path, run: Run, cache: Path) -> dict[str, Any]:
    """Run a case's commands in its prepared folder, and describe the results.

    Args:
        case: The case to run.
        folder: The folder that :func:`prepare` made.
        run: Runs a command line in a folder.
        cache: The folder of the commands' cache.
    """
    clean = _Cleaner(case, {folder: ".", cache: "cache", INPUTS: "inputs", ROOT: "root"})
    before = {path: path.read_bytes() for path in _files(folder)}
    reports = [path for path in before if path.name == "BenchmarkReport.json"]
    known = {str(path.relative_to(folder)): clean.file(path) for path in reports}
    steps = []
    for command in case.commands:
        done = run(command, folder)
        if "Traceback" in done.stderr:
            raise AssertionError(f"{command}: {done.stderr}")
        errors = sum(line.startswith("error: ") for line in done.stderr.splitlines())
        step = {"command": command, "exit": done.code, "stdout": clean.output(done.stdout)}
        steps.append({**step, "errors": errors} if errors else step)
    files = {
        str(path.relative_to(folder)): clean.file(path)
        for path in _files(folder)
        if before.get(path) != path.read_bytes()
    }
    for step in steps:
        for name, value in [*known.items(), *files.items()]:
            if step["stdout"] == value and isinstance(value, dict):
                step["stdout"] = f"as {name}"
    return {"commands": steps, "files": files}


def _files(folder: Path) -> list[Path]:
    """Return the files of a case, without linked files."""
    found = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(path for path in found if path.suffix != ".pyc")


class _Cleaner:
    """Converts the output of a case to values that are the same on every machine."""

    def __init__(self, case: Case, places: Mapping[Path, str]) -> None:
        self._case = case
        self._places = places

    def _normalise(self, value: Any) -> Any:
        return normalise(value, private=self._case.private, loose=self._case.fresh)

    def _document(self, text: str) -> Any:
        for path, name in self._places.items():
            text = text.replace(str(path), name)
        return self._normalise(json.loads(text))

    def output(self, stdout: bytes) -> Any:
        """Describe the output of a command: a document, exact lines, or whether it printed text."""
        text = stdout.decode("utf-8", "replace")
        if text.startswith(("{", "[")):
            return self._document(text)
        if self._case.exact:
            return _lines_or_hash(stdout)
        return bool(stdout.strip())

    def file(self, path: Path) -> Any:
        """Describe the content of a file, as far as it is part of the contract."""
        name, content = path.name, path.read_bytes()
        if path.parent.name == "reports" and name.endswith(".json"):
            return list(json.loads(content)["modes"])  # parts of the report, as verify checks
        if name.endswith(".json"):
            return self._document(content.decode())
        if name.endswith((".jsonl", ".journal")):
            return [self._document(line) for line in content.decode().splitlines()]
        if name.endswith(".parquet"):
            return self._normalise(_table(pl.read_parquet(path), self._case.fresh))
        if name.endswith(".db"):
            return _database(path)
        if name == "SHA256SUMS":
            return [line.split("  ", 1)[1] for line in content.decode().splitlines()]
        if name == "BenchmarkComparison.md" and not self._case.fresh:
            return _first_table(content.decode())
        if name.endswith(".run") and self._case.fresh:
            return _run(content.decode())
        if path.suffix in (".run", ".txt", ".tsv", ".csv", ".yaml", ".fixed", ".prom"):
            return _lines_or_hash(content)
        return bool(content)


def _lines_or_hash(content: bytes) -> Any:
    """Return the lines of a short text; of a long one, the number of lines and the hash."""
    text = content.decode("utf-8", "backslashreplace")
    lines = [line for line in text.split("\n") if not _PACKAGE.fullmatch(line)]
    if len(lines) <= SHOWN_ROWS and "\r" not in text:
        return lines
    return {"lines": len(lines), "sha256": hashlib.sha256(content).hexdigest()}


def _run(text: str) -> Any:
    """Return the documents and scores of a fetched run; scores are compared with a tolerance."""
    rows = [line.split() for line in text.splitlines()]
    if len(rows) > SHOWN_ROWS:
        return {"queries": len({row[0] for row in rows}), "tags": sorted({row[5] for row in rows})}
    found: dict[str, list[Any]] = {}
    for query_id, _, doc_id, _, score, _ in rows:
        found.setdefault(query_id, []).extend([doc_id, float(score)])
    return found


def _table(frame: pl.DataFrame, fresh: bool) -> Any:
    """Return a table's number of rows, and the type and a checksum of each column."""
    columns: dict[str, Any] = {}
    for column in frame:
        kind = str(column.dtype)
        if column.name.endswith("_ms") or (fresh and column.dtype.is_float()):
            columns[column.name] = [kind]
        elif column.dtype.is_numeric():
            weighted = sum((1 + row % 97) * (value or 0) for row, value in enumerate(column))
            columns[column.name] = [kind, weighted]
        else:
            text = "\n".join(map(str, column))
            columns[column.name] = [kind, hashlib.sha256(text.encode()).hexdigest()]
    return {"rows": len(frame), "columns": columns}


def _database(path: Path) -> Any:
    """Return a database's tables with their columns and numbers of rows."""
    with closing(sqlite3.connect(path)) as database:
        names = database.execute("select name from sqlite_master where type = 'table' order by 1")
        return {
            name: {
                "columns": [row[1] for row in database.execute(f"pragma table_info('{name}')")],
                "rows": database.execute(f"select count(*) from '{name}'").fetchone()[0],
            }
            for (name,) in names
        }


def _first_table(markdown: str) -> Any:
    """Return the figures of the first table of a page, row by row."""
    rows = re.search(r"(?:^\|.*\n)+", markdown, re.MULTILINE)
    lines = rows[0].splitlines() if rows else []
    return [re.sub(r"\s*\|\s*", " | ", line).strip() for line in lines]
