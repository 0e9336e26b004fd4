"""Files that try to use unbounded time or memory are refused quickly, with a clear message."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard
from harness.files import write
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import FormatError, InputError, UsageError
from trectools_plus.formats.collection import iter_corpus, load_corpus
from trectools_plus.formats.columns.columns import scan_columns
from trectools_plus.formats.files import content as content_module
from trectools_plus.formats.files import limits
from trectools_plus.formats.files.content import iter_lines, read_file
from trectools_plus.formats.files.limits import find_overlong
from trectools_plus.formats.files.opening import Compression
from trectools_plus.formats.topics import read_topics
from trectools_plus.validation.findings import FindingsError
from trectools_plus.validation.loading import load_qrels, load_run

ROW = b"1 Q0 d1 1 9.5 base\n"
READERS: list[Callable[[Path], object]] = [load_run, load_qrels, read_topics, load_corpus]
REFUSED = (FormatError, FindingsError)
PACK: dict[Compression, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


@pytest.fixture
def short_lines(monkeypatch: pytest.MonkeyPatch) -> int:
    """Lines of more than 1,000 bytes are too long."""
    monkeypatch.setattr(limits, "MAX_LINE_BYTES", 1000)
    return 1000


def _line(error: FormatError | FindingsError) -> int | None:
    return error.findings[0].line if isinstance(error, FindingsError) else error.line


@given(
    lengths=st.lists(st.integers(0, 40), max_size=30),
    final_newline=st.booleans(),
    longest=st.integers(1, 20),
)
def test_the_first_overlong_line_is_found(
    lengths: list[int], final_newline: bool, longest: int
) -> None:
    lines = [b"x" * length for length in lengths]
    data = b"\n".join(lines) + (b"\n" if final_newline else b"")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "MAX_LINE_BYTES", longest)
        found = find_overlong(data)
    long = next((n for n, line in enumerate(lines) if len(line) > longest), None)
    assert found == (None if long is None else sum(lengths[:long]) + long)


@pytest.mark.parametrize("pack", [bytes, *PACK.values()])
def test_reading_stops_at_a_line_that_is_too_long(
    tmp_path: Path, short_lines: int, pack: Callable[[bytes], bytes]
) -> None:
    whole = ROW * 3 + b"#" + b"x" * (short_lines - 1) + b"\n"
    rest = b"y" * (short_lines + 1) + b"\n" + ROW
    path = write(tmp_path / "file", pack(whole + rest))
    source = read_file(path, partial=True)
    assert source.data == whole
    assert (source.overlong.line, source.overlong.head) == (5, rest)
    columns = scan_columns(source, 6)
    assert columns.n_rows == 3
    assert (columns.stopped_at, columns.longest_line_at, columns.longest_line) == (5, 5, 1001)
    assert columns.long_lines.tolist() == [5]
    for read in (read_file, load_run):
        with pytest.raises(REFUSED) as caught:
            read(path)
        assert _line(caught.value) == 5
    assert read_file(write(tmp_path / "file", pack(whole))).overlong is None


@pytest.mark.usefixtures("short_lines")
@pytest.mark.parametrize("read", READERS)
def test_every_reader_refuses_an_overlong_line(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    with pytest.raises(REFUSED) as caught:
        read(write(tmp_path / "file", b"{" * 5000))
    assert _line(caught.value) == 1


@pytest.mark.parametrize("rest", [b"", b"\n", b"\n" + ROW])
@pytest.mark.parametrize("chunk_bytes", [7, 300, 999])
def test_iterating_over_lines_stops_at_one_that_is_too_long(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    short_lines: int,
    chunk_bytes: int,
    rest: bytes,
) -> None:
    monkeypatch.setattr(content_module, "CHUNK_BYTES", chunk_bytes)
    monkeypatch.setattr(content_module, "HEAD_BYTES", 6)
    above = [*ROW.split(b"\n")[:1] * 3, b"x" * short_lines]
    lines = iter_lines(
        write(tmp_path / "file", b"\n".join([*above, b"y" * (short_lines + 1)]) + rest)
    )
    assert [next(lines) for _ in above] == above
    with pytest.raises(FormatError, match="1,000") as caught:
        next(lines)
    assert caught.value.line == 5


@pytest.mark.parametrize("name", PACK)
def test_a_bomb_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: Compression
) -> None:
    monkeypatch.setattr(limits, "EXPANSION_FREE_BYTES", 1 << 20)
    path = write(tmp_path / "file", PACK[name](ROW * 150_000))
    for read in (read_file, lambda path: sum(1 for _ in iter_lines(path))):
        with pytest.raises(FormatError, match=f"{name} stream .*200 times"):
            read(path)


@pytest.mark.parametrize("name", PACK)
def test_doubly_compressed_files_are_refused(tmp_path: Path, name: Compression) -> None:
    path = write(tmp_path / "file", PACK[name](PACK[name](ROW * 1000)))
    with pytest.raises(REFUSED):
        load_run(path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
@pytest.mark.parametrize("read", READERS)
def test_wide_encodings_are_refused(
    tmp_path: Path, read: Callable[[Path], object], encoding: str
) -> None:
    with pytest.raises(REFUSED):
        read(write(tmp_path / "file", (ROW.decode() * 100).encode(encoding)))


@pytest.mark.parametrize("read", READERS)
def test_surrogates_and_floods_of_nul_are_refused(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    for data in (ROW.replace(b"d1", "\ud800".encode("utf-8", "surrogatepass")), bytes(1 << 20)):
        with pytest.raises(REFUSED):
            read(write(tmp_path / "file", data))


@pytest.mark.parametrize("pack", [bytes, *PACK.values()])
def test_more_content_than_the_limit_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]
) -> None:
    path = write(tmp_path / "file", pack(os.urandom(1 << 17).hex().encode() + b"\n"))
    monkeypatch.setattr(content_module, "CHUNK_BYTES", 1 << 16)
    monkeypatch.setenv(limits.LIMIT_VARIABLE, "0.0001")
    with pytest.raises(InputError, match="GiB") as caught:
        read_file(path)
    assert limits.LIMIT_VARIABLE in str(caught.value)
    monkeypatch.setenv(limits.LIMIT_VARIABLE, "1")
    assert len(read_file(path).data) == (1 << 18) + 1


def test_the_limit_is_a_number_of_gibibytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(limits.LIMIT_VARIABLE, raising=False)
    assert limits.max_content_bytes() >= 256 << 20
    monkeypatch.setenv(limits.LIMIT_VARIABLE, "1.5")
    assert limits.max_content_bytes() == 3 << 29
    for wrong in ("much", "0", "-1", "inf", "nan"):
        monkeypatch.setenv(limits.LIMIT_VARIABLE, wrong)
        with pytest.raises(UsageError, match="GiB"):
            limits.max_content_bytes()


DEEP = 200_000


def repeated_key(n_keys: int) -> str:
    keys = ",".join(f'"k{n}":1' for n in range(n_keys))
    return f'{{{keys},"k{n_keys - 1}":1}}'


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ('{"id":"1","text":' + "[" * DEEP, "nested more than 64 deep"),
        ('{"id":' + "9" * DEEP + ',"text":"a"}', "cannot be converted"),
        (repeated_key(DEEP // 10), "is repeated"),
        pytest.param(repeated_key(DEEP), "is repeated", marks=pytest.mark.slow("many keys")),
        pytest.param(
            "<top>\n" * DEEP, "the id is missing", marks=pytest.mark.slow("like the next one")
        ),
        ("<top>\n<num> 1 <title> a\n</top>\n" + "<top>\n" * (DEEP // 4), "the id is missing"),
        ("<topic number='1'>" + "<a>x" * DEEP, "is not closed"),
        ("<topic number='1'>" * (DEEP // 4), "is not closed"),
        ("x" * DEEP, "expected id TAB text"),
        ("\n" * DEEP, "no topics"),
        (f"{'q' * DEEP}\ta\n{'q' * DEEP}\tb\n", "on line 1"),
        (f"{'q' * DEEP} \u00a0\ta\n", "white space"),
        ("".join(f'{{"id":"{n}","text":"a","f{n}":"b"}}\n' for n in range(2000)), "1,000 diff"),
    ],
)
def test_topics_of_any_depth_and_number_end_in_a_short_message(
    tmp_path: Path, content: str, what: str
) -> None:
    with pytest.raises(FormatError, match=what) as caught:
        read_topics(write(tmp_path / "file", content.encode()))
    assert len(str(caught.value)) < 1000


def test_giant_ids_are_cut_in_messages(tmp_path: Path) -> None:
    giant = "d" * DEEP
    cases: list[tuple[Callable[[Path], object], str]] = [
        (load_run, f"1 Q0 d 1 {giant} t\n"),
        (load_qrels, f"1 0 d {giant}\n"),
        (load_qrels, f"1 0 d {'9' * DEEP}\n"),
        (load_corpus, f'{{"id":"{giant} ","text":"a"}}\n'),
        (load_corpus, f'{{"id":"{giant}","text":"a"}}\n' * 2),
        (load_corpus, f'{{"{giant}":1}}\n'),
    ]
    for read, content in cases:
        with pytest.raises(REFUSED) as caught:
            read(write(tmp_path / "file", content.encode()))
        assert len(str(caught.value)) < 1000


def test_a_corpus_is_read_line_by_line(tmp_path: Path) -> None:
    lines = b"".join(b'{"id":"%d","text":"a"}\n' % n for n in range(1000))
    with pytest.raises(FormatError):
        _count(iter_corpus(write(tmp_path / "file", lines + b"{" * (20 << 20))))
    assert _count(iter_corpus(write(tmp_path / "file", lines))) == 1000


def _count(items: Iterator[object]) -> int:
    return sum(1 for _ in items)
