"""Every failure to connect to Milvus is one line and exit code 2."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from trectools_plus.errors import InputError, MissingExtraError, UsageError
from trectools_plus.formats.tables import Corpus
from trectools_plus.retrieval.backends.milvus.connection import (
    TOKEN_VARIABLE,
    MilvusAddress,
    MilvusConnection,
)
from trectools_plus.retrieval.settings import RetrievalSettings

pytestmark = [pytest.mark.process, pytest.mark.slow("starts servers")]

SECRET = "root:s3cret-Pass"


def assert_one_line(error: Exception, *parts: str) -> None:
    text = str(error)
    assert "\n" not in text
    assert SECRET not in text
    for part in parts:
        assert part in text
    assert error.exit_code == 2  # type: ignore[attr-defined]


@contextmanager
def refusing_server(status: str, details: str) -> Iterator[tuple[str, list[str]]]:
    """A gRPC server that answers every call with one status; its address and what it was told."""
    import grpc

    told: list[str] = []

    class Refusing(grpc.GenericRpcHandler):
        def service(self, details_of_call: Any) -> Any:
            told.append(dict(details_of_call.invocation_metadata).get("authorization", ""))
            return grpc.unary_unary_rpc_method_handler(
                lambda request, context: context.abort(getattr(grpc.StatusCode, status), details)
            )

    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((Refusing(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"http://127.0.0.1:{port}", told
    finally:
        server.stop(0).wait()


@pytest.mark.parametrize("text", ["http://host:19530", "https://host", "http://host:1/database"])
def test_addresses_of_servers(text: str) -> None:
    assert MilvusAddress.parse(text) == MilvusAddress(text, is_local=False)


def test_addresses_of_files(cache: Path) -> None:
    assert MilvusAddress.parse("some/where.db") == MilvusAddress("some/where.db", is_local=True)
    assert MilvusAddress.parse() == MilvusAddress(str(cache / "indexes/milvus.db"), is_local=True)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("milvus", "ends in .db"),
        ("ftp://host", "http://host:19530"),
        ("http://", "http://host:19530"),
        ("http://host/a.db", "http://host:19530"),
        (f"http://{SECRET}@host:19530", TOKEN_VARIABLE),
        ("http://host:19530?token=abc", TOKEN_VARIABLE),
        ("http://host:port", "ends in .db but got 'http://host:port'"),
        ("http://host:99999", "http://host:19530"),
        ("http://[::1", "http://host:19530"),
        (f"{SECRET}@host:19530", TOKEN_VARIABLE),
        (f"http://{SECRET}@[::1", TOKEN_VARIABLE),
    ],
)
def test_refuses_other_addresses(text: str, what: str) -> None:
    with pytest.raises(UsageError) as caught:
        MilvusAddress.parse(text)
    assert_one_line(caught.value, what)


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for missing, uri in (("pymilvus", "http://host"), ("milvus_lite", str(tmp_path / "a.db"))):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, missing, None)
            with pytest.raises(MissingExtraError) as caught:
                MilvusConnection(MilvusAddress.parse(uri))
        assert_one_line(caught.value, "pip install 'trectools-plus[milvus]'")


def test_an_unreachable_server(
    connect: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, SECRET)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(InputError) as caught:
        connect(f"http://127.0.0.1:{port}")
    assert_one_line(caught.value, "cannot be reached", f"http://127.0.0.1:{port}")
    assert capfd.readouterr() == ("", "")


def test_a_wrong_token(
    connect: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, SECRET)
    details = f"auth check failure for {SECRET}"
    with (
        refusing_server("UNAUTHENTICATED", details) as (uri, told),
        pytest.raises(InputError) as caught,
    ):
        connect(uri)
    assert_one_line(caught.value, "refuses the token", uri, TOKEN_VARIABLE)
    assert any(told), "the token is sent"
    assert capfd.readouterr() == ("", "")


def test_a_server_that_fails_and_repeats_the_token(
    connect: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    import pymilvus
    from pymilvus.exceptions import MilvusException

    class Client(pymilvus.MilvusClient):
        def __init__(self, **_: Any) -> None:
            pass

        def get_server_version(self, timeout: float) -> str:
            return "v2.6.2"

        def list_collections(self, timeout: float) -> None:
            password = SECRET.partition(":")[2]
            raise MilvusException(message=f"tired of {SECRET} and {password}\nand of you")

        def close(self) -> None:
            pass

    monkeypatch.setenv(TOKEN_VARIABLE, SECRET)
    monkeypatch.setattr(pymilvus, "MilvusClient", Client)
    connection = connect("http://host:1")
    with pytest.raises(InputError) as caught:
        connection.call("list_collections")
    assert_one_line(caught.value, "answered: tired of *** and ***", "http://host:1")


def test_a_file_that_is_no_database(
    connect: Callable[..., Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.db").write_text("junk")
    with pytest.raises(InputError) as caught:
        connect(str(tmp_path / "a.db"))
    assert_one_line(caught.value, "expected a folder that milvus-lite", str(tmp_path / "a.db"))
    assert capfd.readouterr() == ("", "")


def test_a_database_in_a_folder_that_cannot_be_made(
    connect: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError) as caught:
        connect(str(tmp_path / "file" / "a.db"))
    assert_one_line(caught.value, "cannot create the folder")


@pytest.mark.parametrize("pattern", ["*.parquet", "manifest.json*", "schema.json", "aliases.json"])
def test_a_damaged_database(
    connect: Callable[..., Any],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    pattern: str,
) -> None:
    from trectools_plus.retrieval.backends.milvus.collection import open_collection

    whole, damaged = tmp_path / "whole.db", tmp_path / "damaged.db"
    documents = Corpus.from_dict({"a": "wing", "b": "heat"})
    connection = connect(str(whole))
    open_collection(connection, documents, RetrievalSettings())
    connection.close()
    shutil.copytree(whole, damaged)
    files = [file for file in damaged.rglob(pattern) if file.is_file()]
    assert files
    for file in files:
        file.write_text("{broken")
    with pytest.raises(InputError) as caught:
        open_collection(connect(str(damaged)), documents, RetrievalSettings())
    assert_one_line(caught.value, str(damaged), "delete it")
    assert capfd.readouterr() == ("", "")


def test_a_second_process_and_letting_go(connect: Callable[..., Any], tmp_path: Path) -> None:
    connection = connect()
    code = (
        "import sys\n"
        "from trectools_plus.errors import InputError\n"
        "from trectools_plus.retrieval.backends.milvus.connection import *\n"
        "try:\n    MilvusConnection(MilvusAddress.parse(sys.argv[1])).close()\n"
        "except InputError as error:\n    print(error)\n"
    )
    command = [sys.executable, "-c", code, connection.address.uri]

    def run() -> tuple[str, str]:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout, done.stderr

    out, err = run()
    assert out.startswith("another process uses this Milvus database — ")
    assert len(out.splitlines()) == 1
    assert err == ""
    connection.close()
    assert run() == ("", "")
