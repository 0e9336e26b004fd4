"""The lexer compared with a simple splitter on all kinds of lines, and its columns."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.formats.columns import columns as columns_module
from trectools_plus.formats.columns.columns import Columns, scan_columns
from trectools_plus.formats.files.content import FileContent


def scan(data: bytes, n_fields: int = 3) -> Columns:
    return scan_columns(FileContent("a.txt", data), n_fields)


@dataclass
class Plain:
    """The content of a file, line by line: the definition that the lexer must match."""

    rows: list[tuple[int | str, ...]] = field(default_factory=list)
    misshapen: list[tuple[int, int, str]] = field(default_factory=list)
    comments: list[tuple[int, str]] = field(default_factory=list)
    blank: list[int] = field(default_factory=list)
    loose: list[int] = field(default_factory=list)
    bare_cr: int = 0
    n_crlf: int = 0
    n_lf: int = 0


def split_plainly(data: bytes, n_fields: int) -> Plain:
    found = Plain()
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for number, raw in enumerate(lines, 1):
        last = number == len(lines)
        if last and not raw:
            break
        if not last and raw.endswith(b"\r"):
            raw = raw[:-1]
            found.n_crlf += 1
        elif not last:
            found.n_lf += 1
        found.bare_cr += raw.count(b"\r")
        text = raw.decode("utf-8", "replace")
        fields = re.findall(r"[^ \t\v\f]+", text)
        if text.startswith("#"):
            found.comments.append((number, text))
        elif not fields:
            found.blank.append(number)
        elif len(fields) != n_fields:
            found.misshapen.append((number, len(fields), text))
        else:
            found.rows.append((number, *fields))
            if len(text) != sum(map(len, fields)) + n_fields - 1:
                found.loose.append(number)
    return found


def assert_same(data: bytes, n_fields: int = 3) -> None:
    columns, plain = scan(data, n_fields), split_plainly(data, n_fields)
    assert columns.rows.rows() == plain.rows
    assert columns.misshapen.rows() == plain.misshapen
    assert [(line, text) for line, _, text in columns.comments.rows()] == plain.comments
    assert columns.n_rows == len(plain.rows)
    assert columns.blank_lines.tolist() == plain.blank
    assert columns.n_loose == len(plain.loose)
    assert (columns.n_crlf, columns.n_lf) == (plain.n_crlf, plain.n_lf)
    assert len(columns.bare_cr) == plain.bare_cr
    assert len(columns.nul) == data.count(b"\0")
    for line, _, text in plain.misshapen:
        assert columns.line_text(line) == text


ODD = "\x1c\x1d\x85\xa0\u2028\u200b\u3000\ufeff\r\0\"'#,x\x01\x08\x1f"
ANY = st.characters(exclude_characters=" \t\v\f\n", exclude_categories=("Cs",))
FIELD = st.text(st.sampled_from("ab1é" + ODD) | ANY, min_size=1, max_size=4)
TIDY_FIELD = st.sampled_from(["1", "Q0", "d7", "NA", "null", "1e5", "007", '"a"', "é", "-", "''"])
BLANK = st.text(st.sampled_from(" \t\v\f"), min_size=1, max_size=3)
END = st.sampled_from(["\n", "\n", "\n", "\r\n", "\n\n", " \n", "\r\r\n"])


@st.composite
def line(draw: st.DrawFn, some_field: st.SearchStrategy[str], blank: st.SearchStrategy[str]) -> str:
    n_fields = draw(st.sampled_from([3, 3, 3, 3, 0, 1, 2, 4]))
    fields = [draw(some_field) for _ in range(n_fields)]
    start = draw(st.sampled_from(["", "", "", "", "#", "# ", " ", "\t"]))
    text = start + "".join(part + draw(blank) for part in fields)
    return text if draw(st.booleans()) else text.rstrip(" \t\v\f")


WILD = st.lists(st.tuples(line(FIELD, BLANK), END))
TIDY_LINE = st.lists(TIDY_FIELD, min_size=3, max_size=3).map(" ".join)
TIDY = st.lists(st.tuples(TIDY_LINE, st.sampled_from(["\n", "\r\n"])))


@pytest.mark.parametrize("chunk_bytes", [1, 7, 64, 1 << 19])
@given(parts=st.lists(WILD | TIDY, max_size=4), final_newline=st.booleans(), bom=st.booleans())
def test_equals_a_plain_splitter(
    chunk_bytes: int, parts: list[list[tuple[str, str]]], final_newline: bool, bom: bool
) -> None:
    text = "".join(line + end for part in parts for line, end in part)
    text = text if final_newline else text.removesuffix("\n")
    data = ("\ufeff" if bom else "").encode() + text.encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns_module, "SPLIT_BYTES", chunk_bytes)
        patch.setattr(columns_module, "CHUNK_BYTES", chunk_bytes)
        assert_same(data)


@given(
    data=st.binary(max_size=60) | st.text(st.sampled_from("a1 \t\n\r\0#é\ufeff")).map(str.encode)
)
def test_any_bytes_have_columns(data: bytes) -> None:
    assert_same(data)


@pytest.mark.parametrize(
    "data",
    [
        "\ufeff\ufeffa b c\n",  # a second byte order mark is data, though Polars would drop it
        "x\x01a b c\n",  # zlib's magic bytes, which Polars would decompress
        "x\x01 b c\n",
        "é b c\n",
        "\r \r \r\n",
        "a b c\r",
        '"a b c\n"d" e f\n',
        "a\tb c\n",
        "a b c\r\nd e f\n",  # line ends of both kinds in otherwise tidy lines
    ],
)
def test_first_bytes_that_a_csv_reader_would_take_for_more(data: str) -> None:
    assert_same(data.encode())


@pytest.mark.parametrize("chunk_bytes", [1, 1 << 19])
def test_the_first_bad_byte_is_placed(monkeypatch: pytest.MonkeyPatch, chunk_bytes: int) -> None:
    monkeypatch.setattr(columns_module, "SPLIT_BYTES", chunk_bytes)
    columns = scan(b"\xef\xbb\xbfa b c\n\xc3\xa9 d\xe9 f\ng h \xff\n")
    bad = columns.bad_utf8
    assert (bad.line, bad.column, bad.value) == (2, 4, 0xE9)
    assert columns.encoding_guess == "latin-1"
    assert columns.rows["c2"].to_list() == ["b", "d�", "h"]


def test_field_columns_count_characters() -> None:
    columns = scan("\ufeff é\t\u00a0x  c\n".encode())
    assert [columns.column_of_field(1, number) for number in (1, 2, 3)] == [2, 4, 8]
