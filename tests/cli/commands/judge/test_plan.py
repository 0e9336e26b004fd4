"""``judge plan`` and ``judge pilot``, and ``review show`` and ``export`` of a plan."""

import pytest
from harness.plans import topics_of, write_corpus, write_runs

QUERIES = 14


@pytest.fixture
def data(tmp_path):
    """A folder with runs, topics and documents."""
    write_runs(tmp_path, ("a", "b"), QUERIES)
    write_corpus(tmp_path)
    lines = [f"{query_id}\t{text}\n" for query_id, text in topics_of(QUERIES + 1).to_dict().items()]
    (tmp_path / "topics.tsv").write_text("".join(lines))
    return tmp_path


GIVEN = ("--topics", "topics.tsv", "--corpus", "corpus.jsonl", "-o", "plan")


def test_mistakes_are_one_line(call_here, data, check_mistake):
    (data / "bad.run").write_text("q0 Q0 d1 1 x a\n")
    (data / "worse.run").write_text("q0 Q0 d1 1 2 a\nq0 Q0 d1 2 1 a\n")
    (data / "full").mkdir()
    (data / "full/x").write_text("")
    for words, code, text in (
        (("a.run", "-o", "plan"), 2, "no collection"),
        (("a.run", "-o", "plan", "--topics", "topics.tsv"), 2, "no collection"),
        (("a.run", *GIVEN, "--dataset", "sample"), 2, "and --dataset exclude"),
        (("a.run", "a.run", *GIVEN), 2, "given twice"),
        (("missing.run", *GIVEN), 2, "missing.run"),
        (("bad.run", *GIVEN), 1, "bad.run:1"),
        (("worse.run", *GIVEN), 1, "worse.run"),
        (("a.run", *GIVEN, "-m", "AP"), 2, "reads the whole ranking"),
        (("a.run", *GIVEN, "--depth", "0"), 2, "depth"),
        (("a.run", "--topics", "topics.tsv", "--corpus", "corpus.jsonl", "-o", "full"), 2, "empty"),
    ):
        check_mistake(call_here("judge", "plan", *words), code, text)
    assert not (data / "plan").exists()
