"""A service in a process of its own, for tests of the HTTP backend."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SERVER = Path(__file__).with_name("server.py")


@dataclass(frozen=True)
class Service:
    """A running service.

    Attributes:
        url: Where it answers.
        process: The process.
        log_path: Its own log: a line per query that arrived.
    """

    url: str
    process: subprocess.Popen[str]
    log_path: Path

    def log(self) -> list[tuple[str, int, float]]:
        """Query id, depth and second of each query that arrived."""
        if not self.log_path.exists():
            return []
        rows = (line.split("\t") for line in self.log_path.read_text().splitlines())
        return [(query_id, int(depth), float(at)) for query_id, depth, at in rows]

    def asked(self) -> list[str]:
        """Ids of the queries that arrived."""
        return [query_id for query_id, *_ in self.log()]


Start = Callable[..., Service]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start services: ``start(delay=0.0, key="")``."""
    monkeypatch.setenv("NO_PROXY", "*")
    running: list[subprocess.Popen[str]] = []

    def begin(delay: float = 0.0, key: str = "") -> Service:
        log = tmp_path / f"service-{len(running)}.log"
        command = [sys.executable, "-S", str(SERVER), str(log), str(delay), key]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        running.append(process)
        port = process.stdout.readline().strip()
        return Service(f"http://127.0.0.1:{port}/api/v1/retrieve", process, log)

    yield begin
    for process in running:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
