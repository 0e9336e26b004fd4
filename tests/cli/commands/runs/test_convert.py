"""Names of columns on the command line."""

import json
from pathlib import Path

import pytest

from trectools_plus.errors import UsageError
from trectools_plus.validation import FindingsError, load_run

HITS = "q,_id,_score\n1,d1,3\n1,d2,2\n2,d3,1\n"
QRELS = "1 0 d1 1\n1 0 d3 0\n2 0 d4 1\n"
COLUMNS = ["--columns", "query=q,doc_id=_id", "--columns", "score=_score"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder with files."""
    monkeypatch.chdir(tmp_path)
    for name, text in {"hits.csv": HITS, "qrels.txt": QRELS}.items():
        Path(name).write_text(text)


def test_columns_are_named_in_every_command(call):
    measures = ["-m", "RR", "--format", "json"]
    document = json.loads(call("eval", "qrels.txt", "hits.csv", *COLUMNS, *measures).stdout)
    assert document["runs"][0]["measures"]["RR"]["mean"] == 0.5
    assert call("runs validate", "hits.csv", *COLUMNS, "--ignore", "R105").exit_code == 0
    call("runs convert", "hits.csv", *COLUMNS, "--output", "h.run")
    assert load_run("h.run").frame["doc_id"].to_list() == ["d1", "d2", "d3"]
    grades = ["--columns", "query=q,doc_id=_id,relevance=_score"]
    assert call("qrels validate", "hits.csv", *grades, "--ignore", "Q103").exit_code == 0
    call("qrels convert", "hits.csv", *grades, "--output", "h.txt")
    assert Path("h.txt").read_text() == "1 0 d1 3\n1 0 d2 2\n2 0 d3 1\n"
    named = ["--columns", "query=q,doc_id=_id,score=_score,relevance=_score"]
    document = json.loads(call("eval", "hits.csv", "hits.csv", *named, *measures).stdout)
    assert document["runs"][0]["measures"]["RR"]["mean"] == 1.0


def test_columns_need_no_fix(call):
    with pytest.raises(UsageError, match="--fix"):
        call("runs validate", "hits.csv", *COLUMNS, "--fix", "out.run")


def rows_of(text):
    """Return query, document and score of each row of a run."""
    rows = (line.split() for line in text.splitlines())
    return [(query, doc_id, float(score)) for query, _, doc_id, _, score, _ in rows]


@pytest.mark.parametrize(
    ("name", "text", "columns"),
    [
        ("a.csv", "q,d,distance\n1,a,0.5\n1,b,-2\n", "query=q,doc_id=d,score=-distance"),
        ("a.txt", "1 0.5 a Q0 7 t\n1 -2 b Q0 3 t\n", "query=1,doc_id=3,score=-2"),
        ("a.csv", "key,s\n1#a,-0.5\n1#b,2\n", "query=key#1,doc_id=key#2,score=s"),
        ("a.csv", "a_1 , -0.5\nb_1,2\n", "query=1_2,doc_id=1_1,score=2"),
        ("a.csv", "q,d,-s,s\n1,a,-0.5,9\n1,b,2,9\n", "query=q,doc_id=d,score=-s"),
        (
            "a.json",
            '[{"q": "1", "d": "a", "far": 0.5}, {"q": "1", "d": "b", "far": -2}]',
            "query=q,doc_id=d,score=-far",
        ),
    ],
)
def test_columns_are_negated_and_split(call, name, text, columns):
    Path(name).write_text(text)
    done = call("runs convert", name, "--columns", columns)
    assert rows_of(done.stdout) == [("1", "a", -0.5), ("1", "b", 2.0)]


@pytest.mark.parametrize("key", ["1", "1#a#b"])
def test_a_value_with_other_parts_is_refused(call, key):
    Path("a.csv").write_text(f"key,s\n1#a,3\n{key},2\n")
    with pytest.raises(FindingsError) as refused:
        call("runs convert", "a.csv", "--columns", "query=key#1,doc_id=key#2,score=s")
    assert [(one.code, one.line) for one in refused.value.findings] == [("R101", 3)]
