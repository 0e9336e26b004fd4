"""``serve`` as a process: where it listens, its key, how it ends."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from trectools_plus.errors import InputError, UsageError
from trectools_plus.service import read_key
from trectools_plus.service.server import listen

KEY = "correct-horse-battery-staple"


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_others_come_in_with_a_key_only(host):
    with pytest.raises(UsageError):
        listen(host, 0, has_key=False)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.8.9.10"])
def test_this_machine_needs_none(host):
    with listen(host, 0, has_key=False) as opened:
        assert opened.getsockname()[0].startswith(("127.", "::1"))
        # asyncio sets TCP_NODELAY only on connections of sockets that name their protocol.
        assert opened.proto == socket.IPPROTO_TCP
        opened.listen()
        with pytest.raises(InputError):
            listen(host, opened.getsockname()[1], has_key=False)


@pytest.mark.parametrize(
    "value", [None, "", "short", "x" * 15, "with blank in the middle", "é" * 20]
)
def test_a_key_that_is_none(monkeypatch, value):
    monkeypatch.delenv("SERVICE_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("SERVICE_KEY", value)
    with pytest.raises(UsageError) as refused:
        read_key("SERVICE_KEY")
    assert not value or value not in str(refused.value)


def test_a_key(monkeypatch):
    monkeypatch.setenv("SERVICE_KEY", f"{KEY}\n")
    assert read_key("SERVICE_KEY") == KEY


MISTAKES = [
    (["--host", "0.0.0.0"], "--key-from-env"),
    (["--key-from-env", "NO_SUCH_VARIABLE"], "NO_SUCH_VARIABLE"),
    (["--report", "nowhere"], "nowhere"),
    (["--prefix", "9"], "--prefix"),
    (["--modes", "psychic"], "lexical"),
    (["--corpus", "x"], "--corpus"),
    (["--dataset", "nowhere"], "no dataset 'nowhere'"),
    (["--dataset", "hpo", "--corpus", "x"], "--corpus"),
]


@pytest.mark.parametrize(("words", "said"), MISTAKES, ids=lambda value: str(value)[:20])
def test_mistakes_are_one_line(words, said, call_here, check_mistake):
    check_mistake(call_here("serve", "--dataset", "none", *words), 2, said)


@pytest.fixture
def process():
    """A service with a key, and its address."""
    program = str(Path(sys.executable).parent / "trectools-plus")
    words = ("serve", "--dataset", "none", "--port", "0", "--key-from-env", "SERVICE_KEY")
    started = subprocess.Popen(
        [program, *words],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "SERVICE_KEY": KEY},
        # A shell's background job inherits "ignore" for the signal of Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    # A library that the tests have loaded, such as grpc, may write a line when a process is made.
    lines = iter(started.stderr.readline, "")
    address = next(filter(None, (re.search(r"http://127\.0\.0\.1:\d+", one) for one in lines)))
    yield started, address[0]
    if started.poll() is None:
        started.kill()
    started.wait()
    started.stderr.close()


@pytest.mark.process
@pytest.mark.slow("starts servers")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_session(process, number):
    started, address = process
    key = {"Authorization": f"Bearer {KEY}"}
    for path, headers, status in (
        ("healthz", {}, 200),
        ("metrics", {}, 401),
        ("metrics", key, 200),
        ("metrics?secret=1", {}, 401),
    ):
        assert httpx.get(f"{address}/{path}", headers=headers, timeout=30).status_code == status
    started.send_signal(number)
    _, said = started.communicate(timeout=30)
    for word in ("Traceback", KEY, "secret"):
        assert word not in said
    assert "GET other 401" in said
    assert "GET /metrics 200" in said
