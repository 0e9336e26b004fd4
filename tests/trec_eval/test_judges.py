"""Preferences, several judges, z-scores and level 0, against the output of C trec_eval."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus import trec_eval
from trectools_plus.errors import CheckFailedError
from trectools_plus.trec_eval.builtin import Preference, score_preferences

CASES = json.loads(Path(__file__).with_name("c_outputs.json").read_text("utf-8"))
"""Random judgments and runs, drawn once, with the output of C trec_eval 10-rc3."""


@pytest.mark.parametrize("name", CASES)
def test_output_of_c(name, tmp_path):
    for part in ("judgments", "run", "means"):
        (tmp_path / part).write_text("".join(f"{line}\n" for line in CASES[name][part]), "utf-8")
    flags = ["--trec-eval-version=10", "--permissive", *CASES[name]["flags"]]
    flags += ["-Z", str(tmp_path / "means")] * bool(CASES[name]["means"])
    arguments = [*flags, str(tmp_path / "judgments"), str(tmp_path / "run")]
    assert output_of(arguments).splitlines() == CASES[name]["output"]


def output_of(arguments):
    parsed = trec_eval.parse_arguments(arguments)
    scores, _ = trec_eval.score_files(parsed)
    return "\n".join(trec_eval.output_lines(scores, parsed))


ROWS = st.lists(
    st.builds(
        Preference,
        st.sampled_from([b"a", b"b"]),
        st.just(b""),
        st.sampled_from([0.0, 1.0, 2.0, 3.5]),
        st.integers(0, 5),
    ),
    min_size=1,
    unique_by=lambda row: (row.judge, row.position),
)


@given(ROWS, st.integers(0, 6))
def test_preferences_are_counted_pair_by_pair(rows, n_retrieved):
    pairs = [
        (better.position, worse.position)
        for better, worse in permutations(rows, 2)
        if better.judge == worse.judge and better.level > worse.level
    ]
    fulfilled = [(a, b) for a, b in pairs if a < b and a < n_retrieved]
    both = [(a, b) for a, b in pairs if max(a, b) < n_retrieved]
    values = score_preferences(rows, 6, n_retrieved)
    assert values["prefs_num_prefs_poss"] == len(pairs)
    assert values["prefs_num_prefs_ful"] == len(fulfilled)
    assert values["prefs_num_prefs_ful_ret"] == len([one for one in fulfilled if one in both])
    assert values["prefs_simp"] == pytest.approx(len(fulfilled) / max(len(pairs), 1))
    unordered = {frozenset(one) for one in pairs}
    shares = [
        sum(frozenset(one) == pair for one in fulfilled)
        / sum(frozenset(one) == pair for one in pairs)
        for pair in unordered
    ]
    assert values["prefs_pair"] == pytest.approx(sum(shares) / max(len(shares), 1))


def score(folder: Path, judgments: str, *flags: str, run: str = "1 Q0 a 1 1 t\n") -> str:
    (folder / "judgments").write_text(judgments)
    (folder / "run").write_text(run)
    return output_of([*flags, str(folder / "judgments"), str(folder / "run")])


def test_what_follows_from_two_lists_counts(tmp_path):
    rows = "1 j x a 3\n1 j x b 2\n1 j x c 1\n1 j y b 5\n1 j y d 4\n"
    assert "prefs_num_prefs_poss  \tall\t5" in score(tmp_path, rows, "-mprefs", "-Rprefs")


MISTAKES = [
    ("-Rprefs", "1 j l a 1\n1 j l b\n", "judgments:2", "query_id judge list doc_id level"),
    ("-Rqrels_prefs", "1 j a high\n", "judgments:1", "query_id judge doc_id level"),
    ("-Rqrels_jg", "1 j a 1 2\n", "judgments:1", "query_id judge doc_id grade"),
    ("-Rqrels_jg", "1 j a 1\n1 j a 1\n", "query 1", "twice"),
    ("-Rprefs", "1 j l a 1\n1 j l a 2\n", "query 1", "two levels"),
    ("-Rprefs", "1 j l a 0\n1 j l b 1\n1 j m a 2\n", "query 1", "level 0"),
    ("-Rprefs", "1 j l a 2\n1 j l b 1\n1 j m b 2\n1 j m a 1\n", "query 1", "preferred"),
    ("-Rqrels_prefs", "1 j a 1\n1 j b 2\n1 j c 0\n1 j e 0\n1 j d -1\n", "query 1", "levels"),
]


@pytest.mark.parametrize(("format_", "rows", "where", "said"), MISTAKES)
def test_rows_at_which_trec_eval_stops_are_named(format_, rows, where, said, tmp_path):
    measures = "-mqrels_jg" if format_ == "-Rqrels_jg" else "-mall_prefs"
    with pytest.raises(CheckFailedError) as error:
        score(tmp_path, rows, measures, format_)
    assert where in str(error.value)
    assert said in str(error.value)


def test_comments_blank_lines_and_bytes_of_other_encodings_are_read(tmp_path):
    rows = b"# levels\n\n1 j l caf\xe9 2\n1 j l b 1\n"
    (tmp_path / "judgments").write_bytes(rows)
    (tmp_path / "run").write_bytes(b"1 Q0 caf\xe9 1 2 t\n1 Q0 b 2 1 t\n")
    files = [str(tmp_path / "judgments"), str(tmp_path / "run")]
    output = output_of(["-Rprefs", "-mprefs_simp", *files])
    assert output == "prefs_simp            \tall\t1.0000"


@pytest.mark.parametrize("line", ["1 map 0.5", "1 map a b", "1 map 0 1\n1 map 0 2"])
def test_means_that_cannot_be_used_are_named_with_their_line(line, tmp_path):
    (tmp_path / "means").write_text(f"{line}\n")
    with pytest.raises(CheckFailedError, match=r"map|expected") as error:
        score(tmp_path, "1 0 a 1\n", "-mmap", "-Z", str(tmp_path / "means"))
    assert "means:" in str(error.value)
