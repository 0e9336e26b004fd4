"""Files scored in chunks, in several processes, have the results of those read as a whole."""

import gzip
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trectools_plus import distributed as copies
from trectools_plus.choices import Averaging
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats import name_runs, query_chunks
from trectools_plus.measures import parse_measures, score_runs
from trectools_plus.measures import scoring as files
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.measures.scoring import JudgedFile, PartJudge, judge_file, same
from trectools_plus.validation import load_qrels, parts
from trectools_plus.validation.parts import NotInPartsError

CUT = parse_measures(["nDCG@10", "AP@2", "R@3", "RR@2", "Judged@2", "RBP@3"])
WHOLE = parse_measures(
    ["AP", "AP(rel=2)", "nDCG", "Bpref", "Rprec", "SetP", "IPrec@0.3", "MeanRank"]
)
QUERY_IDS = ["1", "12", "q3", "PLAIN-4", "823259", "MED-10", "x" * 17]
DOC_IDS = ["d1", "d10", "d2", "0", "z", "clueweb12-0000tw-00-00013", "MED-10", "D1", "1", "a" * 40]
SCORES = ["9.5", "9.25", "7", "6.000001", "6.0000001", "0.5", "0.25", "0", "-1.25", "-3"]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(parts, "SNIFFED_BYTES", 1)
    monkeypatch.setattr(query_chunks, "CHUNK_BYTES", 120)


@pytest.fixture
def two_processes(monkeypatch):
    monkeypatch.setattr(parts, "_BYTES_PER_PROCESS", 1)
    monkeypatch.setattr(copies, "_count_processors", lambda: 2)
    monkeypatch.setattr(copies, "can_copy_process", lambda: sys.platform == "linux")


def outcome(qrels: Path, runs: list[Path], measures: list[Measure], **options):
    """Return everything that a command prints, or the error."""
    try:
        opened = files.open_files(str(qrels), [str(run) for run in runs], measures, **options)
        named = name_runs(opened.runs)
        found = score_runs(opened.qrels, named, measures, Averaging(), notes=opened.notes)
    except TrectoolsPlusError as error:
        return type(error), str(error)
    tables = {name: table.tobytes() for name, table in found.tables.items()}
    return found.query_ids, found.counts, found.queries_without_relevant, tables, found.notes


def whole_outcome(*given, **options):
    """Return the same for runs that are read as a whole."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "judge_file", only_as_a_whole)
        return outcome(*given, **options)


def only_as_a_whole(*_, **__):
    raise NotInPartsError


def in_parts(qrels, run):
    judge = PartJudge(JudgedQueries.of(load_qrels(qrels)), same)
    try:
        view, _, found = judge_file(str(run), judge)
    except NotInPartsError:
        return None
    return JudgedFile(view.tag, view.path, view.query_ids, judge.qrels.place(found))


@st.composite
def collections(draw):
    """The text of a run and of qrels; two of three are clean."""
    is_neat = draw(st.sampled_from([True, True, False]))
    queries = draw(st.lists(st.sampled_from(QUERY_IDS), min_size=1, max_size=6, unique=True))
    separator, end = draw(st.sampled_from([" ", "\t"])), draw(st.sampled_from(["\n", "\r\n"]))
    first = draw(st.integers(0, 1))
    doc_ids = st.sampled_from(DOC_IDS if not is_neat else [one for one in DOC_IDS if one != "D1"])
    lines, grades = [], {}
    for query in queries:
        documents = draw(st.lists(doc_ids, min_size=1, unique=True))
        places = draw(
            st.lists(
                st.integers(0, len(SCORES) - 1),
                min_size=len(documents),
                max_size=len(documents),
                unique=is_neat,
            )
        )
        pairs = zip(documents, sorted(places), strict=True)
        for rank, (doc_id, place) in enumerate(pairs, first):
            lines.append(separator.join([query, "Q0", doc_id, str(rank), SCORES[place], "tag"]))
        if draw(st.booleans()) or not grades:
            grades[query] = draw(st.dictionaries(doc_ids, st.integers(-1, 3), min_size=1))
            if is_neat:
                grades[query][documents[-1]] = draw(st.integers(1, 3))
    grades.setdefault(draw(st.sampled_from(QUERY_IDS)), {"other": draw(st.integers(0, 2))})
    qrels = "".join(
        f"{query} 0 {doc_id} {grade}\n"
        for query, documents in grades.items()
        for doc_id, grade in documents.items()
    )
    return end.join(lines) + draw(st.sampled_from([end, ""])), qrels


def write(folder, collection, packed=False):
    run, qrels = folder / f"run.txt{'.gz' if packed else ''}", folder / "qrels.txt"
    content = collection[0].encode("utf-8", "surrogateescape")
    run.write_bytes(gzip.compress(content) if packed else content)
    qrels.write_text(collection[1], encoding="utf-8")
    return qrels, run


@given(collections(), st.sampled_from([CUT, WHOLE]), st.booleans())
def test_figures_notes_and_errors_are_those_of_the_whole_file(
    tmp_path_factory, collection, measures, packed
):
    qrels, run = write(tmp_path_factory.mktemp("clean"), collection, packed)
    for strict in (False, True):
        found = outcome(qrels, [run], measures, strict_input=strict)
        assert found == whole_outcome(qrels, [run], measures, strict_input=strict)


@given(collections(), st.data())
@example(("1 Q0 a 1 2 t\n1 Q0 a 2 1 t\n", "1 0 a 1\n"), None)
def test_a_damaged_file_is_no_different(tmp_path_factory, collection, data):
    run, qrels = collection
    for _ in range(data.draw(st.integers(1, 3)) if data else 0):
        at = data.draw(st.integers(0, len(run) - 1))
        new = data.draw(st.sampled_from([*" \n\t\r#01.-dQ\0,{é\udcff", ""]))
        run = run[:at] + new + run[at + 1 :]
    paths = write(tmp_path_factory.mktemp("damaged"), (run, qrels))
    assert outcome(paths[0], [paths[1]], CUT) == whole_outcome(paths[0], [paths[1]], CUT)


def large(n_queries=24, depth=12, form="{q} Q0 d{d} {r} {s} tag\n"):
    rows = [
        form.format(q=q, d=(q * 7 + r * 3) % 97, r=r, s=100 - r * 1.5)
        for q in range(n_queries)
        for r in range(1, depth + 1)
    ]
    qrels = [
        f"{q} 0 d{d} {(q + d) % 3}\n" for q in range(3, n_queries + 5) for d in range(0, 97, 4)
    ]
    return "".join(rows), "".join(qrels)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("measures", [CUT, WHOLE])
def test_processes_give_the_same(tmp_path, two_processes, monkeypatch, measures, packed):
    qrels, run = write(tmp_path, large(), packed)
    found = outcome(qrels, [run], measures)
    assert found == whole_outcome(qrels, [run], measures)
    monkeypatch.setattr(copies, "_count_processors", lambda: 1)
    assert found == outcome(qrels, [run], measures)
    assert in_parts(qrels, run) is not None


def test_a_query_in_two_parts_is_read_as_a_whole(tmp_path, two_processes):
    run, grades = large()
    qrels, path = write(tmp_path, (run + "3 Q0 new 1 5 tag\n", grades))
    assert in_parts(qrels, path) is None
    assert outcome(qrels, [path], CUT) == whole_outcome(qrels, [path], CUT)
