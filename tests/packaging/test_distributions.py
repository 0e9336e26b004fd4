"""The wheel contains everything that users need."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from trectools_plus.cli.commands.sets import FILES

pytestmark = pytest.mark.slow("builds the wheel")

ROOT = Path(__file__).resolve().parents[2]


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
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert found == expected | copied
