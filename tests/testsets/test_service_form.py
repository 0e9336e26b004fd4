"""The example test set of an evaluation service, from the file to the report."""

from __future__ import annotations

from pathlib import Path

import pytest

from trectools_plus import evaluate, load_test_set

EXAMPLE = """\
queries:                      # fields as that specification names them, beside ours
  - query_id: q1
    query_text: "low blood sugar in newborns"
    query_type: paraphrase
    relevant_docs:
      - {doc_id: d17, grade: 3}
      - {doc_id: d40, grade: 1}
"""
AS_MAPPING = EXAMPLE.partition("    relevant_docs:")[0] + "    relevant_docs: {d17: 3, d40: 1}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("content", [EXAMPLE, AS_MAPPING])
@pytest.mark.parametrize("ending", ["yaml", "yml"])
def test_a_set_in_the_working_directory_is_found_by_its_name(content: str, ending: str) -> None:
    Path(f"test_set_v1.{ending}").write_text(content)
    test_set = load_test_set("test_set_v1")
    (query,) = test_set.queries
    assert (query.query_id, query.text) == ("q1", "low blood sugar in newborns")
    assert query.query_type == "paraphrase"
    assert {term.doc_id: term.grade for term in query.relevant} == {"d17": 3, "d40": 1}
    for given in (test_set, "test_set_v1", Path(f"test_set_v1.{ending}")):
        result = evaluate(lambda text, k: ["d40", "d17"], given, ["RR", "Recall@10"])
        assert [result.mean(name) for name in ("RR", "R@10")] == [1.0, 1.0]
