"""The wheel and the sdist of this checkout, built without the network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with both; skip without ``REQUIRE_PACKAGING=1``."""
    if os.environ.get("REQUIRE_PACKAGING") != "1":
        pytest.skip("builds the package and installs it: set REQUIRE_PACKAGING=1")
    folder = tmp_path_factory.mktemp("dist")
    for target in ("wheel", "sdist"):
        build(ROOT, folder, target)
    return folder


@pytest.fixture(scope="session")
def wheel(dist: Path) -> Path:
    """Return the wheel."""
    (found,) = dist.glob("*.whl")
    return found


def build(source: Path, output: Path, target: str) -> None:
    """Build a source folder with the backend that ``pyproject.toml`` names."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(output)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
