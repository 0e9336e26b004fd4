"""Tests of option groups: dataclasses whose fields become options of a command."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from trectools_plus.cli.options.groups import with_groups


@dataclass(frozen=True)
class Size:
    width: Annotated[int, typer.Option(help="How wide.")] = 3
    size: Annotated[str | None, typer.Option("--size", "-s")] = None
    round_: Annotated[bool, typer.Option("--round")] = False


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()

    @app.command()
    @with_groups
    def draw(
        *,
        name: Annotated[str, typer.Argument()],
        first: int = 1,
        size: Size,
        last: int = 9,
    ) -> None:
        """Draw it."""
        typer.echo(f"{name} {first} {size} {last}")

    return app


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        ([], (1, Size(), 9)),
        (["--width", "5", "-s", "b", "--round", "--last", "2"], (1, Size(5, "b", True), 2)),
        (["--first", "4", "--size", "c"], (4, Size(size="c"), 9)),
    ],
)
def test_options_arrive_in_their_group(
    app: typer.Typer, arguments: list[str], values: tuple[int, Size, int]
) -> None:
    done = CliRunner().invoke(app, ["a", *arguments])
    first, size, last = values
    assert done.output == f"a {first} {size} {last}\n"


def test_help_shows_them_in_the_groups_place(app: typer.Typer) -> None:
    text = CliRunner().invoke(app, ["--help"]).output
    shown = re.findall(r"--(\w+)", text)
    wanted = ["first", "width", "size", "round", "last"]
    assert [name for name in shown if name in wanted] == wanted
    assert "How wide." in text
    assert "Draw it." in text


def test_what_an_option_refuses_is_refused(app: typer.Typer) -> None:
    done = CliRunner().invoke(app, ["a", "--width", "b"])
    assert done.exit_code == 2
    assert "--width" in done.output
