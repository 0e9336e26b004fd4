"""trec_eval's own test outputs: version 10 to the byte, version 9 but for named rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from trectools_plus.trec_eval.arguments import parse_arguments
from trectools_plus.trec_eval.inputs import read_input
from trectools_plus.trec_eval.output import output_lines
from trectools_plus.trec_eval.scoring import score

PLAIN: tuple[str, ...] = ()
ALL_QUERIES = ("-m", "all_trec", "-q")
COMPLETE = ("-m", "all_trec", "-qcM100")

RUNS = [
    (PLAIN, "results.test", "out.test"),
    (ALL_QUERIES, "results.test", "out.test.aq"),
    (COMPLETE, "results.trunc", "out.test.aqcM"),
]

# Version 10 rounds 0.1 * 474 = 47.4 to 47 documents, version 9 cuts 47.4 + 0.9 to 48, and so on.
ROUNDING = "9 adds 0.9 and cuts where 10 rounds"
CHANGED = {
    "out.test": {
        ("iprec_at_recall_0.10", "all"): ("0.3885", "0.3884", ROUNDING),
        ("iprec_at_recall_0.60", "all"): ("0.0858", "0.0822", ROUNDING),
    },
    "out.test.aq": {
        ("iprec_at_recall_0.10", "301"): ("0.2098", "0.2096", ROUNDING),
        ("iprec_at_recall_0.10", "all"): ("0.3885", "0.3884", ROUNDING),
        ("iprec_at_recall_0.60", "302"): ("0.1528", "0.1420", ROUNDING),
        ("iprec_at_recall_0.60", "all"): ("0.0858", "0.0822", ROUNDING),
        ("11pt_avg", "302"): ("0.4370", "0.4360", ROUNDING),
        ("11pt_avg", "all"): ("0.1962", "0.1958", ROUNDING),
    },
    "out.test.aqcM": {},
}
NEW = {"rbp", "rbp_resid", "unj_5", "unj_10", "unj_20"}
"""Measures that version 9 does not have."""
NOT_IN_RUN = {"out.test": set(), "out.test.aq": set(), "out.test.aqcM": {"302"}}
"""Queries without results, which version 9 does not print under -c -q, and version 10 does."""


def printed(shared_data: Path, flags: tuple[str, ...], run: str) -> str:
    folder = shared_data / "trec_eval"
    arguments = parse_arguments([*flags, str(folder / "qrels.test"), str(folder / run)])
    scores = score(read_input(arguments), arguments)
    return "".join(f"{line}\n" for line in output_lines(scores, arguments))


@pytest.mark.parametrize(("flags", "run", "golden"), RUNS)
def test_version_10_to_the_byte(shared_data, flags, run, golden):
    expected = (shared_data / "trec_eval" / golden).read_bytes()
    text = printed(shared_data, ("--trec-eval-version", "10", *flags), run)
    assert text.encode() == expected


@pytest.mark.parametrize(("flags", "run", "golden"), RUNS)
def test_version_9_but_for_named_rows(shared_data, flags, run, golden):
    changed = dict(CHANGED[golden])
    expected = []
    for line in (shared_data / "trec_eval" / golden).read_text().splitlines(keepends=True):
        name, query, value = line.split("\t")
        key = name.rstrip(), query
        if key[0] in NEW or query in NOT_IN_RUN[golden]:
            continue
        if key in changed:
            in_10, in_9, _ = changed.pop(key)
            assert value == f"{in_10}\n"
            value = f"{in_9}\n"
        expected.append(f"{name}\t{query}\t{value}")
    assert not changed
    assert printed(shared_data, flags, run) == "".join(expected)


# fmt: off
WITH_FLAGS = (
    "-q", "-n", "-miprec_at_recall..10,.20,.25,.75,.50", "-m", "P.5,7,3", "-m", "recall.20,2000",
    "-m", "Rprec_mult.5.0,0.2,0.35", "-mutility.2,-1,0,0", "-m", "11pt_avg..25,.5,.75",
    "-mndcg.1=3,2=9,4=4.5", "-mndcg_cut.10,20,23.4", "-msuccess.2,5,20",
)
# fmt: on
# As trec_eval's own Makefile asks with parameters, and what it then has for query 301.
WITH_PARAMETERS = """
iprec_at_recall_0.10 0.2096, iprec_at_recall_0.20 0.0000, iprec_at_recall_0.25 0.0000,
iprec_at_recall_0.50 0.0000, iprec_at_recall_0.75 0.0000, P_3 0.0000, P_5 0.0000, P_7 0.2857,
recall_20 0.0105, recall_2000 0.1498, Rprec_mult_0.20 0.2211, Rprec_mult_0.35 0.2169,
Rprec_mult_5.00 0.0300, utility_2,-1,0,0 -287.0000, 11pt_avg_.25,.5,.75 0.0000,
ndcg_1=3,2=9,4=4.5 0.1584, ndcg_cut_10 0.1518, ndcg_cut_20 0.1985, ndcg_cut_23 0.1814,
success_2 0.0000, success_5 0.0000, success_20 1.0000
"""


def test_parameters_as_trec_eval_names_and_orders_them(shared_data):
    text = printed(shared_data, WITH_FLAGS, "results.test")
    of_301 = [line for line in text.splitlines() if line.split("\t")[1] == "301"]
    pairs = [pair.split() for pair in WITH_PARAMETERS.replace("\n", " ").split(", ")]
    assert of_301 == [f"{name:<22}\t301\t{value}" for name, value in pairs]
