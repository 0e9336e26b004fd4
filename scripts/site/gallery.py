"""MkDocs hook: run the commands on docs/results.md, and add their reports to the site.

The commands run in an empty folder, one after the other, once for each build. A link to the report
follows a block whose last command writes one; otherwise a picture of this command's output follows.
"""

from __future__ import annotations

import re
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))
from terminal import draw, run  # the folder is not a package

PAGE = "results.md"
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
    """Insert the link to a report, or the picture of an output, after the block of the command."""
    if page.file.src_uri != PAGE:
        return markdown
    _, results = make_reports(Path(str(page.file.abs_src_path)).read_text("utf-8"))
    return _BLOCK.sub(lambda block: f"{block[0]}\n{results[block[1]]}\n", markdown)


@cache
def make_reports(markdown: str) -> tuple[dict[str, str], dict[str, str]]:
    """Run the commands of a page.

    Returns:
        The reports and the pictures of outputs, by their paths below docs/; and what follows each
        block.
    """
    made, results = {}, {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, block in enumerate(_BLOCK.findall(markdown)):
            *earlier, last = block.replace("\\\n", "\0").splitlines()
            for command in earlier:
                run(command.replace("\0", ""), folder)
            known = set(_reports(folder))
            output = run(last.replace("\0", ""), folder)
            if new := [path for path in _reports(folder) if path not in known]:
                results[block] = f"[Open the report]({new[0]}){{ .md-button }}"
            else:
                picture = f"{FOLDER}/output-{number}.svg"
                made[picture] = draw(last.replace("\0", "\\\n"), output)
                results[block] = f"![The output of the last command]({picture})"
        return made | _reports(folder), results


def _reports(folder: Path) -> dict[str, str]:
    return {
        f"{FOLDER}/{path.relative_to(folder).as_posix()}": path.read_text("utf-8")
        for path in sorted(folder.rglob(REPORT))
    }
