"""Tests of the shell completion of names and values, called as a shell calls it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from harness.program import Program

pytestmark = pytest.mark.process

BIN = Path(sys.executable).parent


@pytest.fixture
def complete(program: Program, tmp_path: Path):
    """Return a function that lists the completions of a line, with the cursor at its end."""

    def completions(line: str, shell: str = "bash") -> list[str]:
        words = line.split(" ")
        name = words[0].replace("-", "_").upper()
        variables = {f"_{name}_COMPLETE": f"complete_{shell}"}
        if shell == "bash":
            variables |= {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
        else:
            variables |= {"_TYPER_COMPLETE_ARGS": line}
        done = program([words[0]], tmp_path, **variables)
        assert (done.code, done.stderr) == (0, ""), done
        return done.text.split()

    return completions


def test_commands_are_completed(complete):
    assert complete("trectools-plus e") == ["eval", "explain", "extraction"]
    assert complete("runs ") == ["validate", "fetch", "fuse", "convert", "info"]
    assert complete("trectools-plus benchmark comp") == ["compare", "compare-vectors"]


def test_options_are_completed(complete):
    assert complete("trectools-plus eval --per") == ["--per-query"]
    assert complete("runs fetch --http-u") == ["--http-url"]


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("runs fuse --missing-documents ", {"last", "zero"}),
        ("runs validate --format j", {"json"}),
        ("trectools-plus qrels validate --on-conflict m", {"max", "min"}),
        ("trectools-plus extraction run data --method ", {"dictionary", "retrieval", "both"}),
    ],
)
def test_values_are_completed(complete, line, some):
    if line.startswith("qrels"):
        line = f"trectools-plus {line}"
    last = line.rpartition(" ")[2]
    found = complete(line)
    assert some <= set(found)
    assert all(name.startswith(last) for name in found)
    assert len(found) == len(set(found))


def test_files_are_left_to_the_shell(complete):
    assert complete("trectools-plus eval ") == []
    assert complete("benchmark run --dataset fol") == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_show_the_summaries(shell, program, tmp_path):
    variables = {
        "_RUNS_COMPLETE": f"complete_{shell}",
        "_TYPER_COMPLETE_ARGS": "runs f",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = program(["runs"], tmp_path, **variables)
    assert "fuse" in done.text
    assert "Merge run files" in done.text


@pytest.mark.skipif(os.name == "nt", reason="needs bash")
def test_bash_completes_with_the_installed_script(tmp_path):
    script = subprocess.run(
        [BIN / "runs", "--show-completion"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": ""},
    ).stdout
    if "complete -o default" not in script:
        source = {**os.environ, "_RUNS_COMPLETE": "source_bash"}
        script = subprocess.run(
            [BIN / "runs"], capture_output=True, text=True, check=True, env=source
        ).stdout
    (tmp_path / "script").write_text(script, encoding="utf-8")
    line = f"""
        PATH='{BIN}':$PATH; source '{tmp_path}/script'
        COMP_WORDS=(runs fuse --missing-documents l); COMP_CWORD=3
        $(complete -p runs | sed 's/.*-F \\([^ ]*\\).*/\\1/') runs
        echo "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["last"]
