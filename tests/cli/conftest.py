"""Commands that run in this process, whose errors are raised."""

import json

import pytest
from typer.testing import CliRunner

from trectools_plus.cli.app import app
from trectools_plus.errors import TrectoolsPlusError


@pytest.fixture(scope="session")
def invoke():
    """Call a command with words, of which the first ones may be in one text."""

    def call(command, *words, stdin=None):
        return CliRunner().invoke(app, [*command.split(), *map(str, words)], input=stdin)

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
def refusal(invoke):
    """Call a command that is refused, and return its error."""

    def refused(command, *words):
        result = invoke(command, *words)
        assert isinstance(result.exception, TrectoolsPlusError), result.output
        assert result.exception.exit_code in (1, 2)
        return str(result.exception)

    return refused


@pytest.fixture(scope="session")
def check_exit_code(invoke):
    """Check the exit code of a validation, in text and with the findings of its document."""

    def check(command, words, code):
        assert invoke(command, *words).exit_code == code
        done = invoke(command, *words, "--format", "json")
        assert done.exit_code == code
        found = [one for file in json.loads(done.stdout)["files"] for one in file["findings"]]
        fails = ("error", "warning") if "--strict" in words else ("error",)
        assert any(one["severity"] in fails for one in found) == bool(code)

    return check


@pytest.fixture(scope="session")
def document(call):
    """Call a command, and return the JSON document that it prints."""
    return lambda *words, stdin=None: json.loads(
        call(*words, "--format", "json", stdin=stdin).stdout
    )
