"""Tests of the shell completion of names and values, called as a shell calls it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from harness.program import Program

from trectools_plus.choices import ALL_MODES, STRATEGIES
from trectools_plus.testsets import shipped_names

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
    assert complete("runs fetch --mil") == ["--milvus-uri"]


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("trectools-plus eval qrels.txt a.run -m nDCG", {"nDCG", "nDCG@10"}),
        ("trectools-plus eval qrels.txt a.run --measures AP", {"AP", "AP@10"}),
        ("benchmark run --measure RR@10,nD", {"RR@10,nDCG", "RR@10,nDCG@10"}),
        ("benchmark run --modes lexical,", {f"lexical,{name}" for name in ALL_MODES[1:]}),
        ("benchmark run --dataset h", {"hpo"}),
        ("benchmark run --dataset irds:cranfield", {"irds:cranfield"}),
        ("benchmark run --correction h", {"holm"}),
        ("benchmark run --missing ", {"zero", "drop"}),
        ("benchmark run --backend m", {"milvus"}),
        ("benchmark run --aggregation-strategy ", set(STRATEGIES)),
        ("benchmark run --set rrf", {"rrf_k="}),
        ("benchmark run --test-file hpo-en", {n for n in shipped_names() if "-en" in n}),
        ("benchmark gate -m R@10,AP", {"R@10,AP@10"}),
        ("runs fuse --method bor", {"borda"}),
        ("runs fuse --missing-documents ", {"last", "zero"}),
        ("runs fuse --method comb", {"combsum", "combmnz", "combmax"}),
        ("runs fetch --collapse ", {"max", "first", "sum"}),
        ("runs validate --profile ", {"default", "trec", "submission"}),
        ("runs validate --select R10", {"R101", "R102"}),
        ("qrels validate --ignore Q101,Q10", {"Q101,Q102"}),
        ("runs validate --fix dupl", {"duplicate-document"}),
        ("runs validate --format j", {"json"}),
        ("trectools-plus qrels validate --on-conflict m", {"max", "min"}),
        ("trectools-plus testset split hpo-en", {n for n in shipped_names() if "-en" in n}),
        ("trectools-plus extraction run data --method ", {"dictionary", "retrieval", "both"}),
        ("trectools-plus extraction run data --retriever l", {"lexical", "label_only"}),
        ("trectools-plus explain nDCG", {"nDCG", "nDCG@10"}),
        ("trectools-plus explain R13", {"R131"}),
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
        COMP_WORDS=(runs fuse --method com); COMP_CWORD=3
        $(complete -p runs | sed 's/.*-F \\([^ ]*\\).*/\\1/') runs
        echo "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["combsum", "combmnz", "combmax"]
