"""A report whose results people judge, the page that shows them, and a browser."""

from __future__ import annotations

import json
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from harness.observe import ROOT
from harness.program import Started
from starlette.testclient import TestClient

from tests.reporting.browser.conftest import axe, page  # noqa: F401
from trectools_plus.service.review.app import review_app

GARDEN = ROOT / "fixtures/garden-trec"
MODES = ("lexical", "vector", "hybrid")


@pytest.fixture(scope="session")
def made_report(tmp_path_factory, write_benchmark):
    """A report over three modes on the garden collection."""
    folder = tmp_path_factory.mktemp("report") / "out"
    write_benchmark(folder, dataset=str(GARDEN), modes=MODES, measures=["nDCG@10"])
    return folder


@pytest.fixture
def report(made_report, tmp_path):
    """A copy of its own."""
    return Path(shutil.copytree(made_report, tmp_path / "report"))


@pytest.fixture
def app(report, tmp_path):
    """The page of a report, with an order of columns that does not change."""
    made = review_app(report, tmp_path / "review.db", seed=3, depth=5)
    yield made
    made.state.controller.store.close()


@pytest.fixture
def client(app):
    return TestClient(app, "http://localhost")


@dataclass
class Server:
    """A server process."""

    process: Started
    url: str
    notes: list[str]

    def kill(self):
        """End it as a power cut would: it cannot react."""
        self.process.kill()


@pytest.fixture
def serve(program, tmp_path):
    """Starts servers; they end with the test."""
    started = []

    def start(
        *arguments,
        command=("review", "serve"),
        seed=None,
        **env,
    ):
        if seed is not None:  # the command uses the seed of the database
            depth = dict(zip(arguments[1::2], arguments[2::2], strict=True)).get("--depth", 10)
            path = Path(arguments[0])
            app = review_app(path, path / "review.db", seed=seed, depth=depth)
            app.state.controller.store.close()
        words = ["trectools-plus", *command, *arguments, "--port", "0"]
        process = program.start(words, tmp_path, **env)
        started.append(process)
        while process.poll() is None:
            said = process.stderr.read_text()
            if found := re.search(r"^review +(http://\S+)\n", said, re.MULTILINE):
                return Server(process, found[1], said.splitlines())
            time.sleep(0.01)
        raise AssertionError(f"the server did not start: {process.stderr.read_text()}")

    yield start
    for process in started:
        process.kill()


@pytest.fixture
def ask():
    """Asks an address, and returns the JSON of the answer."""
    return _ask


def _ask(url, body=None, **headers):
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    data = None
    if body is not None:
        data, given = json.dumps(body).encode(), {"Content-Type": "application/json", **given}
    with urlopen(Request(url, data, given), timeout=30) as answer:
        return json.loads(answer.read())
