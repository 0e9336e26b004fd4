"""Commands in environments without certain packages."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

GARDEN = Path(__file__).parents[2] / "fixtures" / "garden-beir"

# Modules and packages whose names are given as the first argument seem not to be installed.
PROGRAM = """
import importlib.metadata, sys
modules, packages = (words.split() for words in sys.argv[1:3])
sys.modules.update(dict.fromkeys(modules))
find = importlib.metadata.Distribution.from_name.__func__
def from_name(cls, name):
    if name.lower() in packages:
        raise importlib.metadata.PackageNotFoundError(name)
    return find(cls, name)
importlib.metadata.Distribution.from_name = classmethod(from_name)
del sys.argv[1:3]
from trectools_plus.cli.app import main
main()
"""

Without = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def without(tmp_path: Path) -> Without:
    """Run a command, in a folder with runs and judgments, without a module and its package."""
    shutil.copytree(GARDEN, tmp_path / "garden")
    for name in "ab":
        lines = "".join(f"{query} Q0 {name} 1 2.0 t\n" for query in (1, 2))
        (tmp_path / f"{name}.run").write_text(lines)
    (tmp_path / "q.txt").write_text("1 0 a 1\n2 0 b 1\n")

    def run(module: str, package: str, words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, module, package, *words.split()],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    return run
