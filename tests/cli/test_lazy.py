"""Plain values of options are converted as Typer converts them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_command

from trectools_plus.cli.lazy import convert_plain_values

KINDS: dict[str, Any] = {
    "text": Annotated[str, typer.Option("--value")],
    "optional text": Annotated[str | None, typer.Option("--value")],
    "texts": Annotated[list[str] | None, typer.Option("--value")],
    "flag": Annotated[bool, typer.Option("--value")],
    "switch": Annotated[bool | None, typer.Option("--value/--no-value")],
    "whole number": Annotated[int, typer.Option("--value", min=0, max=99)],
    "optional number": Annotated[int | None, typer.Option("--value")],
    "decimal": Annotated[float, typer.Option("--value", min=0.5)],
    "choice": Annotated[Literal["one", "two"], typer.Option("--value")],
    "numbers": Annotated[list[int] | None, typer.Option("--value")],
    "path": Annotated[Path | None, typer.Option("--value")],
    "existing file": Annotated[Path | None, typer.Option("--value", exists=True, dir_okay=False)],
    "callback": Annotated[str | None, typer.Option("--value", callback=lambda value: f"{value}!")],
}
DEFAULTS = {"text": "a", "flag": False, "whole number": 3, "decimal": 1, "choice": "two"}
NO_VALUE = {"flag", "switch"}
WORDS = st.one_of(
    st.sampled_from(["one", "One", "two", "", "-", "1", "007", "1e2", "1.5", "0.25", "-1", "100"]),
    st.sampled_from(
        [" 1", "1_0", "٣", "nan", "inf", "a\udcff", __file__, str(Path(__file__).parent)]
    ),
    st.integers().map(str),
    st.floats().map(str),
    st.text(max_size=5),
)


def build(kind: str, seen: list[Any]) -> Any:
    """Return a command of Typer that adds its value to a list."""
    default = DEFAULTS.get(kind)

    def command(value: Any = default) -> None:
        seen.append(value)

    command.__annotations__["value"] = KINDS[kind]
    app = typer.Typer()
    app.command()(command)
    return get_command(app)


def outcome(kind: str, words: list[str], *, converts: bool) -> Any:
    """Return the type and value that a command line gives, or its error."""
    seen: list[Any] = []
    built = build(kind, seen)
    if converts:
        convert_plain_values(built.params)
    try:
        built.main(words, prog_name="p", standalone_mode=False)
    except Exception as error:
        return type(error).__name__, getattr(error, "message", str(error))
    return type(seen[0]), repr(seen[0])


@pytest.mark.parametrize("kind", KINDS)
@given(values=st.lists(WORDS, max_size=2))
def test_values_and_errors_are_those_of_typer(kind: str, values: list[str]) -> None:
    words = [f"--value={value}" for value in values]
    if kind in ("flag", "switch"):
        names = ["--value", "--no-value"] if kind == "switch" else ["--value"]
        words = [names[len(value) % len(names)] for value in values]
    assert outcome(kind, words, converts=True) == outcome(kind, words, converts=False)


@pytest.mark.parametrize(
    ("kind", "value"),
    [("text", "a"), ("texts", "a"), ("whole number", "7"), ("choice", "one"), ("path", "new")],
)
def test_plain_values_are_not_left_to_typer(
    kind: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = build(kind, [])
    convert_plain_values(built.params)
    for parameter in built.params:
        monkeypatch.setattr(parameter, "get_runtime_param", None, raising=False)
    built.main([f"--value={value}"], prog_name="p", standalone_mode=False)
