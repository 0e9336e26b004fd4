"""Fixtures for every test."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says more of the machine than of the code.
settings.register_profile("any-machine", deadline=None)
settings.load_profile("any-machine")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real files that tests use where they stand.

    ``TRECTOOLS_PLUS_SHARED_DATA`` names it; by default it lies beside the repository. Without it
    such tests are skipped, or fail when ``REQUIRE_SHARED_DATA=1``.
    """
    default = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    folder = Path(os.environ.get("TRECTOOLS_PLUS_SHARED_DATA") or default)
    if not folder.is_dir():
        reason = f"no shared test data in {folder}: set TRECTOOLS_PLUS_SHARED_DATA"
        if os.environ.get("REQUIRE_SHARED_DATA") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return folder


@pytest.fixture(scope="session")
def ir_datasets_home(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A writable copy of the ``ir_datasets`` cache that holds Cranfield.

    Tests point ``IR_DATASETS_HOME`` at it before anything imports ``ir_datasets``.
    """
    home = tmp_path_factory.mktemp("ir_datasets") / "home"
    shutil.copytree(shared_data / "ir_datasets_home", home)
    for path in (home, *home.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)
    return home
