"""MkDocs hook: run the commands on docs/gallery.md, and add their reports to the site.

The commands run in an empty folder that contains a copy of fixtures/, once for each build. A link
to the report follows a command that writes one; the output of other commands follows as text.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
PAGE = "gallery.md"
REPORT = "BenchmarkReport.html"
_BLOCK = re.compile(r"^```bash\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the reports to the files of the site."""
    page = Path(config.docs_dir, PAGE)
    for path, content in make_reports(page.read_text("utf-8"))[0].items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Insert the link to a report, or the output of a command, after the block of the command."""
    if page.file.src_uri != PAGE:
        return markdown
    reports, outputs = make_reports(Path(str(page.file.abs_src_path)).read_text("utf-8"))

    def shown(block: re.Match[str]) -> str:
        name = f"{_output_dir(_last_command(block[1]))}/{REPORT}"
        if name in reports:
            return f"{block[0]}\n[Open the report]({name}){{ .md-button }}\n"
        return f"{block[0]}\n```text\n{outputs[block[1]]}\n```\n"

    return _BLOCK.sub(shown, markdown)


@cache
def make_reports(markdown: str) -> tuple[dict[str, str], dict[str, str]]:
    """Run the commands of a page.

    Returns:
        The reports, by the path below docs/; and what each block printed.

    Raises:
        PluginError: If a command fails.
    """
    outputs = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT / "fixtures", folder / "fixtures")
        for block in _BLOCK.findall(markdown):
            outputs[block] = "\n".join(_run(line, folder) for line in _commands(block)).strip()
        reports = {
            path.relative_to(folder).as_posix(): path.read_text("utf-8")
            for path in sorted(folder.rglob(REPORT))
        }
    return reports, outputs


def _run(command: str, folder: Path) -> str:
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            *shlex.split(command.replace("trectools-plus", "trectools_plus", 1)),
        ],
        cwd=folder,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
        capture_output=True,
        encoding="utf-8",
    )
    if ran.returncode not in (0, 1):  # 1 is a finding, for example of a gate
        raise PluginError(f"{PAGE}: {command}: {ran.stderr}")
    return ran.stdout


def _commands(block: str) -> list[str]:
    return block.replace("\\\n", " ").splitlines()


def _last_command(block: str) -> str:
    return _commands(block)[-1]


def _output_dir(command: str) -> str:
    words = shlex.split(command)
    return words[words.index("--output-dir") + 1] if "--output-dir" in words else ""
