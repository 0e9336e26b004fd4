"""JSON and YAML trees, compared with the usual readers."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from harness.tables import cases_of
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.formats.nodes import (
    Node,
    TreeError,
    load_value,
    parse_json,
    parse_yaml,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_json_is_read_like_the_standard_library_does(
    value: Any, indent: int | None, escape: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=escape)
    assert load_value(parse_json(text)) == value


@given(VALUES, st.data())
def test_json_is_refused_where_the_standard_library_refuses(
    value: Any, data: st.DataObject
) -> None:
    text = json.dumps(value)
    at = data.draw(st.integers(0, len(text)))
    put = data.draw(st.sampled_from(["", *'{}[],:"\\0-.e', " ", "\n", "\t", "tru", "01", "\x01"]))
    text = text[:at] + put + text[at + data.draw(st.integers(0, 2)) :]
    if "\\u" in text:
        return  # half a pair is refused here only
    repeats: list[str] = []
    try:
        expected = json.loads(text)
    except json.JSONDecodeError:
        with pytest.raises(TreeError) as caught:
            parse_json(text)
        assert 1 <= caught.value.line <= len(text.split("\n"))
    else:
        root = parse_json(text, lambda code, _line, _what: repeats.append(code))
        assert repeats or load_value(root) == expected


@given(VALUES, st.booleans())
def test_yaml_is_read_like_pyyaml_does(value: Any, flow: bool) -> None:
    text = yaml.safe_dump(value, default_flow_style=flow, allow_unicode=True)
    root = parse_yaml(text)
    assert root is not None
    assert _shape(load_value(root)) == _shape(yaml.safe_load(text))


def _shape(value: Any) -> Any:
    """Return a value whose keys are texts, and which is equal to itself."""
    if isinstance(value, dict):
        return {str(key): _shape(inner) for key, inner in value.items()}
    return [_shape(item) for item in value] if isinstance(value, list) else repr(value)


SCALARS = "a: 010\nb: 12:30\nc: no\nd: 1.10\ne: '010'\nf: y\nh: 7\ni: 2024-01-01\nj:\n"


def test_yaml_keeps_texts_and_describes_the_values_of_a_loader() -> None:
    root = parse_yaml(SCALARS)
    assert root is not None
    seen = {name: (value.text, value.describe()) for name, value in root.fields.items()}
    assert seen == {
        "a": ("010", "the integer 8"),
        "b": ("12:30", "the integer 750"),
        "c": ("no", "the boolean false"),
        "d": ("1.10", "the number 1.1"),
        "e": ("010", "text"),
        "f": ("y", "text"),
        "h": ("7", "the integer 7"),
        "i": ("2024-01-01", "the value 2024-01-01"),
        "j": ("", "null"),
    }
    assert [name for name, value in root.fields.items() if value.is_whole] == ["h"]
    assert load_value(root, as_text=True) == {
        **{name: text for name, (text, _) in seen.items()},
        "j": None,
    }


@pytest.mark.parametrize("loader", ["CSafeLoader", "SafeLoader"])
@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        *cases_of(__file__, "rows"),
        ("[" * 120_000, 1, "64 deep"),
        ("a: 1\nb: " + "{a: " * 30_000, 2, "64 deep"),
        ("[\n" * 60_000, 65, "64 deep"),
        ("- " * 60_000, 1, "64 deep"),
        ("? " * 60_000, 1, "as key"),
        ("[" * 30_000 + "]" * 30_000, 1, "64 deep"),
        ("".join(" " * n + "a:\n" for n in range(500)), 65, "64 deep"),
    ],
)
def test_yaml_is_refused_with_its_line(
    loader: str, text: str, line: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if loader == "SafeLoader":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    with pytest.raises(TreeError, match=words) as refused:
        parse_yaml(text)
    assert refused.value.line == line


def test_nesting_up_to_the_limit_and_comments_behind_texts() -> None:
    for text in ("[" * 64 + "a" + "]" * 64, "- " * 64 + "a"):
        root = parse_yaml(text)
        assert root is not None
        assert str(load_value(root)) == "[" * 64 + "'a'" + "]" * 64
    cut = parse_yaml("a: C # language\nb: é # x\nc: 'd' # e\n") or Node(0, None)
    assert [value.cut for value in cut.fields.values()] == [1, 2, None]
