"""The next run removes what a killed process left, and nothing of a living one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from trectools_plus.formats.files.abandoned import temporary_folder

pytestmark = pytest.mark.skipif(os.name != "posix", reason="no locks")

WRITE = """
import os, signal, sys
from trectools_plus.formats.files.atomic import atomic_write
with atomic_write(sys.argv[1]) as stream:
    stream.write("x")
    stream.flush()
    if len(sys.argv) > 2:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def make_old(folder: Path) -> None:
    for path in folder.iterdir():
        os.utime(path, (0, 0))


def test_temporary_files_of_killed_processes_are_removed(tmp_path: Path) -> None:
    target = tmp_path / "s.csv"
    user = tmp_path / ".tmp-mine"
    user.write_text("user")
    killed = subprocess.run([sys.executable, "-c", WRITE, target, "kill"], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 2
    make_old(tmp_path)
    subprocess.run([sys.executable, "-c", WRITE, target], check=True)
    assert {path.name for path in tmp_path.iterdir()} == {"s.csv", ".tmp-mine"}


def test_temporary_folders_of_living_processes_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    other = tmp_path / "trectools-plus-work-abandoned"
    other.mkdir()
    (other / "file").write_text("")
    with temporary_folder() as first:
        make_old(tmp_path)
        with temporary_folder() as second:
            assert {*tmp_path.iterdir()} == {first, second}
    assert list(tmp_path.iterdir()) == []
