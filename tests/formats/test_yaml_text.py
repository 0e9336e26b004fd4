from __future__ import annotations

import pytest
import yaml

from trectools_plus.formats.yaml_text import read_texts, read_values


def test_scalars_are_the_text_that_stands_there() -> None:
    text = (
        "a: 010\nb: yes\nc: 1:40\nd: 'null'\ne: null\nf: ~\ng:\nh: 1.0\n010: x\nl: [1, {m: no}]\n"
    )
    assert read_texts(text).content == {
        "a": "010", "b": "yes", "c": "1:40", "d": "null", "e": None, "f": None, "g": None,
        "h": "1.0", "010": "x", "l": ["1", {"m": "no"}],
    }  # fmt: skip


def test_or_what_yaml_makes_of_it() -> None:
    assert read_values("{a: 010, b: yes, 'c': '7'}").content == {"a": 8, "b": True, "c": "7"}


def test_lines_are_those_of_the_nearest_value() -> None:
    document = read_texts("a: 1\nb:\n  - x\n  - c:\n      d: 2\n")
    assert document.find_line(("a",)) == 1
    assert document.find_line(("b", 0)) == 3
    assert document.find_line(("b", 1)) == 4
    assert document.find_line(("b", 1, "c", "d")) == 5
    assert document.find_line(("b", 1, "c", "none", 3)) == 4
    assert document.find_line(("z",)) is None
    assert read_texts("").content is None


@pytest.mark.parametrize("read", [read_texts, read_values])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\na: 2", "stands here twice"),
        ("a: {b: 1, b: 2}", "stands here twice"),
        ("a: &x [*x]", "inside what it names"),
        ("? [a]\n: b", "a list or a mapping"),
        ("a: !!python/object:os.system {}", "have no meaning"),
        ("a: !mine x", "mine"),
        ("a: [", "expected"),
    ],
)
def test_refused(read: object, text: str, words: str) -> None:
    with pytest.raises(yaml.YAMLError, match=words):
        read(text)  # type: ignore[operator]


def test_an_alias_is_read_once_however_often_it_is_named() -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(
        f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60)
    )
    assert read_texts(bomb).content["a1"] == [["x", "x"], ["x", "x"]]


@pytest.mark.parametrize("read", [read_texts, read_values])
@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("[" * 120_000, 1, 65),
        ("a: 1\nb: " + "{a: " * 30_000, 2, 256),
        ("[\n" * 60_000, 65, 1),
        ("- " * 60_000, 1, 129),
        ("? " * 60_000, 1, 129),
        ("[" * 30_000 + "]" * 30_000, 1, 65),
        ("".join(" " * n + "a:\n" for n in range(500)), 65, 65),
    ],
)
def test_deep_nesting_is_refused_where_it_begins(
    read: object, text: str, line: int, column: int
) -> None:
    with pytest.raises(yaml.MarkedYAMLError, match="nested more than 64 deep") as refused:
        read(text)  # type: ignore[operator]
    mark = refused.value.problem_mark
    assert mark is not None
    assert (mark.line + 1, mark.column + 1) == (line, column)


def test_nesting_up_to_the_limit_is_read() -> None:
    for text in ("[" * 64 + "a" + "]" * 64, "- " * 64 + "a"):
        content = read_texts(text).content
        for _ in range(64):
            (content,) = content
        assert content == "a"
