"""Runs and qrels at addresses are read like files, and errors are one line."""

from __future__ import annotations

import functools
import gzip
import http.server
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from harness.program import Program
from typer.testing import CliRunner

from trectools_plus.cli.app import app
from trectools_plus.errors import FormatError, InputError, MissingExtraError
from trectools_plus.formats.files.content import iter_lines, read_file
from trectools_plus.formats.files.opening import can_be_read_twice, is_address
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.formats.query_chunks import iter_query_chunks

pytestmark = pytest.mark.process

fsspec = pytest.importorskip("fsspec", reason="pip install 'trectools-plus[distributed]'")

QRELS = b"1 0 a 1\n1 0 b 0\n2 0 a 2\n"
RUN = b"1 Q0 b 1 2.0 t\n1 Q0 a 2 1.0 t\n2 Q0 a 1 2.0 t\n"
PACKED = gzip.compress(RUN)


@pytest.fixture
def memory() -> Iterator[str]:
    """Files in fsspec's store in memory."""
    files = {"qrels.txt": QRELS, "a.run": RUN, "b.run.gz": PACKED, "cut": RUN[:-3]}
    files["cut.gz"] = PACKED[:-9]
    for name, content in files.items():
        fsspec.filesystem("memory").pipe(f"/trec/{name}", content)
    yield "memory://trec"
    fsspec.filesystem("memory").rm("/trec", recursive=True)


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        if self.path.startswith("/secret.run"):
            self.send_error(403)
        elif self.path == "/moved.run":
            self.send_response(302)
            self.send_header("Location", "/secret.run?Policy=hush")
            self.end_headers()
        elif self.path == "/broken.run":
            self.send_response(200)
            self.send_header("Content-Length", str(2 * len(RUN)))
            self.end_headers()
            self.wfile.write(RUN)
        else:
            super().do_GET()

    do_HEAD = do_GET  # noqa: N815


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """Files behind a real web server."""
    pytest.importorskip("aiohttp", reason="pip install 'trectools-plus[distributed]'")
    folder = tmp_path / "web"
    folder.mkdir()
    (folder / "qrels.txt").write_bytes(QRELS)
    (folder / "a.run").write_bytes(RUN)
    (folder / "b.run.gz").write_bytes(PACKED)
    handler = functools.partial(Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def invoke(*words: str) -> SimpleNamespace:
    result = CliRunner().invoke(app, words)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return SimpleNamespace(code=result.exit_code, stdout=result.stdout)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("s3://bucket/a.run", True),
        ("https://host/a.run", True),
        ("memory://a", True),
        ("C://a.run", False),
        ("C:\\a.run", False),
        ("a.run", False),
        ("/s3:/a", False),
        ("-", False),
        ("x/s3://a", False),
        ("://a", False),
    ],
)
def test_addresses_are_recognised(path: str, expected: bool) -> None:
    assert is_address(path) == expected


def test_content_lines_and_hash(memory: str, tmp_path: Path) -> None:
    (tmp_path / "b.run.gz").write_bytes(PACKED)
    assert read_file(f"{memory}/a.run").data == RUN
    packed = read_file(f"{memory}/b.run.gz")
    assert (packed.data, packed.compression) == (RUN, "gzip")
    assert packed.path == f"{memory}/b.run.gz"
    assert list(iter_lines(f"{memory}/cut")) == RUN[:-3].split(b"\n")
    assert b"".join(chunk() for chunk in iter_query_chunks(f"{memory}/a.run", 1)) == RUN
    assert sha256_file(f"{memory}/a.run") == sha256_file_of(tmp_path, RUN)
    assert can_be_read_twice(f"{memory}/a.run")


def sha256_file_of(folder: Path, content: bytes) -> str:
    (folder / "copy").write_bytes(content)
    return sha256_file(folder / "copy")


def test_a_damaged_stream_is_placed(memory: str) -> None:
    with pytest.raises(FormatError, match=rf"gzip.*{memory}/cut\.gz"):
        read_file(f"{memory}/cut.gz")


@pytest.mark.parametrize("store", ["memory", "web"])
@pytest.mark.parametrize("more", [[], ["-m", "Accuracy"]])
def test_scoring(
    store: str, more: list[str], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    base = request.getfixturevalue(store)
    names = ("qrels.txt", "a.run", "b.run.gz")
    for name, content in zip(names, (QRELS, RUN, PACKED), strict=True):
        (tmp_path / name).write_bytes(content)
    here = invoke("eval", *(str(tmp_path / name) for name in names), "--format", "json", *more)
    there = invoke("eval", *(f"{base}/{name}" for name in names), "--format", "json", *more)
    assert here.code == there.code == 0
    assert json.loads(there.stdout.replace(base, str(tmp_path))) == json.loads(here.stdout)


def test_missing_files(memory: str, web: str) -> None:
    for base in (memory, web):
        with pytest.raises(InputError, match=f"no such file — {base}/none — check the address"):
            read_file(f"{base}/none")


def test_servers_that_refuse_or_do_not_answer(web: str) -> None:
    with pytest.raises(InputError, match=rf"cannot read: 403.* — {web}/secret\.run"):
        read_file(f"{web}/secret.run")
    with pytest.raises(InputError, match=r"http://127\.0\.0\.1:1/a"):
        read_file("http://127.0.0.1:1/a")


def test_a_store_that_fails_while_it_is_read(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        def read(self, n_bytes: int) -> bytes:
            raise RuntimeError("token\nexpired")

        def close(self) -> None: ...

    opened = SimpleNamespace(open=Failing)
    monkeypatch.setattr(fsspec, "open", lambda *_: opened)
    for read in (read_file, sha256_file):
        with pytest.raises(InputError, match=f"cannot read: token expired — {memory}/a.run"):
            read(f"{memory}/a.run")


def test_missing_packages_are_named(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    for address, extra in (("s3://bucket/a.run", "s3"), ("gs://bucket/a.run", "gcs")):
        with pytest.raises(MissingExtraError, match=f"addresses needs the extra '{extra}'") as one:
            read_file(address)
        assert one.value.exit_code == 2
    monkeypatch.setitem(sys.modules, "paramiko", None)
    with pytest.raises(InputError, match=r"paramiko.*sftp://"):
        read_file("sftp://host/a.run")
    with pytest.raises(InputError, match=r"nope://a.*s3://"):
        read_file("nope://a")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingExtraError, match="distributed"):
        read_file(f"{memory}/a.run")


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://me:hush@host/a.run", "https://***@host/a.run"),
        ("s3://me:hush@bucket/a.run", "s3://***@bucket/a.run"),
        ("https://host/a.run?X-Amz-Signature=hush", "https://host/a.run?X-Amz-Signature=***"),
    ],
)
def test_secrets_do_not_get_into_reports(
    address: str, shown: str, program: Program, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as error:
        read_file(address)
    assert "hush" not in str(error.value)
    assert f" — {shown} — " in str(error.value)
    for words in (["runs", "validate", address], ["eval", address, address]):
        result = program(["trectools-plus", *words], tmp_path)
        assert result.code == 2
        assert "hush" not in result.text + result.stderr


def test_the_target_of_a_redirect_is_not_shown(web: str) -> None:
    with pytest.raises(InputError, match=r"403.*secret\.run\?\*\*\*") as error:
        read_file(f"{web}/moved.run")
    assert "hush" not in str(error.value)
    assert str(error.value).endswith(
        f" — {web}/moved.run — check the address and the credentials; s3://, gs://, https:// and "
        "other protocols of fsspec are read"
    )


def test_a_large_file_of_a_server_without_ranges(web: str, tmp_path: Path) -> None:
    content = RUN * 200_000
    (tmp_path / "web" / "large.run").write_bytes(content)
    assert sha256_file(f"{web}/large.run") == sha256_file_of(tmp_path, content)
    assert read_file(f"{web}/large.run").data == content


def test_a_lost_connection_is_an_error(web: str) -> None:
    with pytest.raises(InputError, match=rf"cannot read: .* — {web}/broken\.run"):
        read_file(f"{web}/broken.run")
