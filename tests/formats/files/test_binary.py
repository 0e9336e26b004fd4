"""Files that are not text are named by their first bytes, and no rule on texts runs."""

from __future__ import annotations

import bz2
import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from harness.files import write

from trectools_plus.errors import FormatError, TrectoolsPlusError
from trectools_plus.formats.files.content import iter_content, read_file
from trectools_plus.formats.files.opening import BinaryFileError, find_binary, is_plain_file
from trectools_plus.measures import open_files, parse_measures
from trectools_plus.trec_eval.arguments import parse_arguments
from trectools_plus.trec_eval.command import score_files
from trectools_plus.validation import fix_run, validate_qrels, validate_run, validate_topics

RUN = "1 Q0 d1 1 2.0 tag\n"
QRELS = "1 0 d1 1\n"


def _zip(**members: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return stream.getvalue()


def _tar() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        member = tarfile.TarInfo("a.run")
        member.size = len(RUN)
        archive.addfile(member, io.BytesIO(RUN.encode()))
    return stream.getvalue()


BINARY = {
    "a zip archive": _zip(**{"a.run": RUN}),
    "an Excel workbook (xlsx)": _zip(**{"[Content_Types].xml": "", "xl/workbook.xml": ""}),
    "a NumPy archive (npz)": _zip(**{"scores.npy": ""}),
    "a tar archive": _tar(),
    "an lz4 file": b"\x04\x22\x4d\x18" + bytes(range(64)),
    "a PNG image": b"\x89PNG\r\n\x1a\n" + bytes(64),
    "a JPEG image": b"\xff\xd8\xff\xe0" + bytes(64),
    "a PDF document": b"%PDF-1.7\n%\xe2\xe3\n",
    "an SQLite database": b"SQLite format 3\x00" + bytes(64),
    "a Python pickle": b"\x80\x04\x95" + bytes(64),
    "an old Excel or Word file": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(64),
}


@pytest.mark.parametrize("name", BINARY)
def test_every_way_of_reading_names_the_format(tmp_path: Path, name: str) -> None:
    path, qrels = tmp_path / "a", tmp_path / "qrels.txt"
    path.write_bytes(BINARY[name])
    qrels.write_text(QRELS)
    for validate in (validate_run, validate_qrels, validate_topics):
        (finding,) = validate(path).findings
        assert (finding.code, finding.fix, finding.blocks_scoring) == ("F103", "no", True)
        assert finding.message == f"this is {name}, not text"
        assert "iconv" not in finding.remedy
    measures = parse_measures(["AP"])
    calls = [
        lambda: open_files(str(qrels), [str(path)], measures),
        lambda: open_files(str(path), [str(path)], measures),
        lambda: score_files(parse_arguments([str(qrels), str(path)])),
        lambda: score_files(parse_arguments([str(path), str(path)])),
        lambda: [*iter_content(path)],
    ]
    for call in calls:
        with pytest.raises(TrectoolsPlusError) as caught:
            call()
        assert name in str(caught.value)
    assert fix_run(path, tmp_path / "out.run").refused == f"this is {name}, not text"
    assert not (tmp_path / "out.run").exists()


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
def test_compressed_archives_are_named(tmp_path: Path, compress) -> None:
    path = write(tmp_path / "a.tar.gz", compress(BINARY["a tar archive"]))
    assert not is_plain_file(path)
    with pytest.raises(BinaryFileError):
        read_file(path)
    with pytest.raises(FormatError):
        next(iter(iter_content(path)))


@pytest.mark.parametrize(
    "text",
    [
        RUN,
        "PAR Q0 d1 1 2 t\n",
        "ORC Q0 d1 1 2 t\n",
        "PK Q0 d1 1 2 t\n",
        "Obj Q0 d1 1 2 t\n",
        "Rar! Q0 d1 1 2 t\n",
        "\ufeff" + RUN,
        "",
    ],
)
def test_text_is_not_binary(text: str) -> None:
    for encoding in ("utf-8", "utf-16"):
        assert find_binary(text.encode(encoding)) is None
