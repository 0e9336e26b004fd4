"""--low-memory gives the same figures for any order of rows, and findings at the file's lines."""

import gzip
import itertools
import random
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.choices import Averaging
from trectools_plus.errors import CheckFailedError, InputError, UsageError
from trectools_plus.formats import query_chunks
from trectools_plus.formats.columns.ids import Ids
from trectools_plus.formats.query_chunks import regroup_queries
from trectools_plus.measures import parse_measures
from trectools_plus.measures.evaluation import DEFAULT_MEASURES, score_runs
from trectools_plus.measures.scoring.scored_files import open_files
from trectools_plus.validation import FindingsError, load_qrels, load_run, parts

MEASURES = parse_measures([*DEFAULT_MEASURES, "AP", "Bpref", "nDCG"])


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(parts, "SNIFFED_BYTES", 1)
    monkeypatch.setattr(query_chunks, "CHUNK_BYTES", 100)


def make(folder, n_queries=20, n_documents=7):
    """A run's rows, and its qrels in a file."""
    generator = random.Random(1)
    rows = [
        f"{query} Q0 dé{query + rank} {rank + 1} {9 - rank // 2} tag\n"
        for query in range(n_queries)
        for rank in range(n_documents)
    ]
    judged = [f"{q} 0 dé{q + generator.randrange(9)} 1\n" for q in range(2, n_queries + 3)]
    (folder / "qrels").write_text("".join(judged), encoding="utf-8")
    return rows, str(folder / "qrels")


def scored(qrels, run, **options):
    table, (opened,), _ = open_files(qrels, [str(run)], MEASURES, **options)
    return opened, score_runs(table, {"run": opened}, MEASURES, Averaging())


@given(st.randoms(use_true_random=False), st.booleans())
def test_any_order_of_rows_gives_the_same_figures(tmp_path_factory, generator, packed):
    folder = tmp_path_factory.mktemp("low")
    rows, qrels = make(folder)
    generator.shuffle(rows)
    rows.insert(generator.randrange(len(rows)), "# a comment\n")
    content = "".join(rows).removesuffix("\n").encode()
    (folder / "run").write_bytes(gzip.compress(content) if packed else content)
    _, low = scored(qrels, folder / "run", low_memory=True)
    run = load_run(folder / "run", qrels=load_qrels(qrels))
    plain = score_runs(load_qrels(qrels), {"run": run}, MEASURES, Averaging())
    _, found = scored(qrels, folder / "run")
    assert np.array_equal(found.tables["run"], plain.tables["run"], equal_nan=True)
    assert low.query_ids == plain.query_ids
    assert low.counts == plain.counts
    assert np.array_equal(low.tables["run"], plain.tables["run"], equal_nan=True)


@given(st.lists(st.sampled_from([b"1 a\n", b"2 b\n", b"3\tc\r\n", b"\n", b" 1 d\n", b"\xff \n"])))
def test_regrouped_lines_are_all_there_and_together(tmp_path_factory, lines):
    folder = tmp_path_factory.mktemp("regroup")
    (folder / "run").write_bytes(b"".join(lines))
    parts = [chunk() for chunk in regroup_queries(folder / "run", folder, size=5)]
    found = [line for part in parts for line in part.splitlines(keepends=True)]
    assert sorted(found) == sorted(lines)
    queries = [(line.split() or [b""])[0] for line in found]
    changes = sum(a != b for a, b in itertools.pairwise(queries))
    assert changes == max(len(set(queries)) - 1, 0)
    for query in set(queries):  # in the order of the file
        mine = [line for line in lines if (line.split() or [b""])[0] == query]
        assert [line for line, own in zip(found, queries, strict=True) if own == query] == mine


def test_an_error_is_at_the_line_of_the_file(tmp_path):
    rows, qrels = make(tmp_path)
    rows.insert(100, rows[99])
    (tmp_path / "run").write_text("".join(rows), encoding="utf-8")
    with pytest.raises(FindingsError) as low:
        scored(qrels, tmp_path / "run", low_memory=True)
    with pytest.raises(FindingsError) as plain:
        load_run(tmp_path / "run")
    assert "R131" in {finding.code for finding in low.value.findings}
    expected = {(one.code, one.line, one.lines) for one in plain.value.findings}
    assert {(one.code, one.line, one.lines) for one in low.value.findings} == expected
    assert str(low.value) == str(plain.value)


def test_an_error_among_scattered_rows_has_no_line(tmp_path):
    rows, qrels = make(tmp_path)
    rows = [*rows[1:], rows[0], rows[1]]
    (tmp_path / "run").write_text("".join(rows), encoding="utf-8")
    with pytest.raises(FindingsError, match="R131") as low:
        scored(qrels, tmp_path / "run", low_memory=True)
    assert {finding.place for finding in low.value.findings} == {str(tmp_path / "run")}
    assert "line" not in str(low.value)


def test_a_run_without_rows_is_refused(tmp_path):
    _, qrels = make(tmp_path)
    (tmp_path / "run").write_text("# nothing\n" * 50, encoding="utf-8")
    with pytest.raises(CheckFailedError, match="F101"):
        scored(qrels, tmp_path / "run", low_memory=True)


other_number = pytest.mark.slow("another number of tied queries")


@pytest.mark.parametrize(
    ("n_tied", "order"),
    [
        (1, "together"),
        (19, "scattered"),
        pytest.param(1, "scattered", marks=other_number),
        pytest.param(5, "together", marks=other_number),
        pytest.param(5, "scattered", marks=other_number),
        pytest.param(19, "together", marks=other_number),
    ],
)
def test_a_piece_in_which_every_query_has_one_score_is_no_error(tmp_path, n_tied, order):
    rows, qrels = make(tmp_path)
    flat = [re.sub(r"\d+ tag", "7 tag", row) for row in rows[-7 * n_tied :]]
    rows[-7 * n_tied :] = flat
    if order == "scattered":
        rows = [*rows[::2], *rows[1::2]]
    (tmp_path / "run").write_text("".join(rows), encoding="utf-8")
    _, low = scored(qrels, tmp_path / "run", low_memory=True)
    _, plain = scored(qrels, tmp_path / "run")
    assert np.array_equal(low.tables["run"], plain.tables["run"], equal_nan=True)


@pytest.mark.parametrize("further", [[], ["30 Q0 x 1 2 tag\n"]])
def test_a_run_in_which_every_query_has_one_score_is_refused(tmp_path, further):
    rows, qrels = make(tmp_path)
    flat = [re.sub(r"\d+ tag", "7 tag", row) for row in rows]
    (tmp_path / "run").write_text("".join([*flat, *further]), encoding="utf-8")
    for options in ({"low_memory": True}, {}):
        with pytest.raises(CheckFailedError, match="R142 every query"):
            scored(qrels, tmp_path / "run", **options)


def test_files_without_common_ids_are_refused(tmp_path):
    rows, qrels = make(tmp_path)
    (tmp_path / "run").write_text("".join(rows).replace("dé", "x"), encoding="utf-8")
    with pytest.raises(CheckFailedError, match="of the qrels"):
        scored(qrels, tmp_path / "run", low_memory=True)
    stray = rows[-1].split(" ", 1)
    stray[0] = f"{stray[0]}\u200b"
    (tmp_path / "run").write_text("".join([*rows[:-1], " ".join(stray)]), encoding="utf-8")
    with pytest.raises(CheckFailedError, match="in spelling"):
        scored(qrels, tmp_path / "run", low_memory=True)
    with pytest.raises(CheckFailedError, match="P104 query"):
        scored(qrels, tmp_path / "run")


def test_what_cannot_be_is_said(tmp_path):
    _, qrels = make(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        scored(qrels, tmp_path / "none", low_memory=True)
    with pytest.raises(UsageError, match="regular file"):
        scored(qrels, "-", low_memory=True)
    with pytest.raises(UsageError, match="document ids"):
        open_files(qrels, [qrels], parse_measures(["MaxOntSim@1"]), low_memory=True)


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    rows, qrels = make(tmp_path)
    (tmp_path / "run").write_text("".join([*rows[1:], rows[0]]), encoding="utf-8")
    scored(qrels, tmp_path / "run", low_memory=True)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_the_qrels_are_read_first(tmp_path):
    (tmp_path / "qrels").write_text("1 0 a x\n", encoding="utf-8")
    (tmp_path / "run").write_text("1 Q0 a 1 2 t\n", encoding="utf-8")
    with pytest.raises(FindingsError, match="Q110"):
        scored(str(tmp_path / "qrels"), tmp_path / "run", low_memory=True)


def test_collisions_of_keys_change_nothing(tmp_path, monkeypatch):
    rows, qrels = make(tmp_path)
    (tmp_path / "run").write_text("".join(rows), encoding="utf-8")
    _, plain = scored(qrels, tmp_path / "run")
    hashes = Ids.hashes
    monkeypatch.setattr(Ids, "hashes", lambda ids: hashes(ids) & np.uint64(7 << 60))
    _, low = scored(qrels, tmp_path / "run", low_memory=True)
    assert np.array_equal(low.tables["run"], plain.tables["run"])


def test_a_query_that_returns_within_a_piece_keeps_its_ranks(tmp_path):
    rows = ["1 Q0 a 1 9 t\n", "2 Q0 x 1 9 t\n", "1 Q0 b 2 8 t\n", "2 Q0 y 2 8 t\n"]
    (tmp_path / "run").write_text("".join(rows), encoding="utf-8")
    (tmp_path / "qrels").write_text("1 0 b 1\n2 0 y 1\n", encoding="utf-8")
    _, low = scored(str(tmp_path / "qrels"), tmp_path / "run", low_memory=True)
    reciprocal = [one.name for one in MEASURES].index("RR@10")
    assert low.tables["run"][:, reciprocal].tolist() == [0.5, 0.5]
