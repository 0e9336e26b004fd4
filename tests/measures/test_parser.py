import importlib.metadata
import sys
import types
from functools import cache
from pathlib import Path

import ir_measures
import pytest
from harness.tables import cases_of

from trectools_plus.errors import UsageError
from trectools_plus.measures import BaseMeasure, explain, parse_measure, parse_measures
from trectools_plus.measures.parser import ALIASES, measure_labels, split_names
from trectools_plus.measures.providers.libraries import IN_TREC_EVAL

find_entry_points = importlib.metadata.entry_points


@cache
def entry_points_on(path, **selected):
    return find_entry_points(**selected)


@pytest.fixture(autouse=True)
def _packages_read_once(monkeypatch):
    """Read the installed packages once for each search path: every unknown label needs them."""
    monkeypatch.setattr(
        importlib.metadata,
        "entry_points",
        lambda **selected: entry_points_on(tuple(sys.path), **selected),
    )


SPELLINGS = cases_of(__file__, "spellings")


@pytest.mark.parametrize(("spelled", "canonical"), SPELLINGS.items())
def test_spelling(spelled, canonical):
    measure = parse_measure(spelled)
    assert measure.name == canonical
    same = "".join(spelled.split()) == canonical
    assert measure.definition.alias == (None if same else spelled)
    assert parse_measure(measure.name).name == canonical


IR_MEASURES = {
    "nDCG@10": ir_measures.nDCG @ 10,
    "AP(rel=2)@100": ir_measures.AP(rel=2) @ 100,
    "nDCG(dcg='exp-log2')@10": ir_measures.nDCG(dcg="exp-log2") @ 10,
    "RR": ir_measures.RR,
    "Judged@10": ir_measures.Judged @ 10,
    "R@50": ir_measures.R @ 50,
    "P@5": ir_measures.P @ 5,
    "Success@10": ir_measures.Success @ 10,
    "infAP": ir_measures.infAP,
    "IPrec@0.1": ir_measures.IPrec @ 0.1,
    "Bpref(rel=3)": ir_measures.Bpref(rel=3),
    "Rprec": ir_measures.Rprec,
    "SetAP": ir_measures.SetAP,
    "Compat(p=0.9)": ir_measures.Compat(p=0.9),
}


@pytest.mark.parametrize(("name", "theirs"), IR_MEASURES.items())
def test_canonical_names_are_those_of_ir_measures(name, theirs):
    assert parse_measure(name).name == repr(theirs)


def read(written):
    """The measure's name, or the message of the error."""
    try:
        return parse_measure(written).name
    except UsageError as error:
        return str(error)


@pytest.mark.parametrize("label", ["AP", "MeanRank", "MaxOntSim"])
def test_a_cutoff_is_not_a_parameter_in_brackets(label):
    with pytest.raises(UsageError, match=r"parameter cutoff.*Label@10"):
        parse_measure(f"{label}(cutoff=5)")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hits@10", "Hit@10"),
        ("gm_map", "trec-eval -m gm_map QRELS RUN"),
        ("11pt_avg", "trec-eval -m 11pt_avg QRELS RUN"),
        ("relative_P.5", "trec-eval -m relative_P.5 QRELS RUN"),
        ("set_F.0.5", "trec-eval -m set_F.0.5 QRELS RUN"),
        ("dcg@10", "trec-eval --trec-eval-version 10 -m dcg QRELS RUN"),
        ("numq", "trec-eval -m num_q QRELS RUN"),
        ("AP(rel=1,REL=2)", "cannot read"),
    ],
)
def test_names_without_an_equal_measure(name, message):
    with pytest.raises(UsageError, match=message):
        parse_measure(name)


def test_every_alias_is_read():
    for alias, meaning in ALIASES.items():
        at = "@0.1" if meaning == "IPrec" else "@7"
        at = "" if meaning in {"Rprec", "Bpref", "infAP", "SetP", "SetR", "SetF", "SetAP"} else at
        assert parse_measure(f"{alias}{at}").name == f"{meaning}{at}"


def test_hints_name_calls_that_work(program):
    fixtures = Path(__file__).parents[2] / "fixtures"
    files = [str(fixtures / "garden-trec" / "qrels.txt"), str(fixtures / "runs" / "lexical.run")]
    for name in ("unj.10", "unj@5", "ideal_dcg@10", "yaap", *IN_TREC_EVAL):
        with pytest.raises(UsageError) as caught:
            parse_measure(name)
        done = program([*str(caught.value).split("`")[1].split()[:-2], *files], fixtures)
        assert done.code == 0, (name, done.stderr)


def test_measure_objects_of_ir_measures_are_accepted():
    measures = parse_measures([ir_measures.nDCG @ 10, ir_measures.AP(rel=2), "ndcg_cut.10"])
    assert [measure.name for measure in measures] == ["nDCG@10", "AP(rel=2)"]


def test_trec_eval_parameters_give_several_measures():
    names = [measure.name for measure in parse_measures(["P.5,10", "map", "success_1"])]
    assert names == ["P@5", "P@10", "AP", "Success@1"]
    with pytest.raises(UsageError, match=r"P@5.*P@10"):
        parse_measure("P.5,10")


def test_generators_and_single_names_are_accepted():
    assert [one.name for one in parse_measures(name for name in ("RR", "AP"))] == ["RR", "AP"]
    assert [one.name for one in parse_measures("RR")] == ["RR"]


@pytest.mark.parametrize(
    ("name", "message"),
    cases_of(__file__, "refused"),
)
def test_what_cannot_be_is_refused(name, message):
    with pytest.raises(UsageError, match=message):
        parse_measure(name)


def test_names_split_outside_parentheses_and_numbers_stay():
    assert split_names("nDCG@10, AP(rel=2)@100") == ["nDCG@10", "AP(rel=2)@100"]
    assert split_names("RBP(p=0.8,rel=1),P@5,") == ["RBP(p=0.8,rel=1)", "P@5"]
    assert split_names("nDCG(dcg='exp-log2')@5,m:C(a=',)')") == [
        "nDCG(dcg='exp-log2')@5",
        "m:C(a=',)')",
    ]
    assert split_names("P.5,10,map,iprec_at_recall.0.1,0.2") == [
        "P.5,10",
        "map",
        "iprec_at_recall.0.1,0.2",
    ]
    assert split_names("nDCG(gains={0:0,1:5})@3,RR") == ["nDCG(gains={0:0,1:5})@3", "RR"]
    assert split_names("10,RR") == ["10", "RR"]
    assert split_names(" , ") == []


def test_no_measure_at_all_is_refused():
    with pytest.raises(UsageError):
        parse_measures([])


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("nDCG@10", "trec_eval -c -m ndcg_cut.10 QRELS RUN"),
        ("AP(rel=2)@100", "trec_eval -c -l 2 -m map_cut.100 QRELS RUN"),
        ("AP", "trec_eval -c -m map QRELS RUN"),
        ("RR@10", "trec_eval -c -M 10 -m recip_rank QRELS RUN"),
        ("HitRate@10", "trec_eval -c -m success.10 QRELS RUN"),
        ("IPrec@0.1", "trec_eval -c -m iprec_at_recall.0.10 QRELS RUN"),
        ("nDCG(dcg='exp-log2')@10", None),
        ("APcap@10", None),
    ],
)
def test_equal_trec_eval_call(name, call):
    assert explain(name).trec_eval_call == call


class _One(BaseMeasure):
    def score_query(self, ranked_doc_ids, qrels_of_query):
        return 1.0


class TestOwnClasses:
    def test_class_by_module(self, tmp_path, monkeypatch):
        (tmp_path / "shelf_measures.py").write_text(
            "from trectools_plus.measures import BaseMeasure\n"
            "class Half(BaseMeasure):\n"
            "    parameter_defaults = {'weight': 1.0}\n"
            "    def score_query(self, ranked_doc_ids, qrels_of_query):\n"
            "        return self.parameters['weight'] / 2\n"
        )
        monkeypatch.chdir(tmp_path)
        measure = parse_measure("shelf_measures:Half(weight=0.5)@3")
        assert measure.name == "Half(weight=0.5)@3"
        assert measure.definition.alias == "shelf_measures:Half(weight=0.5)@3"
        assert measure.definition.formula == "see shelf_measures:Half"
        assert measure.cutoff == 3
        with pytest.raises(UsageError):
            parse_measure("shelf_measures:Half(size=1)")

    def test_two_measures_of_one_name_are_refused(self):
        class Fake(BaseMeasure):
            label = "AP"

            def score_query(self, ranked_doc_ids, qrels_of_query):
                return 1.0

        with pytest.raises(UsageError, match=r"AP.*standard measure"):
            parse_measures(["AP", Fake()])
        Fake.label = "Mine"
        other = type("Other", (Fake,), {})
        with pytest.raises(UsageError):
            parse_measures([Fake(), other()])

    @pytest.mark.parametrize(
        "name",
        ["nDCG@10", "AP", "MRR@10", "Compat", "ndcg_cut_10", "MaxOntSim@5", "recall.5"],
    )
    def test_nobody_goes_by_a_standard_measures_name(self, name):
        cutoff = 10 if name.endswith("10") else None
        fake = type("Fake", (_One,), {"name": name})(cutoff)
        with pytest.raises(UsageError):
            parse_measures([fake])

    @pytest.mark.parametrize(
        ("attributes", "message"),
        [
            ({"name": "Cnt"}, "Cnt.*cutoff @3"),
            ({"name": "C\nt@3"}, "printable"),
            ({"name": None}, "None"),
            ({"name": property(lambda _: 1 / 0)}, "ZeroDivisionError"),
            ({"__init__": lambda self, cutoff: None}, "cutoff 3"),
        ],
    )
    def test_a_name_shows_its_cutoff(self, monkeypatch, attributes, message):
        module = types.ModuleType("counting")
        module.Cnt = type("Cnt", (_One,), attributes)
        monkeypatch.setitem(sys.modules, "counting", module)
        with pytest.raises(UsageError, match=message):
            parse_measure("counting:Cnt@3")

    def test_one_name_for_two_parameters_is_refused(self):
        class Weighted(_One):
            name = "Weighted"
            parameter_defaults = {"w": 1}  # noqa: RUF012

        assert len(parse_measures([Weighted(w=2), Weighted(w=2)])) == 1
        with pytest.raises(UsageError):
            parse_measures([Weighted(w=1), Weighted(w=2)])

    def test_entry_point(self, tmp_path, monkeypatch):
        (tmp_path / "plugged.py").write_text(
            "from trectools_plus.measures import BaseMeasure\n"
            "class Plugged(BaseMeasure):\n"
            '    """1."""\n'
            "    def score_query(self, ranked_doc_ids, qrels_of_query):\n"
            "        return 1.0\n"
        )
        info = tmp_path / "plugged-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(
            "[trectools_plus.measures]\nPlugged = plugged:Plugged\nBroken = plugged:nothing\n"
        )
        monkeypatch.syspath_prepend(tmp_path)
        assert parse_measure("Plugged@2").name == "Plugged@2"
        assert "Plugged" in measure_labels()
        with pytest.raises(UsageError, match="nothing"):
            parse_measure("Broken")
