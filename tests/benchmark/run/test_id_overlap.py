"""Topics, qrels and documents of different collections are refused before any search."""

from trectools_plus.benchmark.run.dataset import check_id_overlap
from trectools_plus.formats import Corpus, Qrels, Topics

CORPUS = Corpus.from_dict({"d1": "a", "d2": "b"})
QRELS = Qrels.from_dict({"1": {"d1": 1}, "2": {"d2": 1}})


def test_parts_with_common_ids():
    check_id_overlap(CORPUS, Topics.from_dict({"1": "x", "9": "y"}), QRELS, "x")
    check_id_overlap(None, None, QRELS, "x")
    check_id_overlap(CORPUS, None, Qrels.from_dict({"1": {"d1": 1, "d9": 1}}), "x")
