"""Scores in chunks equal those of the whole run, bit for bit; other runs are left to the reader."""

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.choices import Averaging
from trectools_plus.errors import CheckFailedError, InputError, TrectoolsPlusError
from trectools_plus.formats import query_chunks
from trectools_plus.formats.tables import Qrels
from trectools_plus.measures import parse_measures
from trectools_plus.measures.evaluation import DEFAULT_MEASURES, score_runs
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.measures.scoring.scored_files import open_files
from trectools_plus.measures.scoring.scores import JudgedFile, PartJudge, judge_file
from trectools_plus.measures.scoring.scores import same as unchanged
from trectools_plus.validation import FindingsError, load_qrels, load_run, parts
from trectools_plus.validation.findings import refuse_errors
from trectools_plus.validation.parts import NotInPartsError

AT_CUTOFFS = ["AP@2", "R@2", "P@3", "RBP@3", "APcap@3", "Judged@2"]
WHOLE = ["AP", "AP(rel=2)", "nDCG", "Bpref", "Rprec", "RelRet", "MeanRank", "SetP"]
MEASURES = parse_measures([*DEFAULT_MEASURES, *AT_CUTOFFS, *WHOLE])
DOC_IDS = ["d1", "d10", "d2", "Dé", "dé", "0", "z", "中", "a", "b"]
# The first three are equal in 32 bits.
SCORES = ["1.0", "1.000000001", "1", "0.5", "2e0", "-3", "7", "1e30", "0"]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Cut even small files into several pieces."""
    monkeypatch.setattr(query_chunks, "CHUNK_BYTES", 60)
    monkeypatch.setattr(parts, "SNIFFED_BYTES", 1)


def in_pieces(run, qrels, measures=MEASURES):
    """Return the scores in parts; ``None`` if the run is read as a whole or refused."""
    depth = None if measures is MEASURES else 10
    judge = PartJudge(JudgedQueries.of(qrels), unchanged, depth=depth)
    try:
        view, findings, found = judge_file(str(run), judge)
        refuse_errors(findings)
    except (NotInPartsError, FindingsError):
        return None
    judged = JudgedFile(view.tag, view.path, view.query_ids, judge.qrels.place(found))
    return score_runs(qrels, {"run": judged}, measures, Averaging())


def in_one(run, qrels, measures=MEASURES):
    return score_runs(qrels, {"run": load_run(run, qrels=qrels)}, measures, Averaging())


def same(one, other):
    assert one.query_ids == other.query_ids
    assert one.counts == other.counts
    assert np.array_equal(one.tables["run"], other.tables["run"], equal_nan=True)
    assert one.notes == other.notes


@st.composite
def files(draw):
    """The rows of a run and of qrels; queries together, nothing else in good order."""
    queries = draw(st.lists(st.sampled_from("123456789"), min_size=1, max_size=6, unique=True))
    rows = []
    for query in queries:
        documents = draw(st.lists(st.sampled_from(DOC_IDS), min_size=1, unique=True))
        scores = draw(st.lists(st.sampled_from(SCORES), min_size=len(documents), max_size=99))
        ordered = zip(documents, scores, strict=False)
        if draw(st.booleans()):
            ordered = sorted(ordered, key=lambda pair: -float(pair[1]))
        rows += [
            f"{query} Q0 {doc_id} {rank} {score} tag\n"
            for rank, (doc_id, score) in enumerate(ordered, 1)
        ]
    grades = draw(
        st.dictionaries(
            st.sampled_from("123456789"),
            st.dictionaries(st.sampled_from(DOC_IDS), st.integers(-1, 3), min_size=1),
            min_size=1,
        )
    )
    return rows, Qrels.from_dict(grades)


@given(files(), st.booleans())
def test_pieces_give_the_figures_of_the_whole(tmp_path_factory, collection, packed):
    rows, qrels = collection
    run = tmp_path_factory.mktemp("stream") / "run"
    content = "".join(rows).encode()
    run.write_bytes(gzip.compress(content) if packed else content)
    try:
        plain = in_one(run, qrels)
    except CheckFailedError:
        assert in_pieces(run, qrels) is None
        return
    pieces = in_pieces(run, qrels)
    if pieces is not None:
        same(pieces, plain)
    else:
        assert len(rows) < 2  # the second row shows whether the first is a header


@given(files())
def test_documents_behind_the_deepest_cutoff_change_nothing(tmp_path_factory, collection):
    rows, qrels = collection
    run = tmp_path_factory.mktemp("stream") / "run"
    run.write_text("".join(rows), encoding="utf-8")
    measures = parse_measures(AT_CUTOFFS)
    pieces = in_pieces(run, qrels, measures)
    if pieces is not None:
        same(pieces, in_one(run, qrels, measures))


@given(files(), st.data())
def test_a_damaged_file_is_scored_as_the_whole_or_left_to_the_reader(
    tmp_path_factory, collection, data
):
    rows, qrels = collection
    run = tmp_path_factory.mktemp("stream") / "run"
    content = bytearray("".join(rows).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        new = data.draw(st.sampled_from([*b" \n\t\r#01.-dQ\0\xff\xc2", None]))
        content[at : at + 1] = b"" if new is None else bytes([new])
    run.write_bytes(content)
    pieces = in_pieces(run, qrels)
    if pieces is not None:
        same(pieces, in_one(run, qrels))


@pytest.mark.parametrize(
    ("lines", "grades"),
    [
        (["1 Q0 A 1 3 t", "1 Q0 B 2 2 t", "1 Q0 c 3 1 t"], {"1": dict.fromkeys("abc", 1)}),  # case
        (["1 Q0 a 1 3 t", "1 Q0 b 2 2 t", "1 Q0 c 3 1 t"], {"1": dict.fromkeys("ABc", 1)}),
        (["01 Q0 a 1 2 t", "2 Q0 a 1 2 t"], {"1": {"a": 1}, "2": {"a": 1}}),  # likewise
        (["1 Q0 a 1 2 t", "01 Q0 b 1 2 t"], {"1": {"a": 1}}),  # beside the right spelling
        (["1 Q0 x 1 2 t"], {"1": {"a": 1}}),  # nothing judged
        ([], {"1": {"a": 1}}),
    ],
)
def test_what_needs_a_closer_look_is_left_to_the_reader(tmp_path, lines, grades):
    run = tmp_path / "run"
    run.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert in_pieces(run, Qrels.from_dict(grades)) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "run")
    assert in_pieces(tmp_path / "run", Qrels.from_dict({"1": {"a": 1}})) is None


def test_every_malformed_run_that_may_not_be_scored_is_left_to_the_reader(shared_data):
    folder: Path = shared_data / "malformed"
    refused = 0
    for entry in json.loads((folder / "manifest.json").read_text(encoding="utf-8")):
        run = folder / entry["file"]
        if entry["kind"] != "run":
            continue
        try:
            qrels = load_qrels(folder / entry["with"]) if "with" in entry else ANY_QRELS
            plain = in_one(run, qrels)
        except TrectoolsPlusError:
            refused += 1
            assert in_pieces(run, ANY_QRELS if "with" not in entry else qrels) is None, run
        else:
            pieces = in_pieces(run, qrels)
            if pieces is not None:
                same(pieces, plain)
    assert refused > 20


ANY_QRELS = Qrels.from_dict({str(q): {"d01": 1, "d02": 1} for q in range(1, 4)})


class TestOpenFiles:
    def test_what_is_wrong_with_the_qrels_comes_first(self, tmp_path):
        qrels, run = tmp_path / "qrels", tmp_path / "run"
        qrels.write_text("1 0 a x\n", encoding="utf-8")
        run.write_text("nonsense\n", encoding="utf-8")
        with pytest.raises(CheckFailedError, match="Q110"):
            open_files(str(qrels), [str(run)], MEASURES)

    def test_the_reader_reports_errors_of_a_run(self, tmp_path):
        qrels, run = tmp_path / "qrels", tmp_path / "run"
        qrels.write_text("1 0 a 1\n", encoding="utf-8")
        run.write_text("1 Q0 a 1 2 t\n1 Q0 a 2 1 t\n", encoding="utf-8")
        with pytest.raises(CheckFailedError, match="R131"):
            open_files(str(qrels), [str(run)], MEASURES)
        with pytest.raises(InputError):
            open_files(str(qrels), [str(tmp_path / "none")], MEASURES)
