"""Without the extra ``plots``, a report is complete apart from the files of plots."""

import shutil
import sys

import pytest

import trectools_plus as tp
from trectools_plus.errors import MissingExtraError
from trectools_plus.reporting.verify import verify_report

RUN = {"1": {"a": 2.0, "b": 1.0}, "2": {"c": 1.0}}
OTHER = {"1": {"b": 2.0, "a": 1.0}, "2": {"d": 2.0, "c": 1.0}}
QRELS = {"1": {"a": 1}, "2": {"c": 1}}


MODES = {"mine": {}, "theirs": {0: 2}}


@pytest.fixture
def no_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)


@pytest.fixture(scope="module")
def drawn(module_bench):
    return module_bench.make("out", MODES, plots=True)


def test_the_page_has_all_its_plots(no_matplotlib, drawn, bench):
    folder = bench.make("out", MODES)
    assert not (folder / "visualizations").exists()
    plain, full = ((one / "BenchmarkReport.html").read_text() for one in (folder, drawn))
    assert plain.count('id="plot-area"') == full.count('id="plot-area"') == 1
    assert "<img" not in full
    files = {one.relative_to(drawn) for one in drawn.rglob("*") if one.is_file()}
    missing = files - {one.relative_to(folder) for one in folder.rglob("*")}
    assert {one.parent.name for one in missing} == {"visualizations"}


def test_a_report_without_plots_is_verified(bench, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib", None)
        folder = bench.make("out", MODES)
        assert verify_report(folder).problems == []
    found = verify_report(folder)
    assert found.problems == []
    assert not any("plots" in one for one in found.unproven)


def test_a_report_with_plots_is_verified_without_drawing_them(no_matplotlib, drawn, tmp_path):
    found = verify_report(drawn)
    assert found.problems == []
    assert any("the extra 'plots' is missing" in one for one in found.unproven)
    folder = shutil.copytree(drawn, tmp_path / "out")
    (folder / "visualizations" / "measures.png").write_bytes(b"x")
    (folder / "visualizations" / "notes.txt").write_text("x")
    assert verify_report(folder).problems == [
        "visualizations/measures.png: the file changed (its hash differs)",
        "visualizations/notes.txt: a benchmark of these files does not write this file",
    ]


def test_plots_that_are_asked_for_name_the_extra(no_matplotlib, bench):
    for draw in (
        lambda: bench.make("out", MODES, plots=True),
        tp.evaluate(QRELS, RUN).plot,
        tp.compare(QRELS, {"mine": RUN, "theirs": OTHER}).plot,
    ):
        with pytest.raises(MissingExtraError, match=r"trectools-plus\[plots\]"):
            draw()
    assert not (bench.folder / "out").exists()
