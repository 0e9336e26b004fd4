import math
import re
import statistics

import numpy as np
import polars as pl
import pytest

from trectools_plus.errors import CheckFailedError, UsageError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures import DEFAULT_MEASURES, evaluate
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.validation import load_qrels, load_run

pytestmark = pytest.mark.installation

QRELS = Qrels.from_dict(
    {
        "1": {"a": 1, "b": 2, "x": 0},
        "2": {"a": 1, "x": 0},
        "3": {"a": 0, "b": -1},
        "4": {"a": 3},
    }
)
RUN = Run.from_dict(
    {"2": {"x": 2.0, "a": 1.0}, "1": {"b": 3.0, "a": 2.0}, "3": {"a": 1.0}, "9": {"a": 1.0}},
    name="first",
)


class TestAveraging:
    @pytest.mark.parametrize(
        ("options", "scored", "values", "n_missing", "note"),
        [
            ({}, "1234", [1.0, 0.5, 0.0, 0.0], 1, ": counted 0.*: 3$"),
            ({"no_relevant": "drop"}, "124", [1.0, 0.5, 0.0], 1, "left out of every mean: 3$"),
            ({"missing": "drop"}, "123", [1.0, 0.5, 0.0], 1, ": counted 0.*: 3$"),
            ({"missing": "drop", "no_relevant": "drop"}, "12", [1.0, 0.5], 1, "every mean: 3$"),
        ],
    )
    def test_queries_that_count(self, options, scored, values, n_missing, note):
        evaluation = evaluate(QRELS, RUN, ["RR", "P@1"], **options)
        assert evaluation.query_ids == {"first": [*scored]}
        assert evaluation.values("first", "RR").tolist() == values
        assert evaluation.mean("first", "RR") == sum(values) / len(values)
        assert evaluation.queries_without_relevant == ["3"]
        counts = {"n_qrels": 4, "n_run": 4, "n_scored": len(values), "n_missing": n_missing}
        assert evaluation.counts["first"].as_dict() == {**counts, "n_extra": 1}
        assert evaluation.notes[0].startswith("1 query of the qrels without a relevant document")
        assert re.search(note, evaluation.notes[0])

    def test_qrels_without_a_relevant_document_score_0(self):
        qrels, run = Qrels.from_dict({"1": {"a": 0}, "2": {"a": -2}}), {"1": {"a": 1.0}}
        evaluation = evaluate(qrels, run, ["RR", "nDCG@10", "MinRank"])
        assert [evaluation.mean(name) for name in ("RR", "nDCG@10")] == [0.0, 0.0]
        assert math.isnan(evaluation.mean("MinRank"))
        of_queries, of_query, of_file = evaluation.notes[:3]
        assert of_queries.startswith("2 queries of the qrels without a relevant")
        assert "Q132 query 2 " in of_query
        assert "no grade above 0 in 2 rows; every query scores 0" in of_file
        with pytest.raises(CheckFailedError, match="no_relevant=drop"):
            evaluate(qrels, run, ["RR"], no_relevant="drop")

    def test_all_measures_share_one_denominator(self):
        """Query 2 has no grade of 2: AP(rel=2) is 0 there, and counts."""
        names = [*DEFAULT_MEASURES, "AP(rel=2)", "R(rel=3)@10", "Judged@10"]
        evaluation = evaluate(QRELS, RUN, names)
        assert {evaluation.n("first", name) for name in names} == {4}
        assert evaluation.values("first", "AP(rel=2)").tolist() == [1.0, 0.0, 0.0, 0.0]
        assert "AP(rel=2): no document of grade 2 or more for 1 of 4 queries" in evaluation.notes

    def test_undefined_values_are_left_out_and_counted(self):
        run = Run.from_dict({"1": {"x": 3.0, "b": 2.0}, "2": {"x": 1.0}})
        evaluation = evaluate(QRELS, run, ["MinRank", "MeanRank", "RelRet@5"])
        np.testing.assert_array_equal(evaluation.values("run", "MinRank"), [2.0] + [np.nan] * 3)
        assert evaluation.mean("run", "MinRank") == 2.0
        assert evaluation.n("run", "MinRank") == 1
        assert evaluation.counts["run"].n_scored == 4
        assert evaluation.values("run", "RelRet@5").tolist() == [1.0, 0.0, 0.0, 0.0]
        undefined = evaluation.per_query().filter(measure="MinRank")
        assert undefined["value"].to_list() == [2.0, None, None, None]


class TestTables:
    def test_per_query_is_one_long_table(self):
        runs = {"a": RUN, "b": Run.from_dict({"4": {"a": 1.0}})}
        evaluation = evaluate(QRELS, runs, ["RR", "P@1"])
        table = evaluation.per_query()
        assert table.columns == ["run", "query_id", "measure", "value"]
        assert table.rows()[:3] == [
            ("a", "1", "RR", 1.0),
            ("a", "1", "P@1", 1.0),
            ("a", "2", "RR", 0.5),
        ]
        assert table.rows()[-1] == ("b", "4", "P@1", 1.0)
        assert evaluation.to_pandas().shape == (16, 4)
        assert evaluation.run_names == ["a", "b"]


class TestAccessors:
    def test_one_run_needs_no_name(self):
        evaluation = evaluate(QRELS, RUN, ["Recall@10", "nDCG@10"])
        values = evaluation.values("first", "R@10")
        np.testing.assert_array_equal(evaluation.values("Recall@10"), values)
        assert evaluation.mean("Recall@10") == pytest.approx(statistics.mean(values))
        assert evaluation.median("Recall@10") == statistics.median(values)
        assert evaluation.std("Recall@10") == pytest.approx(statistics.stdev(values))
        assert evaluation.n("Recall@10") == len(values)
        table = evaluation.per_query("Recall@10")
        assert table["value"].to_list() == values.tolist()
        assert table["measure"].n_unique() == 1

    @pytest.mark.parametrize(
        "spelling", ["Recall@10", "R@10", "recall_10", "r@10", "RECALL@10", "recall.10"]
    )
    def test_any_spelling_of_a_measure_is_accepted(self, spelling):
        evaluation = evaluate(QRELS, RUN, ["Recall@10"])
        assert evaluation.mean(spelling) == evaluation.mean("first", spelling)
        assert evaluation.definition(spelling).formula
        assert evaluation.per_query(spelling).height == 4
        assert not evaluation.is_over_different_queries(spelling)

    def test_one_of_several_runs_must_be_named(self):
        evaluation = evaluate(QRELS, {"a": RUN, "b": RUN}, ["RR"])
        for accessor in (evaluation.mean, evaluation.median, evaluation.std, evaluation.n):
            with pytest.raises(UsageError, match="a, b"):
                accessor("RR")

    def test_a_measure_is_an_index(self):
        one = evaluate(QRELS, RUN, ["Recall@10", "mrr"])
        assert one["Recall@10"] == one["R@10"] == one.mean("Recall@10")
        assert one.to_dict() == {"Recall@10": one["R@10"], "mrr": one["RR"]}
        assert list(one) == ["Recall@10", "mrr"]
        assert "mrr" in one
        assert "AP" not in one
        with pytest.raises(UsageError, match=r"AP.*Recall@10"):
            one["AP"]

    def test_several_runs_are_indexed_by_name(self):
        several = evaluate(QRELS, {"a": RUN, "b": RUN}, ["RR", "AP"])
        assert several["RR"] == {"a": several.mean("a", "RR"), "b": several.mean("b", "RR")}
        assert several.to_dict()["b"] == {name: several.mean("b", name) for name in ("RR", "AP")}
        with pytest.raises(UsageError, match="'a'"):
            several["a"]
        with pytest.raises(UsageError):
            several.mean("AP")


class TestInput:
    def test_generators_are_accepted(self):
        other = Run(RUN.frame, name="second")
        evaluation = evaluate(QRELS, (run for run in (RUN, other)), (m for m in ("RR", "AP")))
        assert evaluation.run_names == ["first", "second"]
        assert evaluation.measure_names == ["RR", "AP"]
        assert evaluation.mean("first", "AP") == evaluation.mean("second", "AP")

    def test_two_runs_of_one_name_are_refused(self):
        with pytest.raises(UsageError, match="first"):
            evaluate(QRELS, [RUN, RUN])
        with pytest.raises(UsageError):
            evaluate(QRELS, [])

    def test_policy_that_does_not_exist_is_refused(self):
        with pytest.raises(UsageError, match=r"zero.*drop.*skip"):
            evaluate(QRELS, RUN, missing="skip")
        with pytest.raises(UsageError, match=r"zero.*drop.*None"):
            evaluate(QRELS, RUN, no_relevant=None)

    @pytest.mark.parametrize(
        ("run", "qrels"),
        [
            ({"1": {"a": float("nan")}}, {"1": {"a": 1}}),
            ({"1": {"a": float("inf")}}, {"1": {"a": 1}}),
            ({"1": {"a": 1.0}}, {"1": {"a": 1_000_000_000}}),
            ({"1": {"a": 1.0}}, {"1": {"a": 20_000_000_000}}),
            ({"1": {"a": 1.0}}, {"2": {"a": 1}}),
        ],
    )
    def test_what_would_crash_or_lie_is_refused(self, run, qrels):
        with pytest.raises(CheckFailedError):
            evaluate(Qrels.from_dict(qrels), Run.from_dict(run))


def test_repeated_and_scattered_judgments_count_once_and_are_grouped():
    rows = [("b", "d1", 1), ("a", "d1", 0), ("b", "d2", 2), ("a", "d2", 1), ("b", "d1", 1)]
    qrels = Qrels(
        pl.DataFrame([*rows, ("c", "d1", 0)], ["query_id", "doc_id", "relevance"], orient="row")
    )
    judged = JudgedQueries.of(qrels)
    assert judged.query_ids == ["b", "a", "c"]
    rows = [(0, "d1", 1), (0, "d2", 2), (1, "d1", 0), (1, "d2", 1)]
    assert judged.frame.rows() == [*rows, (2, "d1", 0)]
    assert 0 in judged.highest


def test_findings_that_change_no_figure_are_notes(tmp_path):
    (tmp_path / "a.run").write_text("1 Q0 a 0 2.0 t\n1 Q0 b 0 1.0 t\n")
    (tmp_path / "q.txt").write_text("1 0 a 1.0\n1 0 b 0.0\n")
    paths = str(tmp_path / "q.txt"), str(tmp_path / "a.run")
    evaluation = evaluate(*paths, ["AP"])
    assert evaluation.notes == [
        "2 findings that change no figure: R122, Q111; see `runs validate` and "
        "`trectools-plus qrels validate`"
    ]
    with pytest.raises(CheckFailedError, match="Q111"):
        evaluate(*paths, ["AP"], strict_input=True)
    (tmp_path / "q.txt").write_text("1 0 a 1\n1 0 b 0\n")
    with pytest.raises(CheckFailedError, match="R122"):
        evaluate(*paths, ["AP"], strict_input=True)
    tables = load_qrels(paths[0]), load_run(paths[1])
    assert evaluate(*tables, ["AP"], strict_input=True).notes == []
