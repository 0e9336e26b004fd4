"""Tests of the console commands as processes: help, exit codes, one-line errors."""

import fcntl
import os
import re
import signal
import subprocess
import sys
import termios
import time
from array import array
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
RUN = ROOT / "fixtures/runs/lexical.run"
QRELS = ROOT / "fixtures/garden-trec/qrels.txt"


def call(*arguments, **options):
    command = [str(BIN / "trectools-plus"), *map(str, arguments)]
    if arguments and arguments[0] in ("runs", "benchmark") and options.pop("short", False):
        command = [str(BIN / str(arguments[0])), *map(str, arguments[1:])]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, **options
    )


@pytest.mark.parametrize(
    ("arguments", "code", "start"),
    [
        (["--help"], 0, "Usage: trectools-plus "),
        pytest.param(
            ["eval", QRELS, "missing.run"],
            2,
            "error: no such file — missing.run",
            marks=pytest.mark.slow("repeats processes"),
        ),
        (["eval"], 2, "error: missing argument 'QRELS' — see trectools-plus eval -h"),
    ],
)
def test_the_module_is_the_same_program(arguments, code, start):
    command = [sys.executable, "-m", "trectools_plus", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    by_name = call(*arguments)
    assert done.returncode == code
    assert (done.stdout + done.stderr).startswith(start)
    assert (done.stdout, done.stderr) == (by_name.stdout, by_name.stderr)


MISTAKES = [
    (["eval", QRELS, "missing.run"], 2, "missing.run"),
    (["eval", QRELS, RUN, "-m", "nDGC@10"], 2, "nDCG"),
    (["eval", QRELS, ROOT / "fixtures/runs-faulty/score-nan.run"], 1, "R111"),
    (["eval", RUN, QRELS], 1, "Q104"),
    (["eval", QRELS, ROOT], 2, "folder"),
    (["explain", "Nonsense@x"], 2, "Nonsense"),
    (["runs", "validate", "missing.run"], 2, "missing.run"),
    (["runs", "validate", RUN, "--select", "X9"], 2, "X9"),
    (["eval", QRELS, RUN, "--low-memory"], 2, "read in chunks"),
    (["eval", QRELS, RUN, "--format", "latex"], 2, "use compare --format latex"),
    (["benchmark", "run", "--resamples", "5"], 2, "write --set resamples=VALUE"),
    (["benchmark", "reproduce"], 2, "repro_eval"),
    (["runs", "fuse", RUN, "--output", "o.run"], 2, "one run"),
    (["runs", "info", "missing.run"], 2, "missing.run"),
    (["runs", "fetch", "--dataset", "nowhere", "--output-dir", "o"], 2, "nowhere"),
    (["runs", "fetch", "--dataset", ROOT / "fixtures/garden-trec", "--output-dir", "o",
      "--modes", "psychic"], 2, "lexical"),
    (["benchmark", "run", "--dataset", "irds:no-such-thing"], 2, "no-such-thing"),
    (["benchmark", "run", "--topics", "t.tsv"], 2, "dataset"),
    (["eval"], 2, "missing argument"),
    (["eval", QRELS, RUN, "--nonsense"], 2, "--nonsense"),
    (["eval", QRELS, RUN, "--format", "yaml"], 2, "'yaml'"),
    (["nonsense"], 2, "nonsense"),
]  # fmt: skip


@pytest.mark.every(2)
@pytest.mark.parametrize(("arguments", "code", "word"), MISTAKES, ids=lambda x: str(x)[-40:])
def test_mistakes_are_one_line_with_the_right_code(arguments, code, word, tmp_path, program):
    done = program(["trectools-plus", *arguments], tmp_path)
    assert done.code == code
    assert word in done.stderr
    assert not re.search("Traceback|Value error", done.stderr)
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1
    assert not done.stdout
    assert not list(tmp_path.iterdir()), "nothing half-written is left behind"


def test_an_unwritable_place_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    output = tmp_path / "file" / "out.run"
    done = call("runs", "fuse", RUN, ROOT / "fixtures/runs/vector.run", "--output", output)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "per_query", [True, pytest.param(False, marks=pytest.mark.slow("repeats a process"))]
)
def test_a_closed_pipe_is_no_error(per_query):
    option = "--per-query" if per_query else ""
    command = f"'{BIN / 'trectools-plus'}' eval '{QRELS}' '{RUN}' {option}"
    line = f"{command} | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("0\n", "")


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_an_interrupt_ends_waiting_for_standard_input(tmp_path, program):
    source, output = tmp_path / "input", tmp_path / "output"
    os.mkfifo(source)
    held = os.open(source, os.O_RDWR)  # an end that stays open
    words = ["trectools-plus", "eval", "-", RUN, "--output", output]
    started = program.start(words, tmp_path, source)
    os.write(held, b"1 0 d1 1\n")
    unread = array("i", [1])
    while unread[0] and started.poll() is None:
        time.sleep(0.02)
        fcntl.ioctl(held, termios.FIONREAD, unread)
    started.send_signal(signal.SIGINT)
    assert started.wait(timeout=30) == 130
    os.close(held)
    assert "Traceback" not in started.stderr.read_text()
    assert (started.stdout.read_text(), output.exists()) == ("", False)


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_signalled_process_cleans_up_first(tmp_path):
    number = signal.SIGTERM
    code = (
        "import sys, tempfile, time\n"
        "from trectools_plus.cli.errors import run_command\n"
        "def command(**_):\n"
        "    with tempfile.TemporaryDirectory(dir=sys.argv[1]):\n"
        "        print('there', flush=True)\n"
        "        time.sleep(60)\n"
        "run_command(command, 'slow')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, tmp_path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    ) as process:
        process.stdout.readline()
        assert [*tmp_path.iterdir()]
        process.send_signal(number)
        _, error = process.communicate(timeout=30)
    assert (process.returncode, error) == (128 + number, "")
    assert not [*tmp_path.iterdir()]
