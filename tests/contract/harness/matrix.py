"""The commands that read runs and judgments, on every shape of file, in combinations of settings.

A command runs on each shape once, with settings that are drawn from a fixed seed. So it meets every
pair of values of two settings, on some shapes.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.normal import normalise
from harness.program import Call, Done, Program
from harness.shapes import (
    LONG,
    SEED,
    Data,
    Shape,
    long_run_shapes,
    make_data,
    match,
    qrels_shapes,
    run_shapes,
)

MEASURES = (
    "nDCG,nDCG@3,nDCG@10,nDCG(dcg='exp-log2')@10,AP,AP@5,AP(rel=2),RR,RR@3,RR(rel=2)@10,P@3,P@20,"
    "R@5,R(rel=2)@100,Rprec,Bpref,infAP,Success@1,HitRate@5,APcap@10,ERR@10,RBP@10,Judged@10,SetP,"
    "SetR,SetF,SetAP,IPrec@0.1,MeanRank,MinRank,RelRet@3"
)
"""Measures of every provider."""

CUTOFFS = "nDCG@3,nDCG@10,P@3,P@10,R@5,P(rel=2)@5,AP@5,Success@1"
"""Measures of trec_eval that need only the first results."""


SMALL, LARGE = "small", "large"
"""Sizes: rows for one chunk, and rows with long ids for several chunks and processes."""
MATCHED, MANY = "matched", "many"
"""Rows for one chunk, and for several ones, in which each query of the run has a relevant document
and no other query is judged. Such files have no findings, so the fastest code reads them: small
files plain Python, others NumPy alone, in several processes. It is used with measures of trec_eval
alone, without measures of texts, and without ``--all``."""


@dataclass(frozen=True)
class Command:
    """A command of the matrix.

    Args:
        name: Its name, and that of its frozen document.
        settings: The settings that it has, each with two values.
        files: The files that have the shapes: ``runs`` or ``qrels``.
        rows: The rows that have the shapes.
        always: Further settings that it always has.
    """

    name: str
    settings: tuple[str, ...]
    files: str = "runs"
    rows: str = SMALL
    always: tuple[str, ...] = ()


COMMANDS = (
    Command("eval", ("large", "stdin", "two_runs", "lean", "one_processor")),
    Command("eval-qrels", ("lean",), "qrels"),
    Command("trec-eval", ("version_10", "stdin", "lean")),
    Command("trec-eval-qrels", ("version_10", "lean"), "qrels"),
    Command("runs-validate", ("large", "stdin", "qrels", "lean", "one_processor")),
    Command("qrels-validate", ("stdin", "lean"), "qrels"),
    Command("runs-info", ("stdin",)),
    Command("compare", ()),
    Command("eval-matched", ("lean",), rows=MATCHED),
    Command("eval-matched-qrels", ("lean",), "qrels", MATCHED),
    Command("trec-eval-matched", ("version_10", "lean"), rows=MATCHED),
    Command("trec-eval-matched-qrels", ("version_10", "lean"), "qrels", MATCHED),
    Command("runs-validate-matched", ("lean",), rows=MATCHED, always=("qrels",)),
    Command("runs-info-matched", (), rows=MATCHED),
    Command("eval-many", (), rows=MANY, always=("lean",)),
    Command("runs-validate-many", (), rows=MANY, always=("lean",)),
)

SHARES = {"large": 0.15, "lean": 0.15}
"""Shares of the shapes with a setting that takes time; other settings have one half."""

Settings = Mapping[str, bool]

_SUFFIXES = re.compile("(-matched|-many)?(-qrels)?$")
_CODES = re.compile(r"\b[FRQP][0-9]{3}\b")


def settings_of(command: Command, shapes: Sequence[Shape]) -> Iterator[tuple[Shape, Settings]]:
    """Return each shape with its settings."""
    generator = random.Random(f"{SEED} {command.name}")
    for shape in shapes:
        drawn = {name: generator.random() < SHARES.get(name, 0.5) for name in command.settings}
        drawn |= dict.fromkeys(command.always, True)
        yield shape, drawn


class Files:
    """The shapes of all sizes, written into a folder when they are needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._data = {SMALL: make_data(), LARGE: make_data(150, 96, LONG)}
        self._data[MATCHED] = match(make_data())
        self._shapes: dict[tuple[str, str], dict[str, Shape]] = {}

    def shapes(self, kind: str, size: str = SMALL) -> dict[str, Shape]:
        """Return the shapes of runs or qrels by name."""
        if (kind, size) not in self._shapes:
            make: Callable[[Data], list[Shape]] = run_shapes if kind == "runs" else qrels_shapes
            if size == MANY:
                self._data.setdefault(MANY, match(make_data(160, 660), "/part-of-a-collection" * 2))
                make = long_run_shapes if kind == "runs" else qrels_shapes
            self._shapes[kind, size] = {one.name: one for one in make(self._data[size])}
        return self._shapes[kind, size]

    def write(self, kind: str, name: str, size: str = SMALL) -> str:
        """Write a file, and return its path relative to the folder."""
        shape = self.shapes(kind, size)[name]
        path = self.folder / kind / size / shape.file
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_bytes(shape.data)
        return f"{kind}/{size}/{shape.file}"


def words_of(command: Command, shape: Shape, settings: Settings, files: Files) -> tuple[str, str]:
    """Return a command line, and the file that is its standard input; empty without one."""
    size = LARGE if settings.get("large") else command.rows
    shaped = files.write(command.files, shape.name, size)
    stdin = shaped if settings.get("stdin") else ""
    given = "-" if stdin else shaped
    measures = MEASURES if command.rows == SMALL else CUTOFFS
    of_trec_eval = "all_trec" if command.rows == SMALL else "official -m ndcg_cut -m gm_map"
    run, qrels = given, files.write("qrels", "clean", size)
    if command.files == "qrels":
        run, qrels = files.write("runs", "clean", size), given
    other = "" if size == MANY else files.write("runs", "unsorted-in-query", size)
    version = 10 if settings.get("version_10") else 9
    words = {
        "eval": f'trectools-plus eval {qrels} {run} -m "{measures}" --per-query --format json',
        "trec-eval": f"trectools-plus trec-eval --trec-eval-version {version} -q "
        f"-m {of_trec_eval} {qrels} {run}",
        "runs-validate": f"runs validate {run} --format json" + " --all" * (command.rows == SMALL),
        "qrels-validate": f"trectools-plus qrels validate {qrels} --format json --all",
        "runs-info": f"runs info {run} --format json",
        "compare": f"trectools-plus compare shaped={run} other={other} --qrels {qrels} "
        "-m nDCG@10,AP,RR@10 --resamples 200 --format json",
    }[_SUFFIXES.sub("", command.name)]
    if settings.get("two_runs"):
        words = words.replace(f" {run} -m", f" {run} {other} -m", 1)
    if settings.get("qrels"):
        words += f" --qrels {qrels}"
    return words, stdin


def describe(command: Command, done: Done) -> Any:
    """Return the figures, codes, lines and counts of an output, without paths and messages."""
    if "Traceback" in done.stderr:
        raise AssertionError(done.stderr)
    text = done.stdout.decode("utf-8", "replace")
    described: dict[str, Any] = {"exit": done.code}
    if command.rows != SMALL and command.name.startswith(("eval", "trec-eval")):
        notes = json.loads(text)["notes"] if text.startswith("{") else []
        described["codes"] = " ".join(sorted({*_CODES.findall(" ".join([done.stderr, *notes]))}))
    if command.name.startswith("trec-eval"):
        return described | _columns(text)
    if not text.startswith("{"):
        return described
    document = json.loads(text)
    if command.name == "compare":
        return described | {"output": _compared(document)}
    if "files" in document:
        return described | {"output": [_findings(one) for one in document["files"]]}
    if command.name.startswith("eval"):
        document.pop("definitions")
        for run in document["runs"]:
            run["measures"] = {k: _figures(v) for k, v in run["measures"].items()}
    return described | {"output": normalise(_without_paths(document))}


def _figures(measure: Mapping[str, Any]) -> list[Any]:
    """Return the mean and number of queries, and each query's value or a checksum of many."""
    values = [*measure["per_query"].values()]
    if len(values) > 50:
        values = [sum((1 + n % 97) * (value or 0) for n, value in enumerate(values))]
    return [
        measure["mean"],
        measure["n"],
        *(v if v is None else float(f"{v:.12g}") for v in values),
    ]


def _columns(text: str) -> dict[str, Any]:
    """Return a line per measure: its values for each query, and over all."""
    lines: dict[str, list[str]] = {}
    queries: dict[str, None] = {}
    for line in text.splitlines():
        name, query, value = line.split("\t")
        queries[query] = None
        lines.setdefault(name.strip(), []).append(value)
    return {"queries": " ".join(queries), "measures": {k: " ".join(v) for k, v in lines.items()}}


def _findings(file: Mapping[str, Any]) -> dict[str, Any]:
    """Return a finding per line: code, severity, place and count."""
    return {
        "rows": file["rows"],
        "queries": file["queries"],
        "findings": [
            " ".join(
                f"{one.get(key)}"
                for key in ("code", "severity", "line", "count", "query_id", "fix")
            )
            for one in file["findings"]
        ],
    }


def _compared(document: Mapping[str, Any]) -> Any:
    """Return the difference of each measure."""
    keys = ("baseline", "contrast", "measure", "n", "difference", "wins", "ties", "losses")
    return normalise([{key: one.get(key) for key in keys} for one in document["comparisons"]])


def _without_paths(value: Any) -> Any:
    """Leave out paths and hashes of files, so that equal results are equal."""
    if isinstance(value, dict):
        return {
            k: _without_paths(v) for k, v in value.items() if k not in {"path", "sha256", "name"}
        }
    return [_without_paths(one) for one in value] if isinstance(value, list) else value


def observe_matrix(
    command: Command, program: Program, lean: Program, files: Files
) -> dict[str, Any]:
    """Run a command on every shape, and describe the results.

    Args:
        command: The command.
        program: The commands in a process that has loaded Polars.
        lean: The commands in a process that has not.
        files: The shapes.

    Returns:
        For each shape and its settings the description, or the name of an earlier entry that is
        equal.
    """
    rows = [*settings_of(command, [*files.shapes(command.files, command.rows).values()])]
    calls: dict[bool, list[Call]] = {True: [], False: []}
    for shape, settings in rows:
        words, stdin = words_of(command, shape, settings, files)
        standard_input = files.folder / stdin if stdin else Path(os.devnull)
        processors = 1 if settings.get("one_processor") else None
        calls[bool(settings.get("lean"))].append(
            Call(words, files.folder, standard_input, processors)
        )
    with ThreadPoolExecutor(1) as pool:
        others = pool.submit(program.run_all, calls[False])
        # Each of these has a process of its own, because most commands load Polars.
        alone = [lean.run_all([call])[0] for call in calls[True]]
    done = {True: iter(alone), False: iter(others.result())}
    found: dict[str, Any] = {}
    first: dict[str, str] = {}
    for shape, settings in rows:
        described = describe(command, next(done[bool(settings.get("lean"))]))
        entry = " ".join([shape.name, *(f"+{name}" for name, value in settings.items() if value)])
        key = json.dumps(described, sort_keys=True)
        found[entry] = f"as {first[key]}" if key in first else described
        first.setdefault(key, entry)
    return found
