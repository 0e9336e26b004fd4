"""The command line, as getopt reads it."""

from __future__ import annotations

import pytest
from harness.tables import cases_of

from trectools_plus.errors import UsageError
from trectools_plus.trec_eval.arguments import parse_arguments

FILES = ["q", "r"]


def names(*words):
    return [name for one in parse_arguments([*words, *FILES]).requested for name in one.names]


@pytest.mark.parametrize(
    "words",
    [
        ["-q", "-c", "-M", "1000", "-m", "map"],
        ["-qcM1000", "-mmap"],
        ["-qcM", "1000", "-m", "map"],
        ["--query_eval_wanted", "--complete", "--Max_retrieved_per_topic=1000", "--meas", "map"],
    ],
)
def test_spellings_of_the_same(words):
    for order in ([*words, *FILES], [FILES[0], *words, FILES[1]], [*FILES, *words]):
        arguments = parse_arguments(order)
        assert arguments.files == FILES
        assert (arguments.per_query, arguments.complete) == (True, True)
        assert arguments.max_retrieved == 1000
        assert [one.measure.name for one in arguments.requested] == ["map"]


def test_every_flag():
    flags = ["-n", "-J", "-l", "2", "-N", "50", "-D", "1.301", "-T", "trec_results", "-R", "qrels"]
    arguments = parse_arguments([*flags, "-o", "-Z", "means", "--permissive", "q", "-"])
    assert not arguments.summary
    assert (arguments.judged_only, arguments.permissive) == (True, True)
    assert (arguments.level, arguments.collection_size, arguments.only_query) == (2, 50, "301")
    assert arguments.files == ["q", "-"]
    assert [note.split(":")[0] for note in arguments.notes] == ["-D 1.301", "-o"]
    assert (arguments.judgments, arguments.zscores) == ("qrels", "means")


def test_help_and_version_need_no_files():
    helped, version = parse_arguments(["-h", "-m", "P"]), parse_arguments(["-v"])
    assert (helped.help, helped.version_wanted, helped.files) == (True, False, [])
    assert (version.help, version.version_wanted, version.files) == (False, True, [])


def test_order_and_names_are_those_of_trec_eval():
    assert names("-m", "P.5,7,3", "-m", "map") == ["map", "P_3", "P_5", "P_7"]
    assert names("-miprec_at_recall..10,.20") == ["iprec_at_recall_0.10", "iprec_at_recall_0.20"]
    assert names("-mndcg_cut.23.4") == ["ndcg_cut_23"]
    assert names("-mndcg.1=3,2=9") == ["ndcg_1=3,2=9"]
    assert names("-mRprec_mult.123456.789") == ["Rprec_mult_123456.7"]
    assert names("-mset_F.0.5", "-mrelstring.20") == ["relstring_20", "set_F_0.5"]
    assert names() == names("-m", "official")


def test_a_set_and_parameters_of_one_of_its_measures():
    requested = names("-m", "all_trec", "-m", "relstring.20")
    assert "relstring_20" in requested
    assert "relstring" not in requested


def test_first_parameters_count_and_others_are_reported():
    arguments = parse_arguments(["-mP.5", "-mP.10", "-mrecip_rank.10", "-mofficial.3", *FILES])
    assert "P_5" in [name for one in arguments.requested for name in one.names]
    assert "P_10" not in [name for one in arguments.requested for name in one.names]
    assert [note.split(":")[0] for note in arguments.notes] == [
        "-m P.10",
        "-m recip_rank.10",
        "-m official.3",
    ]


MISTAKES = cases_of(__file__, "mistakes")


@pytest.mark.parametrize(("words", "said"), MISTAKES)
def test_a_mistake_is_named_with_its_remedy(words, said):
    with pytest.raises(UsageError) as error:
        parse_arguments([*words, *FILES])
    assert said in str(error.value)


@pytest.mark.parametrize("words", [["-x"], ["-w"], ["-m"]])
def test_unknown_flags_end_with_the_exit_code_of_trec_eval(words):
    with pytest.raises(UsageError) as error:
        parse_arguments([*FILES, *words])
    assert error.value.exit_code == 1


@pytest.mark.parametrize("files", [[], ["q"], ["q", "r", "s"]])
def test_two_files(files):
    with pytest.raises(UsageError):
        parse_arguments(files)


def test_standard_input_once():
    with pytest.raises(UsageError):
        parse_arguments(["-", "-"])


@pytest.mark.parametrize(
    ("word", "instead"),
    [
        ("P_10", "-m P.10"),
        ("ndcg_cut_20", "-m ndcg_cut.20"),
        ("iprec_at_recall_0.10", "-m iprec_at_recall.0.10"),
    ],
)
def test_the_name_of_a_line_leads_to_its_measure(word, instead):
    with pytest.raises(UsageError, match=f"'{word}'") as refused:
        parse_arguments(["-m", word, *FILES])
    assert refused.value.remedy == f"write {instead}"
    parse_arguments([*instead.split(), *FILES])
