"""Names of runs in output."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import UsageError
from trectools_plus.formats import name_of_file, name_runs


@dataclass(frozen=True)
class File:
    path: str | None
    name: str = "tag"


@dataclass(frozen=True)
class Unread:
    path: str

    @property
    def name(self) -> str:
        raise AssertionError("the tag is not needed")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("bm25.run", "bm25"),
        ("results/bm25.txt.gz", "bm25"),
        ("C:\\runs\\bm25.RUN", "bm25"),
        ("input.bm25", "input.bm25"),
        ("run.msmarco.k1=0.9.txt", "run.msmarco.k1=0.9"),
        ("results.csv", "results"),
        ("run.json", "run"),
        ("./.run", ""),
        ("-", ""),
        (None, ""),
    ],
)
def test_the_name_of_a_file(path: str | None, name: str) -> None:
    assert name_of_file(path) == name


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        ([File("a.run"), File("b.run")], ["a", "b"]),
        ([File("x/a.run", "t"), File("y/a.run", "u")], ["t", "u"]),
        ([File("x/a.run"), File("y/a.run")], ["x-a", "y-a"]),
        ([File("a.run"), File("y/a.run")], ["a", "y-a"]),
        ([File("1/x/a.run"), File("2/x/a.run")], ["1-x-a", "2-x-a"]),
        ([File("x/a.run", "t"), File("y/a.run", "t"), File("z/a.run", "u")], ["x-a", "y-a", "u"]),
        ([File("x/a.run", "b"), File("y/a.run", "c"), File("b.run")], ["x-a", "c", "b"]),
        ([File(None, "first"), File("-", "second")], ["first", "second"]),
        ([File("a.run"), File("a.txt")], ["a.run", "a.txt"]),
        ([File("table.csv", "bm25"), File("table.csv", "dph")], ["bm25", "dph"]),
    ],
)
def test_files_then_tags_then_folders(runs: list[File], names: list[str]) -> None:
    assert list(name_runs(runs)) == names
    for order in permutations(range(len(runs))):
        assert list(name_runs([runs[place] for place in order])) == [names[one] for one in order]


def test_a_given_name_wins_and_tags_are_read_only_if_needed() -> None:
    runs = [Unread("x/a.run"), Unread("y/a.run")]
    assert list(name_runs(runs, ["mine", None])) == ["mine", "a"]
    assert list(name_runs([Unread("a.run"), Unread("b.run")])) == ["a", "b"]


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([File("a.run"), File("a.run")], "given twice"),
        ([File(None, "x"), File(None, "x")], "named 'x'"),
    ],
)
def test_runs_that_cannot_be_told_apart(runs: list[File], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        name_runs(runs)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a.run", "x/a.run", "y/a.txt", "b.run", "x/b.run", "x/y/a.run"]),
            st.sampled_from(["a", "b", "t"]),
        ),
        unique_by=lambda one: one[0],
    )
)
def test_every_run_has_its_own_name(pairs: list[tuple[str, str]]) -> None:
    runs = [File(*one) for one in pairs]
    assert list(name_runs(runs).values()) == runs
