"""What commands make of every shape of file, whichever way they read it."""

from __future__ import annotations

import pytest
from harness.matrix import COMMANDS, Files, observe_matrix
from harness.program import Program

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def lean(tmp_path_factory, request):
    """The commands in a process that has not loaded Polars."""
    python = str(request.config.getoption("--python"))
    with Program(tmp_path_factory.mktemp("lean"), python=python, lean=True) as running:
        yield running


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return Files(tmp_path_factory.mktemp("files"))


@pytest.mark.every(4)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_shape_gives_the_golden_result(command, program, lean, files, compare):
    compare(f"matrix/{command.name}", observe_matrix(command, program, lean, files))
