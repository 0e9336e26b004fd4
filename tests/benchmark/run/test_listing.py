"""Reports are listed, and judgments have a hash that does not depend on their order."""

import hashlib

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.benchmark import list_reports
from trectools_plus.benchmark.run.dataset import hash_qrels
from trectools_plus.errors import InputError
from trectools_plus.formats import Qrels


def test_lists_name_unreadable_reports(small, tmp_path, write_benchmark):
    options = {**small.options, "modes": ["lexical"], "measures": ["nDCG@3"]}
    write_benchmark(tmp_path / "out" / "a", **options)
    bad = tmp_path / "out" / "bad"
    bad.mkdir()
    (bad / "BenchmarkReport.json").write_text("{}")
    listing = list_reports(tmp_path / "out")
    assert len(listing.reports) == len(listing.problems) == 1
    assert "bad/BenchmarkReport.json" in listing.problems[0]
    with pytest.raises(InputError):
        list_reports(tmp_path / "nowhere")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["1", "q 2", 'say "x"', "é,;"]),
            st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9),
            st.integers(-3, 9),
        ),
        min_size=1,
    ),
    st.randoms(use_true_random=False),
)
def test_the_hash_of_qrels_is_that_of_the_sorted_judgments(rows, random):
    def frame(rows):
        return Qrels(pl.DataFrame(rows, ["query_id", "doc_id", "relevance"], orient="row"))

    expected = sorted(set(rows), key=lambda row: (row[0].encode(), row[1].encode(), row[2]))
    text = "".join(f"{query}\t{doc}\t{grade}\n" for query, doc, grade in expected)
    assert hash_qrels(frame(rows)) == hashlib.sha256(text.encode()).hexdigest()
    shuffled = random.sample([*rows, *rows], 2 * len(rows))
    assert hash_qrels(frame(shuffled)) == hash_qrels(frame(rows))
