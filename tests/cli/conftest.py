"""Commands that run in this process, whose errors are raised."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner, Result

from trectools_plus.cli.app import app


@pytest.fixture(scope="session")
def invoke():
    """Call a command with words, of which the first ones may be in one text."""

    def call(command: str, *words: object, stdin: str | None = None) -> Result:
        given = [*command.split(), *map(str, words)]
        return CliRunner().invoke(app, given, input=stdin)

    return call


@pytest.fixture(scope="session")
def call(invoke):
    """Call a command, and raise its error; a failed check only has an exit code."""

    def checked(command: str, *words: object, stdin: str | None = None) -> Result:
        result = invoke(command, *words, stdin=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return checked


@pytest.fixture(scope="session")
def document(call):
    """Call a command, and return the JSON document that it prints."""
    return lambda *words, stdin=None: json.loads(
        call(*words, "--format", "json", stdin=stdin).stdout
    )
