"""Connections on which nothing comes are closed; those that ask are not."""

import socket
import threading
import time
from contextlib import contextmanager, suppress

import pytest

from trectools_plus.service import server
from trectools_plus.service.server import listen

pytestmark = [pytest.mark.process, pytest.mark.slow("starts servers")]


async def _app(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    if scope["path"] == "/slow":
        import asyncio

        await asyncio.sleep(1.0)
    headers = [(b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
def port(monkeypatch):
    """A server that waits half a second for a request."""
    monkeypatch.setattr(server, "REQUEST_HEADER_SECONDS", 0.5)
    with serving(_app) as port:
        yield port


@contextmanager
def serving(app):
    """The port of a server in a thread."""
    made = server.make_server(app)
    with listen("127.0.0.1", 0, has_key=False) as listener:
        thread = threading.Thread(target=made.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            made.should_exit = True
            thread.join(30)
        assert not thread.is_alive()


def await_answer(connection):
    connection.settimeout(10)
    answer = b""
    while not answer.endswith(b"\r\n\r\nok"):
        piece = connection.recv(1000)
        assert piece, answer
        answer += piece


@pytest.mark.parametrize(
    "pieces",
    [(), (b"GET / HTTP/1.1\r\n",), (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ", *[b"x"] * 200)],
    ids=["silent", "half", "byte-by-byte"],
)
def test_a_request_that_does_not_come(port, pieces):
    with socket.create_connection(("127.0.0.1", port), 10) as connection, suppress(ConnectionError):
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(0.05)
        assert connection.recv(1000) == b""


def test_who_waits_for_an_answer_is_not_cut_off(port):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for path in (b"/slow", b"/", b"/slow"):
            connection.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await_answer(connection)
