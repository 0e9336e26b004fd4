"""Inputs of users: the exit code, and what the output must have and must not have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from harness.files import write
from harness.tables import cases_of

CASES = cases_of(__file__, "cases")


@pytest.mark.parametrize("name", CASES)
def test_an_input(name: str, invoke: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    case = CASES[name]
    for file, text in case["files"].items():
        write(tmp_path / file, text)
    result = invoke(case["command"])
    output = " ".join(f"{result.output} {result.exception}".split())
    assert getattr(result.exception, "exit_code", result.exit_code) == case["exit"], output
    assert [text for text in case["has"] if text not in output] == [], output
    assert [text for text in case.get("lacks", ()) if text in output] == [], output
