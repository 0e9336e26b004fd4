"""Pictures of terminal output for the documentation, drawn from the output of real commands."""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
WIDTH = 100
_RUN = "trectools-plus benchmark run --qrels trectools-plus-demo/qrels.txt"
PICTURES = {
    "assets/terminal.svg": [
        "trectools-plus benchmark run --dataset sample --modes lexical,vector,hybrid \\\n"
        "    --measure nDCG@10,RR@10,AP --output-dir results"
    ],
    "assets/validate.svg": [
        "trectools-plus runs validate fixtures/runs-faulty/duplicate-document.run"
    ],
    "assets/gate.svg": [
        "trectools-plus demo",
        f"{_RUN} --runs search=trectools-plus-demo/runs/vector.run --output-dir before",
        f"{_RUN} --runs search=trectools-plus-demo/runs/lexical.run --output-dir after",
        "trectools-plus benchmark gate --baseline before --current after --measure nDCG@10,RR@10",
    ],
}
"""The commands of each picture; it shows the last one."""
_FORMAT = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL).replace(
    "Fira Code, monospace", "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
)
"""Rich's picture without the fonts, which a browser would load from another host."""


def draw_pictures() -> dict[str, str]:
    """Return each picture as SVG, by its path below docs/."""
    return {path: _draw(commands) for path, commands in PICTURES.items()}


def _draw(commands: list[str]) -> str:
    with tempfile.TemporaryDirectory() as name:
        shutil.copytree(FIXTURES, Path(name, "fixtures"))
        output = [run(command, Path(name)) for command in commands][-1]
    return draw(commands[-1], output)


def draw(command: str, output: str) -> str:
    """Return the picture of a command and its output as SVG."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), legacy_windows=False)
    console.print(f"[bold]$ {command}[/bold]", highlight=False, soft_wrap=True)
    console.print(Text.from_ansi(output.rstrip()))
    picture = console.export_svg(title="trectools-plus", theme=MONOKAI, code_format=_FORMAT)
    return re.sub(r"<!--.*?-->|[ \t]+$", "", picture, flags=re.MULTILINE).strip() + "\n"


def run(command: str, folder: Path) -> str:
    """Return what a command prints in a terminal.

    Raises:
        ChildProcessError: If it fails.
    """
    words = shlex.split(command.replace("\\\n", " "))[1:]
    ran = subprocess.run(
        [sys.executable, "-m", "trectools_plus", *words],
        cwd=folder,
        env={**os.environ, "COLUMNS": str(WIDTH), "FORCE_COLOR": "1", "NO_COLOR": ""},
        capture_output=True,
        encoding="utf-8",
    )
    if ran.returncode not in (0, 1):  # 1 is a finding, for example of a gate
        raise ChildProcessError(f"{command}: {ran.stderr}")
    return ran.stdout
