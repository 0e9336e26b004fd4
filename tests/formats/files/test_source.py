"""Files are read with any compression, completely or with an error."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import zstandard
from harness.files import write

from trectools_plus.errors import FormatError
from trectools_plus.formats.files import content
from trectools_plus.formats.files.content import iter_lines, read_file

DATA = b"".join(b"line %d of the file\n" % number for number in range(5000))
PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda data: zstandard.ZstdCompressor(write_checksum=True).compress(data),
}


@pytest.fixture(params=[7, 1 << 20])
def chunk_bytes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(content, "CHUNK_BYTES", request.param)
    return int(request.param)


@pytest.mark.usefixtures("chunk_bytes")
@pytest.mark.parametrize("name", PACK)
def test_decompresses_by_magic_bytes_and_any_number_of_members(tmp_path: Path, name: str) -> None:
    path = write(
        tmp_path / "misnamed.txt",
        PACK[name](DATA[:1000]) + PACK[name](b"") + PACK[name](DATA[1000:]),
    )
    source = read_file(path)
    assert (source.data, source.compression, source.path) == (DATA, name, str(path))
    assert list(iter_lines(path)) == DATA.split(b"\n")[:-1]


@pytest.mark.usefixtures("chunk_bytes")
def test_plain_bytes_are_not_changed(tmp_path: Path) -> None:
    path = write(tmp_path / "plain.gz", DATA)
    assert read_file(path).data == DATA
    assert read_file(path).compression is None
    assert list(iter_lines(path)) == DATA.split(b"\n")[:-1]


@pytest.mark.parametrize(
    ("data", "lines"),
    [(b"", []), (b"\n", [b""]), (b"a", [b"a"]), (b"a\r\n\nb", [b"a\r", b"", b"b"])],
)
def test_lines_end_in_lf_alone(tmp_path: Path, data: bytes, lines: list[bytes]) -> None:
    assert list(iter_lines(write(tmp_path / "a", data))) == lines


@pytest.mark.parametrize("name", PACK)
def test_a_cut_stream_is_an_error_wherever_it_is_cut(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a"
    packed = PACK[name](DATA)
    for length in (12, len(packed) // 2, len(packed) - 1):
        path.write_bytes(packed[:length])
        with pytest.raises(FormatError, match=f"{name} stream is damaged or ends early"):
            read_file(path)
        with pytest.raises(FormatError):
            list(iter_lines(path))


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_data_after_the_stream_is_an_error(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "a", PACK[name](DATA) + b"1 Q0 d1 1 9.5 base\n")
    with pytest.raises(FormatError, match=f"{name} stream"):
        read_file(path)


def test_text_that_starts_like_magic_bytes_is_text(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for text in (b"BZh1 Q0 d1 1 9.5 base\n", b"B", b"\x1f"):
        path.write_bytes(text)
        assert read_file(path).data == text


class Dribble(io.RawIOBase):
    """Returns three bytes at a time, like a slow pipe."""

    def __init__(self, data: bytes) -> None:
        self.data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self.data.read(3) if size >= 0 else self.data.read()


@pytest.mark.parametrize("packed", [DATA, gzip.compress(DATA, mtime=0)])
def test_reads_standard_input(monkeypatch: pytest.MonkeyPatch, packed: bytes) -> None:
    for read in (lambda: read_file("-").data, lambda: b"\n".join(iter_lines("-")) + b"\n"):
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=Dribble(packed)))
        assert read() == DATA
