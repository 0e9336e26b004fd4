"""About sixty whole sentences of commands, listed in ``sentences.toml``."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from harness.program import Call, Program

FIXTURES = Path(__file__).parent.parent / "fixtures"
FOLDERS = {"RUNS": "runs", "FAULTY": "runs-faulty", "GARDEN": "garden-trec"}

pytestmark = pytest.mark.process


def test_sentences_are_those_of_the_list(tmp_path: Path) -> None:
    (tmp_path / "fixtures").symlink_to(FIXTURES)
    listed = tomllib.loads((Path(__file__).parent / "sentences.toml").read_text("utf-8"))

    def spelled(text: str) -> str:
        for name, folder in FOLDERS.items():
            text = text.replace(f"{name}/", f"fixtures/{folder}/")
            text = text.replace(name, f"fixtures/{folder}")
        return text

    with Program(tmp_path, {"COLUMNS": "100"}) as program:
        done = program.run_all(Call(f"trectools-plus {spelled(one)}", tmp_path) for one in listed)
    lacking = {}
    for (command, case), end in zip(listed.items(), done, strict=True):
        printed = " ".join(f"{end.stdout.decode()} {end.stderr}".split())
        if end.code != case["code"] or spelled(case["text"]) not in printed:
            lacking[command] = (end.code, printed)
    assert lacking == {}
