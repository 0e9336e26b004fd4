"""The review page in a browser: what a person does."""

from __future__ import annotations

import json
from typing import Any

CODES = {
    "ArrowDown": 40,
    "ArrowUp": 38,
    "ArrowLeft": 37,
    "ArrowRight": 39,
    "Delete": 46,
    "Enter": 13,
    "Escape": 27,
    "Tab": 9,
}


def visit(page: Any, url: str, width: int = 1440, height: int = 900) -> None:
    """Open an address, and wait until it is loaded."""
    page.resize(width, height)
    page.problems.clear()
    page.requests.clear()
    page.call("Page.navigate", url="about:blank")
    page.wait_for("location.href === 'about:blank'")
    page.call("Page.navigate", url=url)
    page.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")


def start_anew(page: Any, url: str, width: int = 1440) -> None:
    """Open the page as someone who never saw it: servers may get the same port again."""
    visit(page, url, width)
    page.run("sessionStorage.clear()")
    visit(page, url, width)


def reload(page: Any) -> None:
    """Load the page again, in two navigations whose ends are known."""
    assert page.problems == []
    visit(page, page.run("location.href"))


def press(page: Any, *keys: str) -> None:
    """Press keys, one after the other."""
    for key in keys:
        text = "" if len(key) > 1 else key
        number = CODES.get(key) or (187 if key == "=" else 191 if key == "?" else ord(key.upper()))
        page.press(key, key, number, "\r" if key == "Enter" else text)


def begin(page: Any, name: str) -> None:
    """Enter a name, and begin."""
    page.wait_for("!document.getElementById('start').hidden")
    page.wait_for("document.activeElement.id === 'name'")
    page.call("Input.insertText", text=name)
    press(page, "Enter")


def is_saved(page: Any, words: str) -> None:
    """Wait for words in the status line."""
    page.wait_for(f"document.getElementById('status').textContent.includes({json.dumps(words)})")


def state(page: Any) -> Any:
    """Return the state of the page's script."""
    return page.run("({...state, number: view.query, at})")


def worked(page: Any) -> None:
    """Wait for the first query."""
    page.wait_for("view !== null && !document.getElementById('work').hidden")


def is_accessible(page: Any, axe: str) -> None:
    """Check the page with axe, and that it is not wider than the window."""
    page.run(axe + "; 0")
    violations = page.run(
        "axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations"
        ".map((rule) => [rule.impact, rule.id, rule.nodes.map((one) => one.target.join())]))"
    )
    assert violations == []
    assert page.run("document.scrollingElement.scrollWidth <= innerWidth")
