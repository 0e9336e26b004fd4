"""Qrels whose second column says that a model judged."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.program import Program

from trectools_plus.measures.judged import notes_on_judges
from trectools_plus.measures.parser import parse_measures
from trectools_plus.measures.scoring import open_files
from trectools_plus.validation.loading import load_qrels

RUN = "1 Q0 a 1 3 r\n1 Q0 b 2 2 r\n2 Q0 a 1 2 r\n2 Q0 c 2 1 r\n"
PAIRS = (("1", "a", 1), ("1", "b", 0), ("2", "a", 0), ("2", "c", 2))


def write(folder: Path, *judges: str) -> Path:
    """Write qrels with a judge for each pair, and two runs."""
    lines = [
        f"{query_id} {judge} {doc_id} {grade}\n"
        for judge, (query_id, doc_id, grade) in zip(judges, PAIRS, strict=True)
    ]
    path = folder / "qrels.txt"
    path.write_text("".join(lines), "utf-8")
    (folder / "a.run").write_text(RUN, "utf-8")
    (folder / "b.run").write_text(RUN.replace("a 1 3", "a 1 1"), "utf-8")
    return path


@pytest.mark.parametrize(
    ("judges", "begin"),
    [
        (["0"] * 4, None),
        (["person"] * 4, None),
        (["models", "model", "m", "a-model:b"], None),
        (["model:tiny"] * 4, "100% of the judgments are of a model (tiny):"),
        (["model:tiny", "model:large"] * 2, "100% of the judgments are of a model (tiny, large):"),
        (["model:tiny", "person", "0", "Q0"], "25% of the judgments are of a model (tiny):"),
    ],
)
def test_judges_are_read_from_files_and_tables(
    tmp_path: Path, judges: list[str], begin: str | None
) -> None:
    path = write(tmp_path, *judges)
    scored = open_files(str(path), [str(tmp_path / "a.run")], parse_measures(["nDCG@10"])).qrels
    table = load_qrels(path)
    for qrels in (scored, table):
        notes = notes_on_judges(qrels)
        assert len(notes) == (begin is not None)
        assert all(note.startswith(begin or "") and "judge estimate" in note for note in notes)


@pytest.mark.process
def test_reports_and_comparisons_say_who_judged(program: Program, tmp_path: Path) -> None:
    write(tmp_path, *["model:tiny"] * 4)
    compared = program("trectools-plus compare a.run b.run --qrels qrels.txt -m P@1", tmp_path)
    assert compared.stderr.count("of the judgments are of a model (tiny)") == 1
    words = "trectools-plus benchmark run --runs a.run b.run --qrels qrels.txt -m P@1 -o report"
    ran = program(words, tmp_path)
    assert ran.text.count("of the judgments are of a model (tiny)") == 1
    report = (tmp_path / "report/BenchmarkReport.json").read_text()
    assert "100% of the judgments are of a model" in report
    scored = program("trectools-plus eval qrels.txt a.run -m P@1", tmp_path)
    assert scored.stderr.count("of the judgments are of a model (tiny)") == 1
