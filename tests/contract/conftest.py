"""Cases that have run, and frozen documents.

`pytest tests/contract --freeze` writes the frozen documents instead of comparing with them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from harness.cases import CASES
from harness.normal import differences, read_document, write_document
from harness.observe import observe, prepare
from harness.program import Program

FROZEN = Path(__file__).parent / "frozen"
SHOWN_DIFFERENCES = 20

Observed = Callable[[str], tuple[dict[str, Any], Path]]
Compare = Callable[..., None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--freeze", action="store_true", help="write the frozen documents of tests/contract"
    )


@pytest.fixture(scope="session")
def observed(
    program: Program, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Observed:
    """Runs a case once, and the cases that it comes after."""
    folder = tmp_path_factory.mktemp("cases")
    documents: dict[str, dict[str, Any]] = {}
    folders: dict[str, Path] = {}

    def run(name: str) -> tuple[dict[str, Any], Path]:
        if name not in documents:
            case = CASES[name]
            for module in case.needs:
                if module != "shared" and find_spec(module) is None:
                    pytest.skip(f"{module} is not installed")
            needs_shared = "shared" in case.needs
            shared = request.getfixturevalue("shared_data") if needs_shared else None
            for earlier in case.after:
                run(earlier)
            folders[name] = folder / name
            prepare(case, folders[name], shared, folders)
            documents[name] = observe(case, folders[name], program, program.cache)
        return documents[name], folders[name]

    return run


@pytest.fixture(scope="session")
def compare(request: pytest.FixtureRequest) -> Compare:
    """Compares a document with its frozen one, or freezes it."""
    freezes = request.config.getoption("--freeze", default=False)

    def check(name: str, document: Any, *, loose: bool = False) -> None:
        path = FROZEN / f"{name}.json"
        if freezes:
            write_document(path, document)
            return
        assert path.exists(), f"{name} is not frozen: pytest tests/contract --freeze"
        found = list(differences(read_document(path), document, loose=loose))
        shown = "\n".join(found[:SHOWN_DIFFERENCES])
        assert not found, f"{len(found)} differences from {path.name}:\n{shown}"

    return check
