"""A request ends in time and in bounded memory, whatever the service sends."""

from __future__ import annotations

import gzip
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from time import monotonic, sleep
from typing import Any

import pytest

from trectools_plus.retrieval.backends import http_client as client_module
from trectools_plus.retrieval.backends.http_client import JsonClient, RequestLimits
from trectools_plus.retrieval.source import Failure

# The error that ends the thread of a late answer can be raised in a callback, which Python reports.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
Script = Callable[[socket.socket], None]
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
SECONDS = 0.5


@pytest.fixture
def ask() -> Iterator[Callable[[Script], Any]]:
    """Send a request to a server that follows a script; return the answer or failure."""
    server = socket.create_server(("127.0.0.1", 0))
    stopped = threading.Event()

    def asked(script: Script) -> Any:
        def serve() -> None:
            with suppress(OSError):
                connection, _ = server.accept()
                with connection:
                    connection.settimeout(10)
                    script(connection)
                    stopped.wait(10)

        threading.Thread(target=serve, daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        client = JsonClient(RequestLimits(url, timeout=SECONDS, retries=0), {})
        started = monotonic()
        try:
            answer = client.request(
                lambda: {"method": "POST", "url": url, "json": {}},
                lambda document, _ms, _attempts: document,
            )
        finally:
            client.close()
        assert monotonic() - started < 3 * SECONDS
        return answer

    yield asked
    stopped.set()
    server.close()


def drip(start: bytes, part: bytes, pause: float = 0.05) -> Script:
    """Send a start, and then the same part again and again."""

    def script(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(start)
        for _ in range(200):
            connection.sendall(part)
            sleep(pause)

    return script


@pytest.mark.parametrize(
    "script",
    [
        drip(b"", b""),
        drip(b"", b"H"),
        drip(b"HTTP/1.1 200 OK\r\nX-Name: ", b"a"),
        drip(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n"),
        drip(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        drip(b"", 100 * b"HTTP/1.1 103 Early Hints\r\n\r\n", 0.001),
        drip(OK + b"Content-Length: 1000\r\n\r\n", b" "),
        drip(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"0"),
        drip(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        drip(OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"a: b\r\n"),
        drip(
            OK + b"Content-Encoding: gzip\r\nContent-Length: 100000000\r\n\r\n"
            b"\x1f\x8b\x08\x08\0\0\0\0\0\xff",
            b"name",
        ),
    ],
)
def test_the_deadline_holds_for_the_whole_request(ask: Any, script: Script) -> None:
    assert isinstance(ask(script), Failure)


def reply(body: bytes, coding: str) -> Script:
    def script(connection: socket.socket) -> None:
        connection.recv(65536)
        head = f"Content-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(OK + head.encode() + body)

    return script


def raw_deflate(content: bytes) -> bytes:
    return zlib.compress(content)[2:-4]


@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", raw_deflate),
        ("identity", bytes),
    ],
)
def test_one_coding_is_unpacked(ask: Any, coding: str, pack: Callable[[bytes], bytes]) -> None:
    assert ask(reply(pack(b'{"a": [1, 2]}'), coding)) == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        ("deflate, deflate", lambda content: zlib.compress(zlib.compress(content))),
        ("gzip,gzip", lambda content: gzip.compress(gzip.compress(content))),
        ("br", bytes),
        ("zstd", bytes),
        ("gzip", bytes),
        ("gzip", lambda content: gzip.compress(content)[:-19]),
    ],
)
def test_other_codings_and_damaged_content_are_refused(
    ask: Any, coding: str, pack: Callable[[bytes], bytes]
) -> None:
    assert isinstance(ask(reply(pack(b'{"a": [1, 2]}'), coding)), Failure)


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, bytes])
def test_the_limit_of_size_holds_while_content_is_unpacked(
    ask: Any, pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "MAX_ANSWER_BYTES", 1 << 16)
    coding = {gzip.compress: "gzip", zlib.compress: "deflate"}.get(pack, "identity")
    assert isinstance(ask(reply(pack(b"[" + b" " * (1 << 22) + b"]"), coding)), Failure)


def test_an_error_with_half_a_character_is_shown() -> None:
    client = JsonClient(RequestLimits("http://search.test"), {})
    assert "busy" in client.describe_error(client_module.AnswerError("refused", "\ud83d busy"))
    client.close()
