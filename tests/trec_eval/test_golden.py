"""Parameters as in the tests of trec_eval; the contract compares its official outputs."""

from __future__ import annotations

from pathlib import Path

from trectools_plus.trec_eval.arguments import parse_arguments
from trectools_plus.trec_eval.inputs import read_input
from trectools_plus.trec_eval.output import output_lines
from trectools_plus.trec_eval.scoring import score


def printed(shared_data: Path, flags: tuple[str, ...], run: str) -> str:
    folder = shared_data / "trec_eval"
    arguments = parse_arguments([*flags, str(folder / "qrels.test"), str(folder / run)])
    scores = score(read_input(arguments), arguments)
    return "".join(f"{line}\n" for line in output_lines(scores, arguments))


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
