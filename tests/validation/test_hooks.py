"""The hooks for pre-commit: each takes the files of its kind, and leaves others alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from harness.tables import cases_of

ROOT = Path(__file__).resolve().parents[2]
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
PATTERNS = {hook["id"].removeprefix("trectools-plus-"): hook["files"] for hook in HOOKS}


@pytest.mark.parametrize(
    ("path", "kind"),
    cases_of(__file__, "kinds").items(),
)
def test_each_hook_takes_the_files_of_its_kind(path: str, kind: str) -> None:
    kinds = [name for name, pattern in PATTERNS.items() if re.search(pattern, path)]
    assert kinds == kind.split()
