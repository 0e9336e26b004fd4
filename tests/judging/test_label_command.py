"""``judge label``: what it says before it asks, interrupted, killed, and resumed."""

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter

import pytest
from harness.plans import make_small
from harness.scripted_server import serve

pytestmark = pytest.mark.process

CONCURRENCY = 4
SECRET = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture
def folder(tmp_path):
    """A folder with a plan of some pairs."""
    make_small(tmp_path)
    return tmp_path


@pytest.fixture
def server():
    """A server that answers."""
    with serve() as running:
        yield running


def command(server, *options):
    """Return the words of a command."""
    words = ["trectools-plus", "judge", "label", "plan", "--endpoint", server.url]
    return [*words, "--model", "tiny", *options]


def read_lines(folder):
    """Return the whole lines of the labels."""
    path = folder / "plan" / "labels.jsonl"
    content = path.read_bytes() if path.exists() else b""
    return [json.loads(line) for line in content.split(b"\n")[:-1]]


def pooled(folder):
    return int(json.loads((folder / "plan" / "plan.json").read_text("utf-8"))["pooled"])


def test_without_a_terminal_nothing_is_asked(program, folder, server):
    for url, where in (
        (server.url, "Documents stay on this machine"),
        ("https://judge.invalid/v1", "Documents leave this machine, for judge.invalid"),
    ):
        words = command(server, "--max-calls", "5")
        words[words.index("--endpoint") + 1] = url
        done = program(words, folder)
        assert done.code == 2
        assert where in done.stderr
        assert "add --yes" in done.stderr
    assert server.asked == []


@pytest.mark.every(2)
@pytest.mark.parametrize(("answer", "asked"), [("n\n", False), ("y\n", True)])
def test_on_a_terminal_the_user_decides(folder, server, answer, asked):
    main, terminal = pytest.importorskip("pty", reason="terminals of POSIX").openpty()
    os.write(main, answer.encode())
    words = [sys.executable, "-m", *command(server)]
    words[2] = "trectools_plus"
    done = subprocess.run(
        words, cwd=folder, stdin=terminal, capture_output=True, text=True, check=False
    )
    os.close(main)
    os.close(terminal)
    assert done.returncode == 0, done.stderr
    assert "Continue?" in done.stderr
    assert bool(server.asked) == asked
    assert ("nothing was asked" in done.stderr) != asked


def test_the_key_is_in_no_output_and_no_file(program, folder):
    with serve({"Text": ["401", "always"]}) as server:
        done = program(
            command(server, "--yes", "--key-from-env", "JUDGE_KEY"), folder, JUDGE_KEY=SECRET
        )
        assert server.requests[0][1]["authorization"] == f"Bearer {SECRET}"
        unset = program(command(server, "--yes", "--key-from-env", "NO_KEY"), folder)
    assert done.code == 2
    assert "error: stopped: HTTP 401 Unauthorized" in done.stderr
    assert SECRET not in done.text + done.stderr
    for path in folder.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path
    assert unset.code == 2
    assert "not set or empty — --key-from-env NO_KEY" in unset.stderr


def test_parameters(program, folder, server):
    options = ("--set", "temperature=0.2", "--set", "max_tokens=none", "--set", "stop=END")
    done = program(command(server, "--yes", *options, "--set", "seed=7"), folder)
    assert done.code == 0, done.stderr
    body = server.requests[0][2]
    assert {name: body[name] for name in body if name not in ("messages", "model")} == {
        "temperature": 0.2,
        "stop": "END",
        "seed": 7,
    }


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("", "no judge given"),
        ("--endpoint localhost:1", "no judge given"),
        ("--judge a:b --model tiny", "--model has no effect with --judge"),
        ("--judge no_such_module:b", "No module named 'no_such_module'"),
        ("--endpoint http://me:pw@x.org --model a", "contains a password, token or key"),
        ("--endpoint localhost:1 --model a --set model=b", "model cannot be set"),
        ("--endpoint localhost:1 --model a --repeat 2", "--repeat"),
    ],
)
def test_wrong_usage(program, folder, check_mistake, options, problem):
    done = program(f"trectools-plus judge label plan --yes {options}", folder)
    check_mistake(done, 2, problem)
    assert not (folder / "plan" / "labels.jsonl").exists() or read_lines(folder) == []


def kill(process, server, arrived, delay):
    """End the process so long after so many questions have arrived."""
    while len(server.asked) < arrived and process.poll() is None:
        time.sleep(0.002)
    time.sleep(delay)
    process.kill()


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_nothing_is_lost_and_nothing_asked_twice_after_kill_9(program, folder, thorough):
    pairs = pooled(folder)
    generator = random.Random(1)
    with serve(delay=0.01) as server:
        kills = 8 if thorough else 3
        for _ in range(kills):
            before = len(server.asked)
            stored = read_lines(folder)
            process = program.start(command(server, "--yes", "--resume"), folder)
            kill(process, server, before + generator.randrange(3, 8), generator.random() / 50)
            time.sleep(0.1)  # answers on their way
            lines = read_lines(folder)
            assert lines[: len(stored)] == stored
            # Only calls in flight have no line.
            assert len(server.asked) - before - (len(lines) - len(stored)) <= CONCURRENCY
        done = program(command(server, "--yes", "--resume"), folder)
        assert done.code == 0, done.stderr
        asked = len(server.asked)
    lines = read_lines(folder)
    assert len(lines) == pairs
    assert max(Counter((one["query_id"], one["doc_id"]) for one in lines).values()) == 1
    assert asked <= pairs + kills * CONCURRENCY
