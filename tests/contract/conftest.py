"""Cases that have run, and the documents with which their results are compared.

`pytest tests/contract --freeze` writes what differs from the golden documents instead of checking
it. CONTRIBUTING.md has the use of `--golden`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from harness.cases import CASES
from harness.golden import freeze, from_golden, golden_path, problems
from harness.normal import write_document
from harness.observe import observe, prepare
from harness.program import Program

SHOWN_DIFFERENCES = 20

Observed = Callable[[str], tuple[dict[str, Any], Path]]
Compare = Callable[..., None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--freeze", action="store_true", help="write the frozen documents of tests/contract"
    )
    parser.addoption(
        "--golden",
        choices=["record", "compare"],
        help="write the golden documents, or list all differences from them",
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
            cache = Path(os.environ["TRECTOOLS_PLUS_CACHE"])
            documents[name] = observe(case, folders[name], program, cache)
        return documents[name], folders[name]

    return run


@pytest.fixture(scope="session")
def compare(request: pytest.FixtureRequest) -> Compare:
    """Compares a document with the golden one and what is frozen, or writes one of these."""
    option = request.config.getoption
    freezes, golden = option("--freeze", default=False), option("--golden", default=None)

    def check(name: str, document: Any, *, loose: bool = False) -> None:
        if freezes:
            freeze(name, document, loose=loose)
        elif golden == "record":
            write_document(golden_path(name), document)
        else:
            find = from_golden if golden else problems
            found = [*map(str, find(name, document, loose=loose))]
            shown = "\n".join(found if golden else found[:SHOWN_DIFFERENCES])
            assert not found, f"{len(found)} differences in {name}:\n{shown}"

    return check
