"""Files made to hang or to fill the memory, and inputs that once broke something."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import zstandard
from harness.files import write

from trectools_plus.errors import FormatError
from trectools_plus.formats.collection import load_corpus
from trectools_plus.formats.columns.columns import scan_columns
from trectools_plus.formats.files.content import read_file
from trectools_plus.formats.topics import read_topics
from trectools_plus.validation import validate_qrels, validate_run, validate_topics
from trectools_plus.validation.findings import FindingsError
from trectools_plus.validation.loading import load_qrels, load_run
from trectools_plus.validation.views.kinds import near_matches

pytestmark = pytest.mark.process

N = 40_000
MANY_LINES = 200_000
MANY: dict[str, tuple[Callable[[], bytes], str]] = {
    "blank lines": (lambda: b"\n" * MANY_LINES, "F101"),
    "comments": (lambda: b"#a\n" * MANY_LINES, "F101"),
    "rows behind '#'": (lambda: b"#1 Q0 d 1 1 t\n" * N, "R112"),
    "short lines": (lambda: b"a b\n" * MANY_LINES, "R101"),
    "long lines": (lambda: b"1 Q0 d x 1 1 t\n" * N, "R102"),
    "kinds of lines": (lambda: b"1 Q0 d 1 1 t\n#\n\nx\n" * N, "R101"),
    "queries": (lambda: b"".join(b"%d Q0 d 1 1 t\n" % n for n in range(MANY_LINES)), ""),
    "interleaved queries": (
        lambda: b"".join(b"%d Q0 d%d 1 1 t\n" % (n % 10_007, n) for n in range(N)),
        "R127",
    ),
    "tags": (
        lambda: b"".join(b"1 Q0 d%d %d %d t%d\n" % (n, n + 1, -n, n) for n in range(MANY_LINES)),
        "R151",
    ),
    "line ends of CR": (lambda: b"1 Q0 d 1 1 t\r" * MANY_LINES, "F105"),
    "line ends": (lambda: b"1 Q0 d 1 1 t\r\n1 Q0 d 1 1 t\n" * N, "F104"),
    "carriage returns": (lambda: b"1 Q0 d\r 1 1 t\n" * N, "F105"),
    "control characters": (
        lambda: b"1 Q0 d\r 1 1 t\n" * N + bytes([*range(1, 9), *range(14, 32)]) + b"\r 2 3 4 5 6\n",
        "R114",
    ),
    "bad bytes": (lambda: b"1 Q0 d\xe9 1 1 t\n" * N, "F103"),
    "nothing but NULs": (lambda: bytes(1 << 20), "F106"),
    "NULs": (lambda: b"1 Q0 d\0 1 1 t\n" * N, "F106"),
    "NaNs": (lambda: b"1 Q0 d 1 nan t\n" * N, "R111"),
    "duplicates": (lambda: b"1 Q0 d 1 1 t\n" * N, "R131"),
    "large ids": (lambda: (b"1 Q0 " + b"d" * 1_000_000 + b" 1 1 t\n") * 8, "F110"),
    "fields": (lambda: (b"a " * 1_000_000 + b"\n") * 3, "R102"),
    "digits": (lambda: (b"1 Q0 d 1 " + b"9" * 1_000_000 + b" t\n") * 3, "R111"),
    "marks": (lambda: b"1 Q0 " + ("\u0301\u0327" * 300_000).encode() + b" 1 1 t\n", "F110"),
    "two-byte characters": (lambda: ("1 Q0 d 1 1 t\n" * N).encode("utf-16"), "F103"),
    "noise": (lambda: np.random.default_rng(1).bytes(1_000_000), "F106"),
    "line of 17 MiB": (lambda: b"1 Q0 d 1 1 t\n" * 9 + b"x" * (17 << 20), "F110"),
    "JSON on a line of 17 MiB": (lambda: b'{"a": ' + b" " * (17 << 20) + b"1}", "R103"),
}

_VALIDATE = """
import json, resource, sys, time
from pathlib import Path
from trectools_plus.validation import validate_qrels, validate_run, validate_topics
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
found = {}
for path in sorted(Path(sys.argv[1]).iterdir()):
    begin = time.process_time()
    report = validate_run(path)
    validate_qrels(path)
    validate_topics(path)
    seconds = time.process_time() - begin
    found[path.name] = [sorted(finding.code for finding in report.findings), seconds]
print(json.dumps(found))
"""

# The peak of this process alone: what the system counts for a child begins with its parent's.
_TELL_PEAK = """
import atexit, re, sys
from pathlib import Path
def tell():
    peak = re.search(r"VmHWM:\\s*([0-9]+)", Path("/proc/self/status").read_text())[1]
    print(int(peak) >> 10, file=sys.stderr)
atexit.register(tell)
"""
_COMMAND = "from trectools_plus.cli.app import main; main()"
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds and tells memory")


def _run_python(program: str, *arguments: object) -> tuple[subprocess.CompletedProcess[str], int]:
    """Run a program in a Python of its own; give back how it ended and its peak in MiB."""
    command = [sys.executable, "-c", _TELL_PEAK + program, *map(str, arguments)]
    # Each thread reserves address space, so that a bound needs their number to be one's own.
    threads = dict.fromkeys(("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS"), "2")
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, **threads},
    )
    *errors, peak = done.stderr.splitlines()
    assert not any("Traceback" in line for line in errors), done.stderr
    return done, int(peak)


@pytest.mark.slow("large files of every kind")
@on_linux
def test_many_of_anything_take_bounded_time_and_memory(tmp_path: Path) -> None:
    for name, (make, _) in MANY.items():
        (tmp_path / name).write_bytes(make())
    done, mebibytes = _run_python(_VALIDATE, tmp_path)
    found = json.loads(done.stdout)
    for name, (_, code) in MANY.items():
        codes, seconds = found[name]
        assert not code or code in codes, name
        assert seconds < 20, name
    assert mebibytes < 900


def _hole(path: Path) -> None:
    path.write_bytes(b"1 Q0 d1 1 9.5 base\n")
    os.truncate(path, 8 << 30)  # NULs, but no line end, and none of it on the disk


def _bomb(path: Path) -> None:
    rows = b"1 Q0 d1 1 9.5 base\n" * (1 << 16)
    with path.open("wb") as file, zstandard.ZstdCompressor().stream_writer(file) as stream:
        for _ in range(800):
            stream.write(rows)


def _gzip_bomb(path: Path) -> None:
    # Members of their own, or making it would take longer than refusing it.
    path.write_bytes(gzip.compress(b"1\ta\n" * (4 << 20)) * 50)


def _jsonl(path: Path) -> None:
    path.write_text("".join(f'{{"id":"{n}","text":"words {n}"}}\n' for n in range(MANY_LINES)))


large = pytest.mark.slow("a large file for another command")


@on_linux
@pytest.mark.parametrize(
    ("kind", "make", "code", "says"),
    [
        ("runs", _hole, 1, "line of over 16,777,216 bytes"),
        pytest.param("topics", _hole, 1, "line of over 16,777,216 bytes", marks=large),
        pytest.param("runs", _bomb, 1, "expands more than 200 times", marks=large),
        pytest.param("qrels", _bomb, 1, "expands more than 200 times", marks=large),
        ("topics", _gzip_bomb, 1, "expands more than 200 times"),
        pytest.param("topics", _jsonl, 0, "200,000 queries", marks=large),
    ],
)
def test_the_command_stays_within_time_and_memory(
    tmp_path: Path, kind: str, make: Callable[[Path], None], code: int, says: str
) -> None:
    path = tmp_path / "file"
    make(path)
    done, mebibytes = _run_python(_COMMAND, kind, "validate", path)
    assert done.returncode == code, done.stderr
    assert says in " ".join(done.stdout.split())
    assert mebibytes < 700


def test_giant_ids_are_compared_without_normal_form() -> None:
    giant = "\u0301\u0327" * 100_000
    assert near_matches([giant + "A"], [giant + "a"]) != {}


# What scripts/fuzz has found, each once the end of some reader or validator.
FOUND = [
    b"\xef\xbb\xbf# c\x12\xff\xff\xff\xff\xff\xff\xff\xff\n\r\n01\xb2Q 01d 1\tQ 90\td",
    (
        b" Q\x001\xff\x00\xff\x00\x00\xfe\x00 \x000\x87d\x00\xb1\x00 \x001\x000\x00\xb1\x00`"
        b"\x001\x000\x00t\x00\n\x00"
    ),
    (
        b"q\xff\xfe1\x00 \x00uery-id\tc.orpuery-\xff\xff\xff\xff\xff\xff\xff4 \x00d\x00 id\tc."
        b"orpus-id\tss-\x001\x00 id\t\x001\x00 \x00tscor/topi\x00\n\x00"
    ),
    (
        b"\xef\xbb\xbf# \xbf\xbf\xbf\xbfc\r\n\r\n01\tQ0\td1\t1.0\t+\ttag\r\n1 Q0 D1 2 nan t x"
        b"\n#1 Q0 d 1 1 t"
    ),
    b"# \xff \xff\n",
]


@pytest.mark.parametrize("data", FOUND)
def test_what_fuzzing_found_stays_found(tmp_path: Path, data: bytes) -> None:
    path = write(tmp_path / "a", data)
    for n_fields in range(2, 8):
        columns = scan_columns(read_file(path), n_fields)
        assert columns.rows.height == columns.n_rows
    for read in (load_run, load_qrels, read_topics, load_corpus):
        with suppress(FormatError, FindingsError):
            read(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert validate_run(path, qrels=path, every_line=True).findings
        assert validate_qrels(path, run=path, every_line=True).findings
        assert validate_topics(path, every_line=True).findings


@pytest.mark.parametrize("first", ["", " ", "\r", "# c", "---"])
@pytest.mark.parametrize("name", ["a", "a.yaml", "a.tsv"])
def test_blank_lines_are_scanned_once(tmp_path: Path, name: str, first: str) -> None:
    path = write(tmp_path / name, f"{first}\n" * 30_000 + "x")
    begin = time.process_time()
    assert validate_topics(path).findings
    assert time.process_time() - begin < 10
