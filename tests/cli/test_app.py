"""Tests of the console commands as processes: help, exit codes, one-line errors."""

import fcntl
import os
import signal
import subprocess
import sys
import termios
import time
from array import array
from pathlib import Path

import pytest
from harness.observe import ROOT

pytestmark = pytest.mark.process

BIN = Path(sys.executable).parent
RUN = ROOT / "fixtures/runs/lexical.run"
QRELS = ROOT / "fixtures/garden-trec/qrels.txt"


@pytest.mark.parametrize(
    ("arguments", "code", "start"),
    [
        (["--help"], 0, "Usage: trectools-plus "),
        (["eval"], 2, "error: missing argument 'QRELS' — see trectools-plus eval -h"),
    ],
)
def test_the_module_is_the_same_program(arguments, code, start):
    programs = ([sys.executable, "-m", "trectools_plus"], [BIN / "trectools-plus"])
    done, by_name = (
        subprocess.run([*words, *arguments], capture_output=True, text=True, check=False)
        for words in programs
    )
    assert done.returncode == code
    assert (done.stdout + done.stderr).startswith(start)
    assert (done.stdout, done.stderr) == (by_name.stdout, by_name.stderr)


MISTAKES = [
    (["eval", QRELS, ROOT], 2, "folder"),
    (["eval", QRELS, RUN, "--low-memory"], 2, "read in chunks"),
    (["eval", QRELS, RUN, "--format", "latex"], 2, "use compare --format latex"),
    (["benchmark", "run", "--resamples", "5"], 2, "write --set resamples=VALUE"),
    (["benchmark", "reproduce"], 2, "repro_eval"),
    (["runs", "info", "missing.run"], 2, "missing.run"),
    (["benchmark", "run", "--topics", "t.tsv"], 2, "dataset"),
    (["eval", QRELS, RUN, "--nonsense"], 2, "--nonsense"),
    (["eval", QRELS, RUN, "--format", "yaml"], 2, "'yaml'"),
]  # fmt: skip


@pytest.mark.every(2)
@pytest.mark.parametrize(("arguments", "code", "word"), MISTAKES, ids=lambda x: str(x)[-40:])
def test_mistakes_are_one_line_with_the_right_code(
    arguments, code, word, tmp_path, program, check_mistake
):
    done = program(["trectools-plus", *arguments], tmp_path)
    check_mistake(done, code, word)
    assert "Value error" not in done.stderr
    assert not list(tmp_path.iterdir()), "nothing half-written is left behind"


def test_an_unwritable_place_is_one_line(tmp_path, program, check_mistake):
    (tmp_path / "file").write_text("")
    runs = (RUN, ROOT / "fixtures/runs/vector.run")
    done = program(["trectools-plus", "runs", "fuse", *runs, "--output", "file/o.run"], tmp_path)
    check_mistake(done, 2, "file")


def test_a_closed_pipe_is_no_error():
    command = f"'{BIN / 'trectools-plus'}' eval '{QRELS}' '{RUN}' --per-query"
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
