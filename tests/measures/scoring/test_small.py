"""Small files are scored and checked without tables, with the same results as the full path."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from trectools_plus.choices import Averaging
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats import name_runs
from trectools_plus.measures import open_files, parse_measures, score_runs
from trectools_plus.measures.scoring.small import SmallEvaluation, evaluate_small_files
from trectools_plus.retrieval import describe_run
from trectools_plus.trec_eval.arguments import parse_arguments
from trectools_plus.trec_eval.files import score_files
from trectools_plus.trec_eval.output import output_lines, summarise
from trectools_plus.trec_eval.small import score_small_files
from trectools_plus.validation import load_run
from trectools_plus.validation.engine import validate_qrels, validate_run
from trectools_plus.validation.findings import Severity
from trectools_plus.validation.profiles import PROFILES
from trectools_plus.validation.rules.run.fragile_ids import READ_AS_MISSING
from trectools_plus.validation.views.small import (
    read_small_qrels,
    read_small_run,
    validate_small_run,
)

MEASURES = (
    *("nDCG@10", "AP@100", "RR@10", "RR@2", "R@50", "HitRate@10", "AP", "nDCG", "Rprec", "Bpref"),
    *("P@5", "AP(rel=2)@10", "nDCG(dcg='exp-log2')@3", "nDCG(gains={1:3})@5", "SetF(beta=0.5)"),
    *("NumRet", "NumRel(rel=2)", "NumQ", "SetP(relative=True)", "IPrec@0.3", "infAP"),
    *("AP(judged_only=True)", "P(rel=3,judged_only=True)@3", "MAP@100", "Success@1"),
)
QUERIES = st.sampled_from(["1", "2", "q10", "PLAIN-2", "Q3"])
DOCUMENTS = st.sampled_from([*"abcdeABx", "d-1", "clueweb12-0000tw-00-00001", "MED-10", "1e5", "0"])
ODD_SCORES = st.sampled_from(
    [
        *("1e-3", "+2.5", ".5", "3.", "16777217", "16777216", "1e39", "2e39", "-0.0", "0.1"),
        *("0.10", "1E2", "1e-400", "1e-46", "nan", "inf", "1_0", "0x1", "9,5", "7"),
    ]
)
ODD_WORDS = [" ", "", "#", "é", "\x07", "\x1f", "\r", "\x00", "<", "{", '"', "Q0", "0", "-1", "12"]
ODD_WORDS += ["qid", "07", "score", "docno", "1", "a", "A"]
ODD_ENDS = ["", "# comment\n", "1 2\n", "\r", "\n", " \n"]


@st.composite
def scores(draw: st.DrawFn, count: int) -> list[str]:
    """Scores that usually fall, with few ties."""
    if draw(st.integers(0, 4)) == 0:
        return draw(st.lists(ODD_SCORES, min_size=count, max_size=count))
    numbers = st.one_of(st.integers(-50, 50), st.floats(-1e3, 1e3, width=32))
    values = draw(st.lists(numbers, min_size=count, max_size=count, unique=draw(st.booleans())))
    form = draw(st.sampled_from([repr, "{:.4f}".format, "{:e}".format]))
    return [form(value) for value in sorted(values, reverse=True)]


@st.composite
def rankings(draw: st.DrawFn) -> list[list[str]]:
    """The rows of a run; most runs are clean or nearly so."""
    rows = []
    for query_id in draw(st.lists(QUERIES, min_size=1, max_size=4, unique=True)):
        doc_ids = draw(st.lists(DOCUMENTS, min_size=1, max_size=9, unique=True))
        if draw(st.booleans()):
            doc_ids.sort(reverse=True)
        first = draw(st.sampled_from([1, 1, 1, 0]))
        for at, score in enumerate(draw(scores(len(doc_ids)))):
            rows.append([query_id, "Q0", doc_ids[at], str(first + at), score, "tag"])
    return rows


@st.composite
def judgments(draw: st.DrawFn, run: list[list[str]]) -> list[list[str]]:
    """The rows of qrels for a run; most are clean or nearly so."""
    queries = list(dict.fromkeys(row[0] for row in run))
    queries += draw(st.sampled_from([[], [], [], ["99"]]))
    grades = st.sampled_from([0, 0, 1, 2, 3, draw(st.sampled_from([0, 0, 0, 5, 11, -1]))])
    rows = []
    for query_id in draw(st.permutations(queries)):
        found = [row[2] for row in run if row[0] == query_id]
        others = draw(st.lists(DOCUMENTS, max_size=3))
        doc_ids = draw(st.permutations(list(dict.fromkeys([*found[:5:2], *others, "z"]))))
        for at, doc_id in enumerate(doc_ids):
            grade = draw(st.integers(1, 3) if at == 0 else grades)
            rows.append([query_id, "0", doc_id, str(grade)])
    return rows


@st.composite
def written(draw: st.DrawFn, rows: list[list[str]]) -> str:
    """Rows as text; about one in three has something unusual."""
    oddity = draw(st.sampled_from([*[""] * 8, "word", "row", "end", "cr", "separator"]))
    separator = draw(st.sampled_from([" ", " ", "\t"]))
    if oddity == "word":
        row = draw(st.sampled_from(rows))
        row[draw(st.integers(0, len(row) - 1))] = draw(st.sampled_from(ODD_WORDS))
    elif oddity == "row":
        at = draw(st.integers(0, len(rows)))
        rows = [*rows[:at], draw(st.sampled_from(rows)), *rows[at:]]
    elif oddity == "separator":
        separator = draw(st.sampled_from(["  ", " \t", "\x0b"]))
    line_end = "\r\n" if oddity == "cr" else "\n"
    text = line_end.join(separator.join(row) for row in rows)
    return (
        text + line_end + draw(st.sampled_from(ODD_ENDS))
        if oddity == "end"
        else (text + draw(st.sampled_from([line_end, line_end, ""])))
    )


@st.composite
def pairs(draw: st.DrawFn) -> tuple[str, str]:
    """Qrels and a run."""
    run = draw(rankings())
    return draw(written(draw(judgments(run)))), draw(written(run))


RUNS = rankings().flatmap(written)
QRELS = rankings().flatmap(judgments).flatmap(written)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return str(path)


def evaluate_fully(
    qrels: str, runs: list[str], names: list[str], averaging: Averaging
) -> SmallEvaluation:
    measures = parse_measures(names)
    opened = open_files(qrels, runs, measures)
    named = name_runs(opened.runs)
    scored = score_runs(opened.qrels, named, measures, averaging, notes=opened.notes)
    return SmallEvaluation(opened.qrels, named, scored)


CHOICES = st.sampled_from(["zero", "drop"])
QUIET = settings(max_examples=4 * settings().max_examples, suppress_health_check=[*HealthCheck])


@QUIET
@given(
    pairs(),
    st.lists(st.sampled_from(MEASURES), min_size=1, max_size=6, unique=True),
    st.builds(Averaging, CHOICES, CHOICES),
)
@example(("1 0 a 1\n1 0 B 2\n", "1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n"), ["AP"], Averaging())
def test_the_scores_of_small_files_are_those_of_the_full_path(
    folder: Path, texts: tuple[str, str], names: list[str], averaging: Averaging
) -> None:
    files = write(folder, "qrels", texts[0]), [write(folder, "run", texts[1])]
    small = evaluate_small_files(*files, parse_measures(names), averaging)
    if small is None:
        return
    plain = evaluate_fully(*files, names, averaging)
    ours, theirs = small.evaluation, plain.evaluation
    assert [(name, run.path) for name, run in small.runs.items()] == [
        (name, run.path) for name, run in plain.runs.items()
    ]
    assert ours.query_ids == theirs.query_ids
    assert ours.counts == theirs.counts
    assert ours.notes == theirs.notes
    assert ours.queries_without_relevant == theirs.queries_without_relevant == []
    for name in theirs.run_names:
        assert ours.tables[name].tobytes() == theirs.tables[name].tobytes()
        for measure in theirs.measure_names:
            assert ours.mean(name, measure) == theirs.mean(name, measure)
            assert ours.values_as_list(name, measure) == theirs.values(name, measure).tolist()


FLAGS = (
    *("-q", "-c", "-n", "-J", "-l2", "-l3", "-M1", "-M3", "-D1.1", "-D1.q10", "--strict-input"),
    *("-mofficial", "-mset", "-mall_trec", "-mmap", "-mndcg_cut.1,3", "-mndcg.1=3,2=9"),
    *("-mset_F.0.5", "-mgm_map", "-mutility.1,-1,0,0", "-mP.2,1", "-mnum_rel"),
    *("-miprec_at_recall..1,.3", "-miprec_at_recall.0.101,0.102", "-mRprec_mult", "-mrunid"),
)


@QUIET
@given(pairs(), st.lists(st.sampled_from(FLAGS), max_size=5, unique=True))
def test_trec_eval_prints_the_figures_of_the_full_path(
    folder: Path, texts: tuple[str, str], flags: list[str]
) -> None:
    files = write(folder, "qrels", texts[0]), write(folder, "run", texts[1])
    try:
        arguments = parse_arguments([*flags, *files])
    except TrectoolsPlusError:
        return
    small = score_small_files(arguments)
    if small is None:
        return
    scores, notes = score_files(arguments)
    assert notes == []
    assert [*output_lines(small, arguments)] == [*output_lines(scores, arguments)]
    for one in arguments.requested:
        name = one.measure.name
        if name != "runid":
            assert np.array_equal(small.values[name], scores.values[name], equal_nan=True)
            assert summarise(one, small, complete=True) == summarise(one, scores, complete=True)


@QUIET
@given(RUNS)
def test_a_small_run_is_described_as_by_tables(folder: Path, text: str) -> None:
    path = write(folder, "described", text)
    run = read_small_run(path)
    if run is not None:
        info = describe_run(load_run(path))
        assert run.describe() == info.model_dump(mode="json")


@QUIET
@given(RUNS, st.sampled_from(["default", "trec", "submission"]))
def test_a_small_run_is_clean_only_if_no_rule_has_a_finding(
    folder: Path, text: str, profile: str
) -> None:
    path, limits = write(folder, "validated", text), PROFILES[profile]
    report = validate_run(path, max_depth=limits.max_depth, max_tag_length=limits.max_tag_length)
    small = validate_small_run(path, limits)
    assert small in (None, report)
    run = read_small_run(path)
    if run is not None:
        assert all(one.severity is Severity.INFO or one.code == "R161" for one in report.findings)


@QUIET
@given(QRELS)
def test_small_qrels_have_no_warnings(folder: Path, text: str) -> None:
    path = write(folder, "checked", text)
    if read_small_qrels(path) is not None:
        found = validate_qrels(path).findings
        assert all(one.severity is Severity.INFO for one in found)


CLEAN_RUNS = {
    "blanks": "1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n",
    "tabs": "1\tQ0\ta\t1\t2.0\tt\n1\tQ0\tb\t2\t1.0\tt\n",
    "integers": "q1 Q0 MED-10 1 3 t\nq1 Q0 MED-2 2 -4 t\nPLAIN-2 Q0 MED-2 1 4 t\n",
    "exponents": "1 Q0 clueweb12-0000tw-00-00001 1 1.5e3 t\n1 Q0 clueweb12-1 2 -2E-3 t\n",
    "one row": "1 Q0 a 1 0 t\n",
}


@pytest.mark.parametrize("text", CLEAN_RUNS.values(), ids=CLEAN_RUNS)
def test_usual_clean_files_are_read_without_tables(folder: Path, text: str) -> None:
    rows = [line.split() for line in text.splitlines()]
    judged = "".join(f"{row[0]} 0 {row[2]} {2 - at % 2}\n" for at, row in enumerate(rows))
    files = write(folder, "qrels", judged), write(folder, "run", text)
    assert validate_small_run(files[1], PROFILES["default"]) == validate_run(files[1])
    assert (
        evaluate_small_files(files[0], [files[1]], parse_measures(["AP"]), Averaging()) is not None
    )
    # Line ends, first ranks, and ties in trec_eval's order do not change the figures.
    crlf = write(folder, "run", text.replace("\n", "\r\n").removesuffix("\n").removesuffix("\r"))
    assert evaluate_small_files(files[0], [crlf], parse_measures(["AP"]), Averaging()) is not None
    assert validate_small_run(crlf, PROFILES["default"]) is None


@pytest.mark.parametrize("doc_id", READ_AS_MISSING)
def test_ids_that_pandas_changes_are_left_to_the_rule(folder: Path, doc_id: str) -> None:
    path = write(folder, "run", f"1 Q0 {doc_id} 1 2.0 t\n")
    assert validate_small_run(path, PROFILES["default"]) is None
    assert [one.code for one in validate_run(path).findings] == ["R115"]


def test_errors_are_those_of_the_full_path(folder: Path) -> None:
    qrels, run = write(folder, "qrels", "1 0 a 1\n"), write(folder, "run", "1 Q0 a 1 high t\n")
    assert evaluate_small_files(qrels, [run], parse_measures(["AP"]), Averaging()) is None
    with pytest.raises(TrectoolsPlusError):
        evaluate_fully(qrels, [run], ["AP"], "zero")
