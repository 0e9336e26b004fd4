"""Commands that run in this process, whose errors are raised."""

import json

import pytest
from typer.testing import CliRunner

from trectools_plus.cli.app import app


@pytest.fixture(scope="session")
def invoke():
    """Call a command with words, of which the first ones may be in one text."""

    def call(command, *words, stdin=None):
        given = [*command.split(), *map(str, words)]
        return CliRunner().invoke(app, given, input=stdin)

    return call


@pytest.fixture(scope="session")
def call(invoke):
    """Call a command, and raise its error; a failed check only has an exit code."""

    def checked(command, *words, stdin=None):
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
