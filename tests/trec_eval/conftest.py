"""trec_eval's command line on small files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from trectools_plus.trec_eval.arguments import parse_arguments
from trectools_plus.trec_eval.inputs import read_input
from trectools_plus.trec_eval.output import output_lines
from trectools_plus.trec_eval.scoring import score


@pytest.fixture
def printed(tmp_path: Path) -> Callable[..., list[str]]:
    """Lines for the texts of a qrels and a run file, and flags."""

    def call(qrels: str, run: str, *flags: str) -> list[str]:
        (tmp_path / "qrels").write_text(qrels, "utf-8")
        (tmp_path / "run").write_text(run, "utf-8")
        arguments = parse_arguments([*flags, str(tmp_path / "qrels"), str(tmp_path / "run")])
        data = read_input(arguments)
        return "\n".join(output_lines(score(data, arguments), arguments)).splitlines()

    return call
