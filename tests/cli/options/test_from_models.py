"""Tests of options that are made from the settings of a model."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pytest
import typer
from pydantic import BaseModel
from typer.testing import CliRunner

from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.cli.options.from_models import Given, SettingOptions
from trectools_plus.cli.options.groups import with_groups
from trectools_plus.retrieval.setting_types import Flag, Names, Number, Option, WholeNumber, setting


class Service(BaseModel):
    url: str = setting("", "Where it is.", Option("URL", names="--service-url"))
    key: str = setting("k", "Only in files.")


class Search(BaseModel):
    depth: WholeNumber = setting(100, "How deep.", Option("N", minimum=1), ge=1)
    level: Number | None = setting(None, "How far.", Option("LEVEL", default="as needed"))
    modes: Names = setting(("a", "b"), "Which ones.", Option("NAMES", is_repeated=True))
    kind: Literal["x", "y"] = setting("x", "What kind.", Option())
    exact: Flag = setting(False, "Exactly.", Option())
    parts: Flag | None = setting(None, "In parts.", Option())
    checked: Flag = setting(True, "Check.", Option(names="--no-checks", constant=False))
    weights: dict[str, Number] = setting(dict, "By name.")
    service: Service | None = setting(None, "Set one of its keys.", Option("NAME=VALUE"))


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()

    @app.command()
    @with_groups
    def search(*, given: Annotated[Given, SettingOptions(Search)]) -> None:
        typer.echo(json.dumps(given))

    return app


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ([], {}),
        (["--depth", "3", "--level", "0.5"], {"depth": 3, "level": 0.5}),
        (["--modes", "c,d", "--modes", "e"], {"modes": "c,d,e"}),
        (["--kind", "y", "--exact"], {"kind": "y", "exact": True}),
        (["--no-parts", "--no-checks"], {"parts": False, "checked": False}),
        (["--service-url", "u"], {"service": {"url": "u"}}),
        (
            ["--service", "url=v", "--service", "key=w", "--service-url", "u"],
            {"service": {"url": "u", "key": "w"}},
        ),
    ],
)
def test_a_command_gets_the_settings_that_were_given(
    app: typer.Typer, words: list[str], given: dict[str, Any]
) -> None:
    assert json.loads(CliRunner().invoke(app, words).output) == given


def test_help_has_the_description_and_the_default() -> None:
    made = {
        name: annotation.__metadata__[0]
        for name, annotation, _ in SettingOptions(Search).parameters()
    }
    assert {name: one.help for name, one in made.items()} == {
        "depth": "How deep.  [default: 100]",
        "level": "How far.  [default: as needed]",
        "modes": "Which ones.  [default: a,b]",
        "kind": "What kind.  [default: x]",
        "exact": "Exactly.",
        "parts": "In parts.",
        "checked": "Check.",
        "service": "Set one of its keys.",
        "service_url": "Where it is.",
    }
    assert made["depth"].min == 1
    assert made["parts"].default == "--parts/--no-parts"  # as Typer reads it


def test_only_the_named_settings_are_options() -> None:
    assert SettingOptions(Search, "depth", "service").name_options() == {
        "depth": "--depth",
        "service": "--service",
        "service.url": "--service-url",
    }


def test_an_assignment_needs_a_value(app: typer.Typer) -> None:
    assert "has no '='" in str(CliRunner().invoke(app, ["--service", "url"]).exception)


def test_every_option_of_a_benchmark_is_described() -> None:
    options = SettingOptions(BenchmarkConfig).options.values()
    assert len(options) > 40
    assert all(one.field.description for one in options)
