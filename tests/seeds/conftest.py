"""Tools of the scenarios: the commands, run in a folder with the files that a scenario names."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from harness.program import Done, Program

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
GARDEN = FIXTURES / "garden-trec"


@dataclass
class Desk:
    """A folder in which a user types commands."""

    folder: Path
    program: Program

    def run(self, command: str, code: int = 0, **variables: str) -> Done:
        """Run a command line and check its exit code; no command prints a traceback."""
        variables.setdefault("TRECTOOLS_PLUS_CACHE", os.environ["TRECTOOLS_PLUS_CACHE"])
        done = self.program(command, self.folder, **variables)
        assert "Traceback" not in done.stderr, done.stderr
        assert done.code == code, (command, done.text[-500:], done.stderr[-1000:])
        return done

    def json(self, command: str, code: int = 0) -> Any:
        """Run a command that prints one JSON document."""
        return json.loads(self.run(command, code).stdout)

    def write(self, name: str, content: object) -> Path:
        """Write a file: a text, or a value as JSON."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return path

    def read(self, name: str) -> Any:
        """Read a JSON file."""
        return json.loads((self.folder / name).read_text("utf-8"))


@pytest.fixture
def desk(tmp_path: Path, program: Program) -> Desk:
    """An empty folder."""
    return Desk(tmp_path, program)


@pytest.fixture(scope="session")
def garden_runs() -> str:
    """Three runs of one collection as arguments, and its judgments."""
    runs = " ".join(f"{FIXTURES}/runs/{name}.run" for name in ("lexical", "vector", "hybrid"))
    return f"--runs {runs} --qrels {GARDEN}/qrels.txt --topics {GARDEN}/topics.tsv"


@pytest.fixture(scope="module")
def service(
    tmp_path_factory: pytest.TempPathFactory, program: Program
) -> Iterator[Callable[..., str]]:
    """Start the service with options, and return its address when it is ready."""
    pytest.importorskip("fastapi")
    import httpx

    started = []

    def start(options: str, **variables: str) -> str:
        folder = tmp_path_factory.mktemp("service")
        running = program.start(f"trectools-plus serve --port 0 {options}", folder, **variables)
        started.append(running)
        for _ in range(1200):
            output = running.stdout.read_text("utf-8") + running.stderr.read_text("utf-8")
            if running.poll() is not None:
                raise AssertionError(output)
            address = re.search(r"http://127\.0\.0\.1:\d+", output)
            if address:
                try:
                    if httpx.get(f"{address[0]}/readyz", timeout=30).status_code == 200:
                        return address[0]
                except httpx.TransportError:
                    pass
            time.sleep(0.05)
        raise AssertionError("the service did not become ready")

    yield start
    for running in started:
        running.kill()
