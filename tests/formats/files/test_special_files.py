"""Files that are not regular, or change while they are read: bounded reading, or an error."""

from __future__ import annotations

import io
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from harness.files import write

from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.collection import load_corpus
from trectools_plus.formats.files import content as source_module
from trectools_plus.formats.files import limits
from trectools_plus.formats.files.content import read_file
from trectools_plus.formats.topics import read_topics
from trectools_plus.validation import validate_qrels, validate_run, validate_topics
from trectools_plus.validation.findings import FindingsError
from trectools_plus.validation.loading import load_qrels, load_run

ROW = b"1 Q0 d1 1 9.5 base\n"
READERS: list[Callable[[str | Path], object]] = [load_run, load_qrels, read_topics, load_corpus]
VALIDATORS: list[Callable[[str | Path], object]] = [validate_run, validate_qrels, validate_topics]
needs_unix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")


def test_reading_endless_input_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            return ROW * 1000

    monkeypatch.setenv(limits.LIMIT_VARIABLE, "0.01")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=Endless()))
    with pytest.raises(InputError, match=r"0\.0.*GiB"):
        read_file("-")


CLOSED = io.BytesIO(ROW)
CLOSED.close()


@needs_unix
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full"])
@pytest.mark.parametrize("read", READERS)
def test_a_device_without_end_is_one_long_line(
    read: Callable[[str | Path], object], device: str
) -> None:
    with pytest.raises((FormatError, FindingsError)):
        read(device)


@needs_unix
@pytest.mark.parametrize("read", [*READERS, *VALIDATORS])
def test_sockets_and_folders_are_no_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[str | Path], object]
) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        with pytest.raises(InputError):
            read("socket")
    with pytest.raises(InputError):
        read(tmp_path)
    with pytest.raises(InputError):
        read("\udcff gone")


@needs_unix
def test_a_named_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=[ROW * 100_000])
    writer.start()
    try:
        assert read_file(path).data == ROW * 100_000
    finally:
        writer.join()


@pytest.mark.parametrize("read", [*READERS, *VALIDATORS])
@pytest.mark.parametrize("stdin", [None, io.StringIO("1"), SimpleNamespace(buffer=CLOSED)])
def test_missing_standard_input_is_refused(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[str | Path], object], stdin: object
) -> None:
    monkeypatch.setattr("sys.stdin", stdin)
    with pytest.raises(InputError):
        read("-")


@pytest.mark.parametrize("left", [0, 5, len(ROW) * 60_000])
def test_a_file_that_shrinks_while_it_is_read_gives_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: int
) -> None:
    path = write(tmp_path / "file", ROW * 100_000)

    def shrink(_: bytes) -> None:
        os.truncate(path, left)

    monkeypatch.setattr(source_module, "detect", shrink)  # called with the first chunk
    assert read_file(path).data == (ROW * 100_000)[: max(left, source_module.CHUNK_BYTES)]
