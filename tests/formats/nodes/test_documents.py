from __future__ import annotations

import pytest

from trectools_plus.formats.nodes.model import TreeError, load_value, refuse_repeats
from trectools_plus.formats.nodes.parsing import parse_document


def read_texts(text: str) -> object:
    tree = parse_document(text, "yaml")
    refuse_repeats(tree)
    return None if tree.root is None else load_value(tree.root, as_text=True)


def read_values(text: str) -> object:
    tree = parse_document(text, "yaml")
    refuse_repeats(tree)
    return None if tree.root is None else load_value(tree.root)


def test_scalars_can_be_loaded_as_text() -> None:
    text = (
        "a: 010\nb: yes\nc: 1:40\nd: 'null'\ne: null\nf: ~\ng:\nh: 1.0\n010: x\nl: [1, {m: no}]\n"
    )
    assert read_texts(text) == {
        "a": "010", "b": "yes", "c": "1:40", "d": "null", "e": None, "f": None, "g": None,
        "h": "1.0", "010": "x", "l": ["1", {"m": "no"}],
    }  # fmt: skip


def test_scalars_can_be_loaded_as_yaml_values() -> None:
    assert read_values("{a: 010, b: yes, 'c': '7'}") == {"a": 8, "b": True, "c": "7"}


@pytest.mark.parametrize("read", [read_texts, read_values])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\na: 2", "occurs twice"),
        ("a: {b: 1, b: 2}", "occurs twice"),
        ("a: &x [1]\nb: *x", "alias"),
        ("? [a]\n: b", "as key"),
        ("a: !!python/object:os.system {}", "unknown tag"),
        ("a: !!set {b}", "unknown tag"),
        ("a: !mine x", "mine"),
        ("a: [", "expected"),
    ],
)
def test_refused(read: object, text: str, words: str) -> None:
    with pytest.raises(TreeError, match=words):
        read(text)  # type: ignore[operator]


@pytest.mark.parametrize("read", [read_texts, read_values])
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[" * 120_000, 1),
        ("a: 1\nb: " + "{a: " * 30_000, 2),
        ("[\n" * 60_000, 65),
        ("- " * 60_000, 1),
        ("? " * 60_000, 1),
        ("[" * 30_000 + "]" * 30_000, 1),
        ("".join(" " * n + "a:\n" for n in range(500)), 65),
    ],
)
def test_deep_nesting_is_refused_where_it_begins(read: object, text: str, line: int) -> None:
    words = "a list or mapping as key" if text[0] == "?" else "nested more than 64 deep"
    with pytest.raises(TreeError, match=words) as refused:
        read(text)  # type: ignore[operator]
    assert refused.value.line == line


def test_nesting_up_to_the_limit_is_read() -> None:
    for text in ("[" * 64 + "a" + "]" * 64, "- " * 64 + "a"):
        content = read_texts(text)
        for _ in range(64):
            assert isinstance(content, list)
            (content,) = content
        assert content == "a"
