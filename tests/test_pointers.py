"""Files that comments and docstrings name exist."""

import io
import re
import subprocess
import tokenize
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("trectools_plus", "tests", "scripts")
SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
NAMED = re.compile(
    r"(?<![\w/.<*-])((?:[\w-]+/)*[\w-]+\.(?:py|pyi|js|css))\b"
    r"|`((?:docs|tests|scripts|fixtures|trectools_plus)/[\w./-]*)`"
)
MADE_UP = {"mine.py", "search_service.py"}
"""Files of users in examples."""


def texts(source):
    """Yield the comments, docstrings and descriptions of names in a module."""
    begins_line = True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT or (begins_line and token.type == tokenize.STRING):
            yield token.string
        begins_line = token.type in (
            tokenize.NEWLINE,
            tokenize.INDENT,
            tokenize.DEDENT,
            tokenize.NL,
        )


def test_pointers_lead_somewhere():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout
    paths = listed.split() or [str(path.relative_to(ROOT)) for path in ROOT.rglob("*")]
    whole = {str(parent) for path in paths for parent in (Path(path), *Path(path).parents)}
    exist = {"/".join(path.split("/")[n:]) for path in whole for n in range(path.count("/") + 1)}
    sources = {path: path.read_text("utf-8") for path in SOURCES}
    lost = {
        f"{path.relative_to(ROOT)}: {name}"
        for path, source in sources.items()
        if NAMED.search(source)
        for text in texts(source)
        for names in NAMED.findall(text)
        for name in names
        if name and name.rstrip("/") not in exist | MADE_UP
    }
    assert not lost
