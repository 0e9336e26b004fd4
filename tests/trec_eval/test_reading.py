"""Input that is scored as in trec_eval, with a note, that needs --permissive, or is refused."""

from __future__ import annotations

import re

import pytest
from harness.tables import cases_of

from trectools_plus.errors import CheckFailedError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.trec_eval.arguments import parse_arguments
from trectools_plus.trec_eval.inputs import Input, read_input
from trectools_plus.trec_eval.scoring import score
from trectools_plus.validation.findings import FindingsError

QRELS = "1 0 a 1\n1 0 b 0\n2 0 a 1\n"
RUN = "1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n2 Q0 a 1 1.0 t\n"
MAP = ("-q", "-m", "map")


def values(lines):
    return [line.split()[-1] for line in lines]


# What: qrels, run, the rule that says why, and what trec_eval prints for map.
SCORED_WITH_A_NOTE = cases_of(__file__, "scored", RUN=RUN)


@pytest.mark.every(2)
@pytest.mark.parametrize("flags", [(), ("--permissive",)])
@pytest.mark.parametrize("name", SCORED_WITH_A_NOTE)
def test_a_figure_that_the_data_determine_is_printed_with_a_note(printed, tmp_path, name, flags):
    qrels, run, code, expected = SCORED_WITH_A_NOTE[name]
    assert values(printed(qrels, run, *MAP, *flags)) == expected
    notes = read(tmp_path, qrels, run).notes
    assert code in {re.search(r": ([A-Z]\d{3}) ", note)[1] for note in notes}


PERMITTED = cases_of(__file__, "permitted", RUN=RUN)


@pytest.mark.parametrize("name", PERMITTED)
def test_figures_without_meaning_need_permission(printed, tmp_path, name):
    qrels, run, code, expected = PERMITTED[name]
    with pytest.raises(FindingsError, match=code) as refused:
        printed(qrels, run, *MAP)
    assert refused.value.exit_code == 1
    assert values(printed(qrels, run, *MAP, "--permissive")) == expected
    notes = read(tmp_path, qrels, run, "--permissive").notes
    assert any(f" {code} " in note and "as C trec_eval" in note for note in notes)


STOPS = cases_of(__file__, "stops", RUN=RUN)


@pytest.mark.parametrize("name", STOPS)
def test_where_trec_eval_stops_or_crashes_nothing_is_permitted(printed, name):
    qrels, run, said = STOPS[name]
    with pytest.raises(CheckFailedError):
        printed(qrels, run, *MAP)
    with pytest.raises(CheckFailedError, match=said):
        printed(qrels, run, *MAP, "--permissive")


def test_one_query_that_is_not_there(printed):
    with pytest.raises(CheckFailedError):
        printed(QRELS, RUN, "-D1.9")


@pytest.mark.parametrize(
    "run",
    [
        RUN.replace(" 1 2.0", " 0 2.0").replace(" 2 1.0", " 0 1.0"),
        RUN.replace(" 1 2.0", " - 2.0"),
        RUN.replace(" t\n", " t and more\n"),
        RUN.replace(" ", "\t"),
        "# a comment\n\n" + RUN,
        "qid Q0 docid rank score tag\n" + RUN,
        "qid docid score\n" + RUN,
        "\ufeff" + RUN,
    ],
    ids=[
        "equal ranks",
        "no rank",
        "further columns",
        "tabs",
        "comment",
        "header",
        "header of three columns",
        "byte order mark",
    ],
)
def test_what_trec_eval_passes_over_is_passed_over(printed, run):
    assert printed(QRELS, run) == printed(QRELS, RUN)


def read(tmp_path, qrels, run, *flags):
    (tmp_path / "qrels").write_text(qrels, "utf-8")
    (tmp_path / "run").write_text(run, "utf-8")
    return read_input(parse_arguments([*flags, str(tmp_path / "qrels"), str(tmp_path / "run")]))


def test_equal_judgments_count_once(printed, tmp_path):
    qrels = QRELS + "1 0 a 1\n"
    assert printed(qrels, RUN) == printed(QRELS, RUN)
    [difference] = read(tmp_path, qrels, RUN).notes
    assert difference.endswith("C trec_eval stops")


def test_a_byte_order_mark_is_reported(tmp_path):
    for qrels, run, name in (
        (QRELS, "\ufeff" + RUN, "run"),
        ("\ufeff" + QRELS, RUN, "qrels"),
    ):
        [note] = read(tmp_path, qrels, run).notes
        assert note.startswith(f"{tmp_path / name}:1: F102 byte order mark")
        assert "lose the row" in note


def test_strict_input_refuses_every_error(tmp_path):
    deep = RUN + "".join(f"3 Q0 d{n} {n} {999 - n} t\n" for n in range(1, 102))
    for run, code in ((RUN.replace("b 2", "b 1"), "R122"), (deep, "R161")):
        assert read(tmp_path, QRELS, run).notes == []
        with pytest.raises(FindingsError, match=code) as refused:
            read(tmp_path, QRELS, run, "--strict-input")
        assert refused.value.exit_code == 1


def test_a_header_of_qrels_is_a_judgment_of_one_more_query(printed, tmp_path):
    header = "qid iter docno rel\n"
    assert printed(header + QRELS, RUN) == printed(QRELS, RUN)
    as_in_trec_eval = printed("qid iter docno 0\n" + QRELS, RUN, "-c")
    assert printed(header + QRELS, RUN, "-c") == as_in_trec_eval
    assert values(as_in_trec_eval)[1] == "3"
    [note] = read(tmp_path, header + QRELS, RUN, "-c").notes
    assert "as C trec_eval" in note


def test_a_header_of_qrels_at_which_trec_eval_stops_is_skipped(printed, tmp_path):
    qrels = "qid docno rel\n" + QRELS
    assert printed(qrels, RUN, "-c") == printed(QRELS, RUN, "-c")
    [note] = read(tmp_path, qrels, RUN).notes
    assert note.endswith("it is skipped")


@pytest.mark.parametrize("utf8", ["neither", "qrels", "run"])
def test_ids_that_are_not_utf8_are_compared_as_bytes(tmp_path, utf8):
    """Scores are tied, so that the bytes of ids decide: 0xE9 is above the UTF-8 form of é."""
    qrels = {"q\xfc": {"d\xe9": 1, "d\xe8": 0, "dz": 2}, "q1": {"d\xc3\xa9": 1}}
    run = {
        "q\xfc": {"d\xe9": 1.0, "d\xe8": 1.0, "dz": 1.0, "d\xc3": 1.0, "d\xa0": 2.0},
        "q1": {"d\xe9": 1.0, "d\xc3\xa9": 0.5},
    }
    texts = {
        "qrels": "".join(f"{q} 0 {d} {g}\n" for q, ds in qrels.items() for d, g in ds.items()),
        "run": "".join(f"{q} Q0 {d} 1 {s} t\xe9\n" for q, ds in run.items() for d, s in ds.items()),
    }
    for name, text in texts.items():
        encoding = "utf-8" if name == utf8 else "latin-1"
        (tmp_path / name).write_bytes(text.encode(encoding))

    def spelled(ids, name):
        """Return ids as pytrec_eval can compare them: in the order of their bytes."""
        encoding = "utf-8" if name == utf8 else "latin-1"
        return {one.encode(encoding).decode("latin-1"): value for one, value in ids.items()}

    tables = {
        name: {q: spelled(ids, name) for q, ids in spelled(table, name).items()}
        for name, table in (("qrels", qrels), ("run", run))
    }
    words = ["-q", "-m", "map", "-m", "ndcg_cut", str(tmp_path / "qrels"), str(tmp_path / "run")]
    arguments = parse_arguments(words)
    data = read_input(arguments)
    found = score(data, arguments)
    table = Input.from_tables(Qrels.from_dict(tables["qrels"]), Run.from_dict(tables["run"]))
    expected = score(table, arguments)
    shown = [one.encode("utf-8", "surrogateescape") for one in found.query_ids]
    assert shown == [one.encode("latin-1") for one in expected.query_ids]
    for name, array in expected.values.items():
        assert array.tolist() == found.values[name].tolist()
    tag = "t\xe9".encode("utf-8" if utf8 == "run" else "latin-1")
    assert found.run_id.encode("utf-8", "surrogateescape") == tag
    assert [note for note in data.notes if "F103" in note and "as C trec_eval" in note]
    only = parse_arguments([f"-D1.{shown[-1].decode('utf-8', 'surrogateescape')}", *words])
    assert score(read_input(only), only).query_ids == found.query_ids[-1:]


def test_a_query_with_negative_grades_only_scores_nothing(printed):
    """C trec_eval crashes at it."""
    lines = printed(QRELS + "3 0 a -2\n", RUN + "3 Q0 a 1 1 t\n", "-q", "-m", "map")
    assert values(lines) == ["1.0000", "1.0000", "0.0000", "0.6667"]
