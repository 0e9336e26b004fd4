"""Commands and options by name, a document for every command, and commands started cold."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from harness.cases import CASES
from harness.help_pages import command_tree

from trectools_plus.validation import CATALOGUE

pytestmark = pytest.mark.process

BIN = Path(sys.executable).parent
SERVERS = {"trectools-plus serve", "trectools-plus review serve"}
"""Commands without a case: they run until they are stopped. `test_servers.py` starts them."""


@pytest.fixture(scope="module")
def tree(program, tmp_path_factory):
    """Every command by name, with what its help lists."""
    return command_tree(program, tmp_path_factory.mktemp("help"))


def test_commands_and_options_have_their_names(tree, compare):
    assert len(tree) > 50
    assert all("-h --help" in page["options"] or "-h" in page["options"] for page in tree.values())
    compare("commands", tree)


def used(words):
    return [
        step
        for case in CASES.values()
        for step in case.commands
        if f"{long_name(step)} ".startswith(f"{words} ")
    ]


def long_name(command):
    return command if command.startswith("trectools-plus ") else f"trectools-plus {command}"


def leaves(tree):
    long = [name for name in tree if name.startswith("trectools-plus")]
    return [name for name in long if not any(other.startswith(f"{name} ") for other in long)]


def test_every_command_has_a_case(tree):
    assert {name for name in leaves(tree) if not used(name)} == SERVERS


def test_every_json_document_is_frozen(tree, observed):
    """A command with --format json has a case that succeeds and prints a document."""
    with_json = [name for name in leaves(tree) if re.search(r"\bjson\b", str(formats(tree[name])))]
    assert len(with_json) > 20
    missing = []
    for name in with_json:
        steps = [step for step in used(name) if re.search(r"--format json\b", step)]
        if not steps:
            missing.append(name)
    assert not missing, f"no case of {missing} prints --format json"


def formats(page):
    return [words for name, words in page["options"].items() if "--format" in name.split()]


@pytest.mark.parametrize("name", ["trectools-plus", "runs", "benchmark"])
def test_console_scripts_start(name):
    done = subprocess.run([BIN / name, "-h"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith(f"Usage: {name} ")


@pytest.mark.parametrize(
    "command",
    [
        "trectools-plus eval fixtures/garden-trec/qrels.txt fixtures/runs/tied.run --format json",
        "runs validate fixtures/runs-faulty/score-nan.run --format json",
        "benchmark gate --current nowhere --baseline nowhere",
        "trectools-plus no-such-command",
    ],
)
def test_a_cold_start_does_the_same(command, program, request):
    words = command.split()
    root = request.config.rootpath
    cold = subprocess.run([BIN / words[0], *words[1:]], cwd=root, capture_output=True, check=False)
    warm = program(command, root)
    assert (warm.code, warm.stdout) == (cold.returncode, cold.stdout)
    assert warm.stderr == cold.stderr.decode()


def test_every_rule_and_fix_is_listed(compare):
    """Rules with code, name, severity, scope and kind of fix."""
    levels = {"error": "error", "warning": "warning", "info": "note"}
    names = {rule.code: rule.name.title().replace("-", "") for rule in CATALOGUE}
    listed = [
        f"{rule.code} {names[rule.code]}: {levels[rule.severity]}, {rule.on}, fix {rule.fix_kind}"
        for rule in CATALOGUE
    ]
    compare("rules", dict.fromkeys(("runs", "qrels", "topics", "testset"), listed))
