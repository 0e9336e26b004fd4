"""The wheel contains everything that users need, and the sdist every file of the repository."""

from __future__ import annotations

import re
import subprocess
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

import trectools_plus
from trectools_plus.cli.commands.packaged import FILES

pytestmark = pytest.mark.slow("builds the wheel")

ROOT = Path(__file__).resolve().parents[2]
METADATA = f"trectools_plus-{trectools_plus.__version__}.dist-info/METADATA"


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        return message_from_bytes(archive.read(METADATA))


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


def test_the_wheel_names_no_index_and_links_to_no_files(metadata: Message) -> None:
    text = str(metadata.get_payload())
    assert text.startswith("# trectools-plus\n")
    targets = re.findall(r"\]\(([^)]*)\)|(?:src|href)=\"([^\"]*)\"", text)
    assert [one for pair in targets for one in pair if one and "://" not in one] == []
    assert metadata.get_all("Project-URL") is None, "the project has no public address yet"
    assert "pypi" not in text.lower()


def test_the_sdist_has_every_file_of_the_repository(unpacked: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode != 0:
        pytest.skip("not a git repository")
    tracked = {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}
    files = {path for path in unpacked.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    names = {path.relative_to(unpacked).as_posix() for path in files}
    assert {name for name in names if not name.startswith("dist/")} == tracked | {"PKG-INFO"}
    assert all((unpacked / name).read_bytes() == (ROOT / name).read_bytes() for name in tracked)
