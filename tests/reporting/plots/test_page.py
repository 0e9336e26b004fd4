"""The page on plots: its examples run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_pages_code_runs() -> None:
    page = (ROOT / "docs" / "plots.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert blocks
    subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(blocks)], cwd=ROOT, check=True, timeout=120
    )
