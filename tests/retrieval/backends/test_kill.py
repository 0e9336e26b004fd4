"""A fetch that is killed with SIGKILL again and again, and goes on, against a real service."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from harness.program import Program, Started

pytestmark = [pytest.mark.process, pytest.mark.slow("ends processes")]

QUERIES = 300
CONCURRENCY = 3


def begin(program: Program, url: str, folder: Path, *options: str) -> Started:
    """Start ``runs fetch``."""
    topics, config = folder.parent / "topics.tsv", folder.parent / "service.yaml"
    config.write_text(
        f"backend: http\nhttp:\n  url: {url}\n  concurrency: {CONCURRENCY}\n"
        f"  backoff: 0.01\ncollapse: {{separator: '#'}}\n"
    )
    topics.write_text("".join(f"q{number}\ttext {number}\n" for number in range(QUERIES)))
    words = ["runs", "fetch", "--topics", topics, "--config", config, "--modes", "dense"]
    words += ["--depth", "10", "--output-dir", folder, *options]
    return program.start(words, folder.parent)


def finish(process: Started) -> None:
    """Wait for a fetch that nobody kills."""
    assert process.wait(timeout=120) == 0, process.stderr.read_text()


def journalled(folder: Path) -> list[str]:
    """Ids in whole lines of the journal."""
    path = folder / "dense.run.journal"
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [json.loads(line)["query_id"] for line in lines[1:]]


def kill_at(process: Started, service: Any, arrived: int, delay: float) -> None:
    """End the process so long after so many queries have arrived; unless it is done before."""
    while len(service.asked()) < arrived and process.poll() is None:
        time.sleep(0.005)
    time.sleep(delay)
    process.kill()
    service.settle()


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_killed_at_random_moments_and_resumed(
    program: Program, start: Any, tmp_path: Path, thorough: bool
) -> None:
    kills = 20 if thorough else 8
    uninterrupted = tmp_path / "uninterrupted"
    finish(begin(program, start().url, uninterrupted))
    expected = (uninterrupted / "dense.run").read_bytes()
    assert expected.count(b"\n") == 10 * QUERIES

    service, folder, chance = start(delay=0.004), tmp_path / "killed", random.Random(20)
    in_flight: Counter[str] = Counter()
    killed = 0
    for kill in range(kills):
        before, done = service.asked(), journalled(folder)
        # The last ones hit the writing of the run, when everything has arrived.
        ahead = chance.randrange(2 * QUERIES // kills) if kill < kills - 3 else QUERIES
        delay = chance.random() * (0.02 if ahead < QUERIES else 0.1)
        arrived = min(len(before) + ahead, len(before) + QUERIES - len(done))
        process = begin(program, service.url, folder, "--resume")
        kill_at(process, service, arrived, delay)
        killed += process.code == -signal.SIGKILL
        asked = Counter(service.asked()[len(before) :])
        # What the journal held was not asked again, and nothing was asked twice.
        assert asked.keys() & set(done) == set()
        assert all(count == 1 for count in asked.values())
        lost = asked.keys() - set(journalled(folder))
        assert len(lost) <= CONCURRENCY
        in_flight.update(lost)
    assert killed >= kills - 3  # the last ones may come to an end first
    finish(begin(program, service.url, folder, "--resume"))
    assert (folder / "dense.run").read_bytes() == expected
    # Nothing was lost, and only what was in flight when it was killed was asked again.
    assert Counter(service.asked()) == Counter(f"q{n}" for n in range(QUERIES)) + in_flight
    assert sum(in_flight.values()) > 0, "no kill hit a query in flight"
    # What is finished is not asked again either.
    total = len(service.asked())
    finish(begin(program, service.url, folder, "--resume"))
    assert len(service.asked()) == total
    assert (folder / "dense.run").read_bytes() == expected
