"""Fixes that delete rows say how many."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from trectools_plus.validation.catalogue import CATALOGUE
from trectools_plus.validation.fixes.engine import apply_step, fix_run
from trectools_plus.validation.fixes.session import FileDraft, FixOptions, FixSession
from trectools_plus.validation.registry import FixStep


@pytest.mark.parametrize("code", ["R161", "R131"])
def test_the_log_counts_deleted_rows(code: str) -> None:
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
