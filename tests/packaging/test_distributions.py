"""The wheel contains everything that users need, and the sdist every file of the repository."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import trectools_plus
from trectools_plus.cli.commands.packaged import FILES

pytestmark = pytest.mark.slow("builds the wheel")

ROOT = Path(__file__).resolve().parents[2]
METADATA = f"trectools_plus-{trectools_plus.__version__}.dist-info/METADATA"


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_has_the_package_and_the_files_for_users(wheel: Path) -> None:
    package = ROOT / "trectools_plus"
    expected = {
        path.relative_to(ROOT).as_posix()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in expected if name.endswith(".run")}
    assert {name for name in expected if "testsets/data/" in name}
    copied = {f"trectools_plus/files/{name}" for name in FILES if not name.startswith("sample/")}
    found = {name for name in contents(wheel) if ".dist-info/" not in name}
    assert found == expected | copied
