"""A file is complete or unchanged after errors, full disks and kills."""

from __future__ import annotations

import errno
import io
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from harness.files import write

from trectools_plus.errors import InputError
from trectools_plus.formats.files.atomic import atomic_write
from trectools_plus.formats.tables import Run
from trectools_plus.formats.writing import write_parquet, write_run


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return write(tmp_path / "a.txt", "old\n")


def only(path: Path) -> bool:
    return list(path.parent.iterdir()) == [path]


def test_text_is_utf8_with_lf(target: Path) -> None:
    with atomic_write(target) as stream:
        stream.write("é\n")
        assert target.read_text() == "old\n"
    assert target.read_bytes() == b"\xc3\xa9\n"
    assert only(target)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file(target: Path, error: type[BaseException]) -> None:
    def fail() -> None:
        with atomic_write(target) as stream:
            stream.write("half")
            raise error

    with pytest.raises(error):
        fail()
    assert target.read_text() == "old\n"
    assert only(target)


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_the_old_file(
    target: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if call == "write":
        monkeypatch.setattr("polars.DataFrame.write_csv", full)
    elif call == "fsync":
        monkeypatch.setattr("os.fsync", full)
    else:
        monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(InputError):
        write_run(Run.from_dict({"q": {"d": 1.0}}), target)
    assert target.read_text() == "old\n"
    assert only(target)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_device_is_one_clear_error() -> None:
    with pytest.raises(InputError):
        write_run(Run.from_dict({"q": {"d": 1.0}}), "/dev/full")
    with pytest.raises(InputError):
        write_parquet(pl.DataFrame({"a": [1]}), "/dev/full")


KILLED = """
import sys
from trectools_plus.formats.files.atomic import atomic_write
with atomic_write(sys.argv[1], "wb") as stream:
    stream.write(b"new" * 100_000)
    stream.flush()
    print("half", flush=True)
    sys.stdin.read()
"""


def test_a_kill_leaves_the_old_file(target: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, target], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"half\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert target.read_text() == "old\n"


def test_permissions_are_those_of_any_file(target: Path, tmp_path: Path) -> None:
    plain, new = tmp_path / "plain", tmp_path / "new"
    old_umask = os.umask(0o027)
    try:
        plain.write_text("")
        with atomic_write(new) as stream:
            stream.write("")
    finally:
        os.umask(old_umask)
    assert new.stat().st_mode == plain.stat().st_mode
    target.chmod(0o604)
    with atomic_write(target) as stream:
        stream.write("new")
    assert stat.S_IMODE(target.stat().st_mode) == 0o604


def test_a_symbolic_link_stays_one(target: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(target)
    with atomic_write(link) as stream:
        stream.write("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError), atomic_write(tmp_path / "no" / "a"):
        pass
    with pytest.raises(InputError), atomic_write(tmp_path):
        pass
    for name in ("x" * 256, "a\0b"):
        with pytest.raises(InputError), atomic_write(tmp_path / name):
            pass
    assert not list(tmp_path.iterdir())


def test_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.BytesIO()
    monkeypatch.setattr("sys.stdout", SimpleNamespace(buffer=out, flush=lambda: None))
    write_run(Run.from_dict({"q": {"d": 1.0}}), "-")
    assert out.getvalue() == b"q Q0 d 1 1.0 run\n"
