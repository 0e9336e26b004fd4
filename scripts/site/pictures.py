"""Pictures of report pages, taken by Chromium."""

from __future__ import annotations

import base64
import importlib.util
import io
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from gallery import make_reports
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
COLOURS = 64
SETTLED_MS = 500
"""Time in which a report draws its tables, which moves the parts below them."""
SAMPLE = (48, 30)
"""Width and height of the grey pictures that are compared."""
MOST_DIFFERENT = 0.03
"""The mean difference of grey values, between 0 and 1, from which a picture is out of date."""
DEMO = "trectools-plus-demo/report/BenchmarkReport.html"
REPORTS = {
    "report.png": (DEMO, 1280, 800),
    "gallery-two-runs.png": ("two-runs/BenchmarkReport.html", 1000, 640),
    "gallery-three-modes.png": (f"{DEMO}#q=8", 1280, 800),
    "gallery-hpo.png": ("hpo/BenchmarkReport.html#queries", 1000, 640),
}
"""Page of the gallery, perhaps with a part to open, and size of the window."""


def shows_the_same(old: bytes, new: bytes) -> bool:
    """Compare two pictures, reduced to a few grey pixels."""
    pictures = [Image.open(io.BytesIO(content)) for content in (old, new)]
    greys = [
        np.asarray(picture.convert("L").resize(SAMPLE, Image.Resampling.BOX), dtype=float) / 255
        for picture in pictures
    ]
    is_near = np.abs(greys[0] - greys[1]).mean() <= MOST_DIFFERENT
    return pictures[0].size == pictures[1].size and bool(is_near)


def take_pictures(folder: Path) -> dict[str, bytes]:
    """Return the pictures by file name.

    Args:
        folder: For files that are only needed until then.
    """
    reports, _ = make_reports((ROOT / "docs/results.md").read_text("utf-8"))
    for path, html in reports.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(html, "utf-8")
    page = browser().Page(folder / "profile", "chromium")
    pictures = {}
    try:
        for name, (path, width, height) in REPORTS.items():
            show(page, f"{folder.as_uri()}/gallery/{path}", width, height)
            pictures[name] = take_picture(page)
    finally:
        page.close()
    return pictures


def browser() -> ModuleType:
    """Return the module of the browser that the tests use."""
    path = ROOT / "tests/reporting/browser/conftest.py"
    spec = importlib.util.spec_from_file_location("browser", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def show(page: Any, url: str, width: int, height: int) -> None:
    """Load a page into a window of this size."""
    page.resize(width, height)
    page.call("Emulation.setScrollbarsHidden", hidden=True)
    for address in ("about:blank", url):
        page.call("Page.navigate", url=address)
        page.wait_for(
            f"document.readyState === 'complete' && location.href.startsWith({address!r})"
        )
    if section := re.search(r"#(\w+)$", url):
        page.run(f"document.getElementById({section[1]!r}).open = true")
        page.run(f"new Promise(done => setTimeout(done, {SETTLED_MS}))")
        page.run(f"document.getElementById({section[1]!r}).scrollIntoView()")


def take_picture(page: Any) -> bytes:
    """Return what the window shows, with few colours so that the file is small."""
    page.run("document.fonts.ready.then(() => new Promise(requestAnimationFrame))")
    shown = page.call("Page.captureScreenshot", format="png")["data"]
    picture = Image.open(io.BytesIO(base64.b64decode(shown))).convert("RGB")
    small = io.BytesIO()
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()
