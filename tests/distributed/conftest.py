"""Real schedulers and workers in other processes on this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

START_SECONDS = 120


class Processes:
    """A scheduler and its workers, which tests can kill."""

    def __init__(self, folder: Path, **environment: str) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self._environment = {**os.environ, **environment}
        self._file = folder / "scheduler.json"
        self.workers: list[subprocess.Popen[bytes]] = []
        options = ["--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(self._file)]
        self.scheduler = self._start("scheduler", options)
        self.address = self._read_address()

    def add_worker(self, **environment: str) -> subprocess.Popen[bytes]:
        name = f"worker-{len(self.workers)}"
        options = [self.address, "--nthreads", "1", "--no-nanny", "--name", name]
        options += ["--local-directory", str(self.folder)]
        self.workers.append(self._start("worker", options, **environment))
        return self.workers[-1]

    def wait_for_workers(self, count: int) -> None:
        """Wait until the log of the scheduler shows this number of workers."""
        log = self.folder / "scheduler.log"
        self._wait(lambda: log.read_text("utf-8").count("Register worker") >= count)

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            kill(process)

    def _start(self, kind: str, options: list[str], **environment: str) -> subprocess.Popen[bytes]:
        name = kind if kind == "scheduler" else f"{kind}-{len(self.workers)}"
        with (self.folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", kind, "--no-dashboard", *options],
                cwd=self.folder,
                env={**self._environment, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def _read_address(self) -> str:
        def written() -> bool:
            return self._file.exists() and self._file.read_text("utf-8").rstrip().endswith("}")

        self._wait(written)
        return str(json.loads(self._file.read_text("utf-8"))["address"])

    def _wait(self, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not ready():
            if time.monotonic() > deadline:
                logs = [path.read_text("utf-8") for path in self.folder.glob("*.log")]
                pytest.fail("the cluster does not start:\n" + "\n".join(logs))
            time.sleep(0.05)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process at once, like the out-of-memory killer."""
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Processes]]:
    """Start a cluster for one test: ``start(n_workers, **environment)``."""
    pytest.importorskip("distributed", reason="pip install 'trectools-plus[distributed]'")
    started: list[Processes] = []

    def start(n_workers: int, **environment: str) -> Processes:
        started.append(Processes(tmp_path / f"cluster-{len(started)}", **environment))
        for _ in range(n_workers):
            started[-1].add_worker()
        started[-1].wait_for_workers(n_workers)
        return started[-1]

    yield start
    for processes in started:
        processes.stop()


@pytest.fixture(scope="session")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a scheduler with two workers that tests must not kill."""
    pytest.importorskip("distributed", reason="pip install 'trectools-plus[distributed]'")
    processes = Processes(tmp_path_factory.mktemp("shared") / "cluster")
    for _ in range(2):
        processes.add_worker()
    processes.wait_for_workers(2)
    yield processes.address
    processes.stop()


class Collection:
    """Qrels and run files of random results, some of them malformed."""

    def __init__(self, folder: Path, n_runs: int, n_queries: int = 25, depth: int = 30) -> None:
        random = np.random.default_rng(11)
        folder.mkdir()
        self.qrels = str(folder / "qrels.txt")
        judged = [
            f"q{query} 0 d{document} {grade}\n"
            for query in range(n_queries)
            for document, grade in zip(
                random.choice(200, 20, replace=False), random.integers(-1, 4, 20), strict=True
            )
        ]
        Path(self.qrels).write_text("".join(judged))
        self.runs = [str(folder / f"run-{number}.run") for number in range(n_runs)]
        for number, path in enumerate(self.runs):
            rows = [
                f"q{query} Q0 d{document} {rank} {score:.3f} run-{number}\n"
                for query in range(number % 3, n_queries + number % 2)
                for rank, (document, score) in enumerate(
                    zip(
                        random.choice(200, depth, replace=False),
                        np.sort(random.random(depth))[::-1],
                        strict=True,
                    ),
                    1,
                )
            ]
            if number % 5 == 4:  # queries in several places: not for reading in pieces
                rows = rows[::2] + rows[1::2]
            Path(path).write_text("".join(rows))


@pytest.fixture
def collection(tmp_path: Path) -> Callable[..., Collection]:
    """Write a collection: ``collection(n_runs)``."""
    return lambda n_runs: Collection(tmp_path / f"collection-{n_runs}", n_runs)
