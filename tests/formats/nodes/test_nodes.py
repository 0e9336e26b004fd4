"""JSON and YAML trees, compared with the usual readers."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.formats.nodes.model import Node, TreeError, load_value
from trectools_plus.formats.nodes.parsing import parse_json
from trectools_plus.formats.nodes.yaml import parse_yaml

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


def _value(node: Node | None) -> Any:
    return None if node is None else load_value(node)


@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_json_is_read_like_the_standard_library_does(
    value: Any, indent: int | None, escape: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=escape)
    assert _value(parse_json(text).root) == value


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
    try:
        expected = json.loads(text)
    except json.JSONDecodeError:
        with pytest.raises(TreeError) as caught:
            parse_json(text)
        assert 1 <= caught.value.line <= len(text.split("\n"))
    else:
        tree = parse_json(text)
        assert not tree.constants
        if not tree.repeats:
            assert _value(tree.root) == expected


@given(VALUES, st.booleans())
def test_yaml_is_read_like_pyyaml_does(value: Any, flow: bool) -> None:
    text = yaml.safe_dump(value, default_flow_style=flow, allow_unicode=True)
    assert _shape(parse_yaml(text).root) == _shape_of_value(yaml.safe_load(text))


def _shape(node: Node | None) -> Any:
    assert node is not None
    if node.meaning == "mapping":
        return {name: _shape(value) for name, value in node.fields.items()}
    if node.meaning == "list":
        return [_shape(item) for item in node.items]
    return node.text if node.meaning == "text" else node.meaning


def _shape_of_value(value: Any) -> Any:
    if isinstance(value, list):
        return [_shape_of_value(item) for item in value]
    if isinstance(value, dict):
        return {key: _shape_of_value(item) for key, item in value.items()}
    names = {bool: "boolean", int: "integer", float: "number", type(None): "null"}
    return names.get(type(value), value)


def test_yaml_keeps_texts_and_describes_the_values_of_a_loader() -> None:
    text = "a: 010\nb: 12:30\nc: no\nd: 1.10\ne: '010'\nf: y\ng: 1e3\nh: 7\ni: 2024-01-01\nj:\n"
    root = parse_yaml(text).root
    assert root is not None
    found = {name: (value.text, value.meaning, value.value) for name, value in root.fields.items()}
    assert found == {
        "a": ("010", "integer", "8"),
        "b": ("12:30", "integer", "750"),
        "c": ("no", "boolean", "the boolean false"),
        "d": ("1.10", "number", "1.1"),
        "e": ("010", "text", None),
        "f": ("y", "text", None),
        "g": ("1e3", "text", None),
        "h": ("7", "integer", None),
        "i": ("2024-01-01", "other", "a date"),
        "j": ("", "null", None),
    }


@pytest.mark.parametrize("loader", ["CSafeLoader", "SafeLoader"])
def test_both_of_pyyamls_parsers_give_the_same(
    loader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if loader == "SafeLoader":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    for text, line in (
        ("queries:\n\t- id: 1\n", 2),
        ('a: 1\nb: "open\nc: 2\n', 2),
        ("a: b\x07c\n", 1),
    ):
        with pytest.raises(TreeError) as caught:
            parse_yaml(text)
        assert caught.value.line == line
    root = parse_yaml("a: C # language\nb: é # x\n").root
    assert root is not None
    assert [value.cut for value in root.fields.values()] == [1, 2]
