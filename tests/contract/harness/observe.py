"""Run a case and describe its results: exit codes, documents on stdout, written files."""

from __future__ import annotations

import hashlib
import io
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
import yaml

from harness.cases import Case
from harness.normal import digest, normalise, short_string
from harness.program import Done

ROOT = Path(__file__).resolve().parents[3]
INPUTS = Path(__file__).resolve().parents[1] / "inputs"
_ROW = re.compile(r"\S+\s*\t.*|\S+ Q0 \S+ \S+ \S+ \S+|\S+ \d+ \S+ -?\d+|[^\s,;]+(?:[,;][^\s,;]*)+")
"""A row of a run, of judgments, of trec_eval's output, or of CSV."""
_BORDER = re.compile(r" {2,}|\s*[|&\t]\s*")
_MOST_WORDS = 4
"""A cell of a table with more words is a text."""
_FIGURE = re.compile(r"(?<![\w.])[-+−]?\d+\.\d{3,}")
"""A figure in a table; times have fewer decimals."""
ROWS = (".run", ".txt", ".tsv", ".csv", ".fixed", ".prom")
TABLES = (".md", ".tex")
PASSING = (".pyc", ".db-shm", ".db-wal")
"""Files that come and go."""
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
    steps: dict[str, dict[str, Any]] = {}
    for command in case.commands:
        done = run(command, folder)
        if "Traceback" in done.stderr:
            raise AssertionError(f"{command}: {done.stderr}")
        errors = sum(line.startswith("error: ") for line in done.stderr.splitlines())
        again = sum(earlier.partition(" #")[0] == command for earlier in steps)
        step = {"exit": done.code, "stdout": clean.output(done.stdout)}
        name = f"{command} #{again + 1}" if again else command
        steps[name] = {**step, "errors": errors} if errors else step
    files = {
        short_string(str(path.relative_to(folder))): clean.file(path)
        for path in _files(folder)
        if before.get(path) != path.read_bytes()
    }
    for step in steps.values():
        for name, value in [*known.items(), *files.items()]:
            if step["stdout"] == value and isinstance(value, dict):
                step["stdout"] = f"as {name}"
    return {"commands": steps, "files": files}


def _files(folder: Path) -> list[Path]:
    """Return the files of a case, without linked files."""
    found = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(path for path in found if path.suffix not in PASSING)


class _Cleaner:
    """Converts the output of a case to values that are the same on every machine."""

    def __init__(self, case: Case, places: Mapping[Path, str]) -> None:
        self._case = case
        self._places = places
        self._readers: Mapping[str, Callable[[bytes], Any]] = {
            ".json": lambda content: self._document(content.decode()),
            ".jsonl": self._json_lines,
            ".journal": self._json_lines,
            ".parquet": self._parquet,
            ".yaml": self._yaml,
            ".yml": self._yaml,
        }

    def _normalise(self, value: Any) -> Any:
        return normalise(value, private=self._case.private, loose=self._case.fresh)

    def _document(self, text: str) -> Any:
        for path, name in self._places.items():
            text = text.replace(str(path), name)
        return self._normalise(json.loads(text))

    def output(self, stdout: bytes) -> Any:
        """Describe the output of a command: a document, rows and figures, or whether it printed."""
        text = stdout.decode("utf-8", "replace")
        if text.startswith(("{", "[")):
            return self._document(text)
        return bool(text.strip()) if self._case.fresh else _figures(text)

    def file(self, path: Path) -> Any:
        """Describe the content of a file, as far as it is part of the contract."""
        content = path.read_bytes()
        if path.parent.name == "reports" and path.suffix == ".json":
            return list(json.loads(content)["modes"])  # parts of the report, as verify checks
        if path.name == "SHA256SUMS":
            return [line.split("  ", 1)[1] for line in content.decode().splitlines()]
        if path.suffix == ".run" and self._case.fresh:
            return _run(content.decode())
        if path.suffix == ".db":
            return _database(path)
        if path.suffix in ROWS:
            return _lines_or_hash(content)
        if path.suffix in TABLES and not self._case.fresh:
            return _figures(content.decode())
        read = self._readers.get(path.suffix)
        return bool(content) if read is None else read(content)

    def _json_lines(self, content: bytes) -> Any:
        return [self._document(line) for line in content.decode().splitlines()]

    def _yaml(self, content: bytes) -> Any:
        return self._normalise(json.loads(json.dumps(yaml.safe_load(content), default=str)))

    def _parquet(self, content: bytes) -> Any:
        return self._normalise(_table(pl.read_parquet(io.BytesIO(content)), self._case.fresh))


def _figures(text: str) -> Any:
    """Return the rows of data in a text; without any, the figures that its tables have."""
    rows = [line for line in text.splitlines() if _ROW.fullmatch(line)]
    if rows:
        return _rows_or_hash(rows)
    cells = [_BORDER.split(line.strip().strip("|")) for line in text.splitlines()]
    found = (
        figure
        for row in cells
        if len(row) > 1
        for cell in row
        if len(cell.split()) <= _MOST_WORDS
        for figure in _FIGURE.findall(cell.replace("−", "-"))
    )
    return dict.fromkeys(found, 1) or bool(text.strip())


def _lines_or_hash(content: bytes) -> Any:
    """Return the lines of a short text; of a long one, the number of lines and the hash."""
    text = content.decode("utf-8", "backslashreplace")
    return _rows_or_hash([line for line in text.split("\n") if not line.startswith("# HELP")])


def _rows_or_hash(rows: list[str]) -> Any:
    if len(rows) <= SHOWN_ROWS and not any("\r" in row for row in rows):
        return rows
    return {"lines": len(rows), "sha256": digest(rows)}


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
