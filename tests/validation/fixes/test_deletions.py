"""Fixes that interpret columns are not applied if they lose rows or documents."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from trectools_plus.validation.catalogue import CATALOGUE
from trectools_plus.validation.fixes.engine import apply_step, fix_qrels, fix_run
from trectools_plus.validation.fixes.session import FileDraft, FixOptions, FixSession
from trectools_plus.validation.registry import FixStep

INTERPRETING = {"Q101", "Q103", "Q135", "Q143", "R101", "R102", "R103", "R105", "R107", "R108"}
DELETING = {"P110", "Q132", "Q141", "Q142", "R131", "R161"}


def typed_judgments(n_rows: int = 3000) -> str:
    """Rows of query, document, type and grade."""
    chosen = random.Random(3)
    pairs = [
        (f"{q}", f"doc-{d}") for q in range(60) for d in chosen.sample(range(2000), n_rows // 60)
    ]
    types = ("topical", "credible", "readable")
    rows = [(*pair, chosen.choice(types), str(chosen.randint(0, 3))) for pair in pairs]
    return "".join(" ".join(row) + "\n" for row in rows)


def test_fixes_declare_what_they_do() -> None:
    declared = {rule.code: rule.rule_fix for rule in CATALOGUE if rule.rule_fix is not None}
    assert {code for code, fix in declared.items() if fix.interprets_columns} == INTERPRETING
    assert declared.keys() >= INTERPRETING | DELETING


@pytest.mark.parametrize("codes", [["Q143"], ["Q143", "Q142", "Q135"]])
def test_types_of_judgment_are_no_subtopics(tmp_path: Path, codes: list[str]) -> None:
    path, out = tmp_path / "qrels.txt", tmp_path / "out.txt"
    path.write_text(typed_judgments())
    summary = fix_qrels(path, out, codes=codes)
    assert out.read_text() == path.read_text()
    assert not summary.applied
    (note,) = summary.notes
    assert note.startswith("Q143 not fixed: this would lose 3,000 of 3,000 rows and")


def test_subtopics_are_merged(tmp_path: Path) -> None:
    path, out = tmp_path / "qrels.txt", tmp_path / "out.txt"
    rows = [f"{q} {s} d{d} 1\n" for q in range(20) for d in range(50) for s in range(1, 7)]
    path.write_text("".join(rows))
    summary = fix_qrels(path, out, codes=["Q143"])
    assert out.read_text() == "".join(f"{q} 0 d{d} 1\n" for q in range(20) for d in range(50))
    assert [(one.code, one.deleted) for one in summary.applied] == [("Q143", 5000)]


def test_swapped_columns_are_swapped(tmp_path: Path) -> None:
    path, out = tmp_path / "a.run", tmp_path / "out.run"
    path.write_text("".join(f"1 d{n} Q0 {n} {9 - n} t\n" for n in range(1, 9)))
    assert [one.code for one in fix_run(path, out, codes=["R108"]).applied] == ["R108"]
    assert out.read_text() == "".join(f"1 Q0 d{n} {n} {9 - n} t\n" for n in range(1, 9))


@pytest.mark.parametrize("code", sorted(INTERPRETING))
@pytest.mark.parametrize(("n_lost", "is_applied"), [(2, True), (3, False)])
def test_every_fix_that_interprets_columns_is_guarded(
    code: str, n_lost: int, is_applied: bool
) -> None:
    kind = "run" if code.startswith("R") else "qrels"
    line = "1 Q0 d{0} {0} {1} t\n" if kind == "run" else "1 0 d{0} 1\n"
    text = "".join(line.format(n, 200 - n) for n in range(1, 101))
    draft = FileDraft("a", kind, text.encode())
    session = FixSession(CATALOGUE, kind, frozenset({code}), FixOptions())
    done = apply_step(_deleting(code, n_lost), draft, session)
    assert done.view.n_rows == 100 - n_lost * is_applied
    assert [one.code for one in session.applied] == [code] * is_applied
    if not is_applied:
        assert session.notes[0].startswith(f"{code} not fixed: this would lose 3 of 100 rows")


@pytest.mark.parametrize("code", ["R161", "R131"])
def test_deleting_fixes_are_not_guarded(code: str) -> None:
    text = "".join(f"1 Q0 d{n} {n} {200 - n} t\n" for n in range(1, 101))
    session = FixSession(CATALOGUE, "run", frozenset({code}), FixOptions())
    assert (
        apply_step(_deleting(code, 90), FileDraft("a", "run", text.encode()), session).view.n_rows
        == 10
    )
    assert session.applied[0].deleted == 90


def _deleting(code: str, n_rows: int) -> FixStep:
    """A step that deletes rows in the name of a rule."""

    def delete(draft: FileDraft, session: FixSession) -> FileDraft:
        session.done(code, n_rows)
        return replace(draft.with_rows(range(n_rows, draft.view.n_rows)))

    return FixStep((code,), 1, "rows", delete)


def test_a_delimiter_that_makes_few_rows_is_refused(tmp_path: Path) -> None:
    path, out = tmp_path / "a.run", tmp_path / "out.run"
    rows = [f"1,Q0,d{n},{n},{100 - n},t" for n in range(1, 91)]
    path.write_text("\n".join([*rows, *(f"1,d{n},{n},{n},{n}" for n in range(10))]) + "\n")
    summary = fix_run(path, out, codes=["R103"])
    assert not out.exists()
    assert "R103 not fixed: this would lose 10 of 100 rows" in summary.notes[0]


def test_deletions_are_reported_before_the_file_is_written(tmp_path: Path) -> None:
    path, out = tmp_path / "a.run", tmp_path / "out.run"
    rows = [f"1 Q0 d{n} {n} {200 - n} t\n" for n in range(1, 151)]
    path.write_text("".join([*rows, rows[3]]))
    reported: list[tuple[str, bool]] = []
    options = FixOptions(before_deletion=lambda text: reported.append((text, out.exists())))
    summary = fix_run(path, out, codes=["R161"], options=options)
    assert reported == [
        (f"{path}: R131 deletes 1 of 151 rows", False),
        (f"{path}: R161 deletes 50 of 151 rows", False),
    ]
    assert "(50, rows deleted)" in summary.to_text()
    assert [one.get("deleted") for one in summary.to_dict()["applied"]][-2:] == [1, 50]
