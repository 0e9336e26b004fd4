#!/usr/bin/env python3
"""Make deliberate faults in the package, and count which of them the tests find.

    mutants.py list  [--group core|rest] [--count 60] [--seed 1]                 # the faults
    mutants.py check [--group core|rest] [--count 60] [--seed 1] -- COMMAND...   # test each of them

COMMAND runs in this checkout while a file has a fault, for example `scripts/test --quick`. It finds
the fault if its exit code is not 0. Results are appended to --output and not computed again. A
fault replaces one operator, constant or condition, at most one in a function; the seed draws them.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORE = ("formats", "validation", "measures", "statistics", "benchmark")
"""The folders of the group ``core``; all other files are the group ``rest``."""
OPPOSITES: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


@dataclass(frozen=True)
class Mutant:
    """A fault: the text between two positions of a file is replaced."""

    file: str
    function: str
    line: int
    start: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.function}: {self.before} → {self.after}"

    def apply(self) -> None:
        """Write the fault into the file."""
        path = ROOT / self.file
        data = path.read_bytes()
        path.write_bytes(data[: self.start] + self.after.encode() + data[self.end :])


def draw(group: str, count: int, seed: int) -> list[Mutant]:
    """Draw faults; each function is as likely as another, whatever its length."""
    generator = random.Random(seed)
    functions: dict[tuple[str, str], list[Mutant]] = {}
    package = ROOT / "trectools_plus"
    for path in sorted(package.rglob("*.py")):
        is_core = path.relative_to(package).parts[0] in CORE
        if is_core == (group == "core"):
            for mutant in mutants_of(path):
                functions.setdefault((mutant.file, mutant.function), []).append(mutant)
    keys = generator.sample(sorted(functions), min(count, len(functions)))
    return [generator.choice(functions[key]) for key in keys]


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Return all faults of a file that can be made in its functions."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef) or function.name.startswith("__"):
            continue
        for node in _nodes(function):
            changed = _change(node)
            if changed is None or not hasattr(node, "lineno"):
                continue
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
            name = str(path.relative_to(ROOT))
            before = source[start:end].decode()
            yield Mutant(name, function.name, node.lineno, start, end, before, f"({changed})")


def _nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Return the nodes of a function's body outside of annotations, messages and docstrings."""
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.FunctionDef | ast.ClassDef):
            continue
        yield node
        skipped = getattr(node, "annotation", None)
        waiting += [child for child in ast.iter_child_nodes(node) if child is not skipped]


def _change(node: ast.AST) -> str | None:
    """Return the text of a faulty version of an expression; ``None`` if it has none."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OPPOSITES:
        opposite = OPPOSITES[type(node.ops[0])]()
        return ast.unparse(ast.Compare(node.left, [opposite, *node.ops[1:]], node.comparators))  # type: ignore[list-item]
    if isinstance(node, ast.BoolOp):
        return ast.unparse(ast.BoolOp(OPPOSITES[type(node.op)](), node.values))  # type: ignore[arg-type]
    if isinstance(node, ast.BinOp) and type(node.op) in OPPOSITES and not _is_text(node):
        opposite = OPPOSITES[type(node.op)]()
        return ast.unparse(ast.BinOp(node.left, opposite, node.right))  # type: ignore[arg-type]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return ast.unparse(node.operand)
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            return str(not node.value)
        if isinstance(node.value, int):
            return str(node.value + 1)
    return None


def _is_text(node: ast.BinOp) -> bool:
    """Return whether an operator joins texts or types."""
    sides = (node.left, node.right)
    if isinstance(node.op, ast.BitOr):
        return all(isinstance(side, ast.Name) for side in sides)
    return any(
        isinstance(side, ast.JoinedStr)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in sides
    )


def check(mutants: list[Mutant], command: list[str], output: Path, seconds: float) -> None:
    """Run a command with each fault, and append the results to a file of JSON lines."""
    if subprocess.run(["git", "-C", ROOT, "diff", "--quiet", "HEAD"], check=False).returncode:
        sys.exit("error: the checkout has changes — commit them first")
    known = output.read_text(encoding="utf-8").splitlines() if output.exists() else []
    done = {(row["file"], row["start"], row["after"]) for row in map(json.loads, known)}
    for number, mutant in enumerate(mutants, 1):
        if (mutant.file, mutant.start, mutant.after) in done:
            continue
        original = (ROOT / mutant.file).read_bytes()
        try:
            mutant.apply()
            found = _fails(command, seconds)
        finally:
            (ROOT / mutant.file).write_bytes(original)
        with output.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({**asdict(mutant), "found": found}) + "\n")
        print(f"{number}/{len(mutants)} {'found' if found else 'MISSED'} {mutant}", flush=True)


def _fails(command: list[str], seconds: float) -> bool:
    """Return whether a command fails or does not end in time."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def main() -> None:
    words, _, command = " ".join(sys.argv[1:]).partition(" -- ")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["list", "check"])
    parser.add_argument("--group", choices=["core", "rest"], default="core")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=300, help="a longer run finds the fault")
    parser.add_argument("--output", type=Path, default=Path("mutants.jsonl"))
    options = parser.parse_args(words.split())
    mutants = draw(options.group, options.count, options.seed)
    if options.what == "list":
        print("\n".join(map(str, mutants)))
    else:
        check(mutants, command.split(), options.output.resolve(), options.seconds)


if __name__ == "__main__":
    main()
