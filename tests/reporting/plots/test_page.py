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
    shown = (
        "for axes in figure.axes:\n"
        "    curves = [line.get_label() for line in axes.get_lines()]\n"
        "    print(axes.get_xlabel(), axes.get_ylabel(), sorted(curves), sep=' | ')\n"
    )
    code = "\n".join([*blocks, shown])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "Recall | Interpolated precision | ['lexical', 'vector']",
        "k (number of first results, logarithmic) | HitRate@k | ['lexical', 'vector']",
    ]
