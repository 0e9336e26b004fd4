"""Loading for scoring: errors are refused by name, the rest gets through."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.files import write

from trectools_plus.errors import CheckFailedError
from trectools_plus.formats.tables import Qrels
from trectools_plus.formats.topics import read_topics
from trectools_plus.validation import (
    FindingsError,
    load_qrels,
    load_run,
    load_topics,
    validate_qrels,
    validate_topics,
)
from trectools_plus.validation.loading import open_valid_qrels

RUN = "1 Q0 a 1 2.5 tag\n1 Q0 b 2 1.5 tag\n2 Q0 a 1 0.5 tag\n"


def test_an_error_is_refused_with_its_code_place_and_remedy(tmp_path: Path) -> None:
    path = write(tmp_path / "input.txt", RUN.replace(" b 2 1.5", " a 2 nan"))
    with pytest.raises(FindingsError) as caught:
        load_run(path)
    error = caught.value
    assert isinstance(error, CheckFailedError)
    assert error.exit_code == 1
    assert [finding.code for finding in error.findings] == ["R111", "R131"]
    text = str(error)
    assert text.startswith("2 errors to fix before scoring: R111 score 'nan'")
    assert f"{path}:2" in text
    assert "R131" in text
    assert "\n" not in text


def test_files_without_common_ids_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FindingsError) as caught:
        load_run(write(tmp_path / "input.txt", RUN), qrels=Qrels.from_dict({"01": {"a": 1}}))
    assert {finding.code for finding in caught.value.findings} >= {"P101"}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("1 0 a 1\n1 0 b 20000000000\n", "Q122"),
        ("1 0 a 1\n1 0 a 0\n", "Q142"),
        ("1 0 a 1.5\n", "Q111"),
        ("1 0 a\0 1\n", "F106"),
    ],
)
def test_qrels_that_crash_evaluators_are_refused(content: str, code: str, tmp_path: Path) -> None:
    with pytest.raises(FindingsError) as caught:
        load_qrels(write(tmp_path / "input.txt", content))
    assert code in {finding.code for finding in caught.value.findings}


def test_findings_on_beir_qrels_have_the_lines_of_the_file(tmp_path: Path) -> None:
    rows = "query-id\tcorpus-id\tscore\n# note\n1\ta\t5\n\n2\tb\t-1\n2\tc\t1\n1\ta\t5\n"
    view, findings = open_valid_qrels(write(tmp_path / "input.txt", "\ufeff" + rows))
    assert view.table("x").to_dict() == {"1": {"a": 5}, "2": {"b": -1, "c": 1}}
    lines = {finding.code: finding.line for finding in findings}
    of_files, of_rows = {"F102": 1, "F107": 2, "F108": 4}, {"Q121": 5, "Q122": 3}
    assert lines == of_files | of_rows | {"Q103": 1, "Q141": 7, "Q151": 7}
    with pytest.raises(FindingsError, match="F105"):
        load_qrels(write(tmp_path / "input.txt", rows.replace("\n", "\r")))


BEIR = "query-id\tcorpus-id\tscore\n"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("1\ta\t1\n1\ta\t0\n2\tb\t0.5\n3\tc\t1\n", {"Q103": 1, "Q142": 3, "Q111": 4}),
        ("1\ta\t1\n1\tb\n2\tc\t1\n", {"Q103": 1, "Q101": 3}),
        ("1\ta\t1\n1\t0\tb\t1\n2\tc\t1\n", {"Q103": 1, "Q102": 3}),
        ("1\ta\tx\n2\tc\u00a0\t1\n", {"Q103": 1, "Q110": 2, "Q114": 3}),
        ("#1\ta\t1\n2\tc\t1\n", {"Q103": 1, "Q112": 2}),
        ("", {"Q103": 1, "F101": None}),
    ],
)
def test_a_beir_header_hides_no_other_finding(
    rows: str, expected: dict[str, int | None], tmp_path: Path
) -> None:
    path = write(tmp_path / "input.txt", BEIR + rows)
    found = [finding for finding in validate_qrels(path).findings if finding.code != "Q134"]
    assert {finding.code: finding.line for finding in found} == expected
    errors = {finding.code for finding in found if finding.severity == "error"} - {"Q103"}
    if not errors:
        assert load_qrels(path).to_dict() == {"2": {"c": 1}}
        return
    with pytest.raises(FindingsError) as caught:
        load_qrels(path)
    assert {finding.code for finding in caught.value.findings} == errors
    assert caught.value.exit_code == 1


def test_topics_are_read_or_refused_with_all_findings(tmp_path: Path) -> None:
    path = write(tmp_path / "topics.tsv", "q1\tfirst words\nq2\tsecond words\n")
    assert load_topics(path).frame.equals(read_topics(path).frame)
    path.write_text("q1\tfirst words\nq 2\tsecond words\nq3\t\n")
    with pytest.raises(FindingsError) as caught:
        load_topics(path)
    blocking = [item for item in validate_topics(path).findings if item.blocks_scoring]
    assert len(blocking) > 1
    assert list(caught.value.findings) == blocking


def test_the_queries_of_a_test_set_are_topics(tmp_path: Path) -> None:
    path = write(
        tmp_path / "set.yaml",
        "queries:\n- query_id: q1\n  query_text: words\n  relevant_docs: [d1]\n",
    )
    assert load_topics(path).to_dict() == {"q1": "words"}
    assert load_topics(path).read_as is None


@pytest.mark.parametrize("text", ['{"1": {}}', '{"1": []}'])
def test_a_run_whose_queries_have_no_results_is_refused(text: str, tmp_path: Path) -> None:
    path = write(tmp_path / "run.json", text)
    with pytest.raises(FindingsError):
        load_run(path)
