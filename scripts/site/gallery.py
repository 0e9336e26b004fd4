"""MkDocs hook: run the commands on docs/gallery.md, and add their reports to the site.

The commands run in an empty folder, one after the other, once for each build. A link to the report
follows a block whose last command writes one; otherwise the output of this command follows.
"""

from __future__ import annotations

import os
import re
import shlex
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

PAGE = "gallery.md"
FOLDER = "gallery"
"""The folder of the reports, below docs/."""
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
    _, results = make_reports(Path(str(page.file.abs_src_path)).read_text("utf-8"))
    return _BLOCK.sub(lambda block: f"{block[0]}\n{results[block[1]]}\n", markdown)


@cache
def make_reports(markdown: str) -> tuple[dict[str, str], dict[str, str]]:
    """Run the commands of a page.

    Returns:
        The reports, by their paths below docs/; and what follows each block.

    Raises:
        PluginError: If a command fails.
    """
    results = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for block in _BLOCK.findall(markdown):
            *earlier, last = block.replace("\\\n", " ").splitlines()
            for command in earlier:
                _run(command, folder)
            known = set(_reports(folder))
            output = _run(last, folder).strip()
            new = [path for path in _reports(folder) if path not in known]
            link = f"[Open the report]({new[0]}){{ .md-button }}" if new else ""
            results[block] = link or f"```text\n{output}\n```"
        return _reports(folder), results


def _reports(folder: Path) -> dict[str, str]:
    return {
        f"{FOLDER}/{path.relative_to(folder).as_posix()}": path.read_text("utf-8")
        for path in sorted(folder.rglob(REPORT))
    }


def _run(command: str, folder: Path) -> str:
    words = shlex.split(command.replace("trectools-plus", "trectools_plus", 1))
    ran = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
        capture_output=True,
        encoding="utf-8",
    )
    if ran.returncode not in (0, 1):  # 1 is a finding, for example of a gate
        raise PluginError(f"{PAGE}: {command}: {ran.stderr}")
    return ran.stdout
