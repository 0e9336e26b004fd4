"""Whole figures and their files: which there are, nothing overlaps, the same bytes twice."""

import subprocess
import sys
import xml.etree.ElementTree as ET
from itertools import combinations

import polars as pl
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from trectools_plus import Qrels, Run
from trectools_plus.benchmark import BenchmarkResult
from trectools_plus.benchmark.run.output_folder import OutputFolder
from trectools_plus.errors import InputError, UsageError
from trectools_plus.measures import score_runs
from trectools_plus.measures.evaluation import Averaging
from trectools_plus.measures.parser import parse_measures
from trectools_plus.reporting import write_plots
from trectools_plus.reporting.plots import as_image, draw_plots, save_plots

LONG = "a run with a name as long as the folder it once came from, and then some more"
QUERIES = [str(number) for number in range(20)]
QRELS = Qrels.from_dict({query: {"d1": 1, "d2": 2} for query in QUERIES})


def data(modes):
    rows = [
        {"run": mode, "query_id": query, "measure": "nDCG@10", "value": (place + int(query)) / 60}
        for place, mode in enumerate(modes)
        for query in QUERIES
    ]
    run = Run.from_dict({query: {"d3": 2.0, "d1": 1.0} for query in QUERIES})
    return pl.DataFrame(rows), dict.fromkeys(modes, run)


PLOT_NAMES = ("measures", "precision_recall", "hit_rate", "differences")


def all_plots(make_report, count, **fields):
    modes = [f"{number} {LONG}" if number % 3 == 1 else f"m{number}" for number in range(count)]
    measures = {"nDCG@10": 0.3, "RR@10": 0.0, "MeanRank": 12.5, "MinRank": None}
    report = make_report(
        {mode: {**measures, "nDCG@10": 0.3 + number / 100} for number, mode in enumerate(modes)},
        groups={"nDCG@10": [modes[:2], modes[1:]]},
        **fields,
    )
    table, runs = data(modes)
    return draw_plots(report, table, QRELS, runs)


def overlaps(figure):
    """Pairs of visible texts whose boxes meet, and texts outside the figure."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    hidden = _undrawn_ticks(figure)
    found = [
        (text.get_text(), text.get_window_extent(renderer).padded(-1))
        for text in figure.findobj(Text)
        if text.get_text().strip() and text.get_visible() and text not in hidden
    ]
    outside = [(name, "outside") for name, box in found if not _inside(box, figure.bbox)]
    return outside + [
        (one[0], two[0]) for one, two in combinations(found, 2) if one[1].overlaps(two[1])
    ]


def _undrawn_ticks(figure):
    """Labels of ticks beyond the ends of their axis, and of shared axes that show none."""
    hidden = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                hidden.add(tick.label2)
                if not low <= tick.get_loc() <= high or not tick.label1.get_visible():
                    hidden.add(tick.label1)
    return hidden


def _inside(box, edge):
    return box.x0 >= edge.x0 and box.y0 >= edge.y0 and box.x1 <= edge.x1 and box.y1 <= edge.y1


@pytest.mark.parametrize(
    "count",
    [1, 5, *(pytest.param(n, marks=pytest.mark.slow("other numbers of modes")) for n in (3, 10))],
)
def test_labels_do_not_overlap_for_any_number_of_modes(make_report, count):
    plots = all_plots(make_report, count)
    fewest = {"differences": 2}
    assert [*plots] == [name for name in PLOT_NAMES if count >= fewest.get(name, 1)]
    for name, figure in plots.items():
        assert not overlaps(figure), name


def test_only_what_there_are_figures_for_is_drawn(make_report):
    report = make_report({"a": {"nDCG@10": 0.0}})
    table, runs = data(["a"])
    assert [*draw_plots(report, table)] == ["measures"]
    names = [*draw_plots(report, table, QRELS, runs)]
    assert names == ["measures", "precision_recall", "hit_rate"]


@pytest.mark.parametrize(
    ("plot", "measure", "points"),
    [
        ("precision_recall", "IPrec", [step / 10 for step in range(11)]),
        ("hit_rate", "HitRate", [1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70, 100]),
    ],
)
def test_curves_are_means_at_points(make_report, plot, measure, points):
    table, runs = data(["a", "b"])
    report = make_report({"a": {"nDCG@10": 0.2}, "b": {"nDCG@10": 0.3}})
    (axes,) = draw_plots(report, table, QRELS, runs)[plot].axes
    for line, run in zip(axes.lines, runs.values(), strict=True):
        shown = [point for point in points if point <= max(1, run.rows.sizes.max())]
        names = [f"{measure}@{point:g}" for point in shown]
        expected = score_runs(QRELS, {"a": run}, parse_measures(names), Averaging("zero", "drop"))
        assert line.get_xdata() == pytest.approx(shown)
        assert line.get_ydata() == pytest.approx([expected.mean("a", name) for name in names])
    assert len(axes.collections) == 2
    assert (axes.get_xscale() == "log") == (plot == "hit_rate")
    assert axes.get_ylim()[0] == 0.0


def measures_of(report):
    return draw_plots(report, data(list(report.modes))[0])["measures"]


def test_every_measure_has_one_scale_for_all_modes(make_report):
    report = make_report(
        {
            "a": {"nDCG@10": 0.3, "MeanRank": 20.0, "RR@10": 0.5},
            "b": {"nDCG@10": 0.4, "MeanRank": 5.0, "RR@10": 0.1},
        }
    )
    figure = measures_of(report)
    titles = ["nDCG@10", "RR@10", "MeanRank ↓"]
    assert [axes.get_title(loc="left") for axes in figure.axes] == titles
    for axes, name in zip(figure.axes, ["nDCG@10", "RR@10", "MeanRank"], strict=True):
        drawn = [container[0].get_xdata().tolist() for container in axes.containers]
        assert drawn == [[report.modes[mode].measures[name].mean] for mode in ("a", "b")]
        low, high = axes.get_xlim()
        assert low == 0.0
        assert high >= max(one.measures[name].ci.high for one in report.modes.values())
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == ["a", "b"]
    assert figure.get_supxlabel() == "Mean with its 95% interval; ↓: lower is better"


def test_only_headline_measures_are_drawn_the_primary_one_first(make_report):
    report = make_report({"a": {f"P@{cutoff}": 0.5 for cutoff in range(1, 20)}})
    chosen = {"primary_measure": "P@7", "headline_measures": ["P@7", "P@2"]}
    report = report.model_copy(update=chosen)
    assert [axes.get_title(loc="left") for axes in measures_of(report).axes] == ["P@7", "P@2"]
    figure = report.plot(["P@19", "p@1"])
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["P@19", "P@1"]
    with pytest.raises(UsageError, match="AP"):
        report.plot(["AP"])


def test_of_many_pairs_those_with_the_best_mode_are_drawn(make_report):
    report = make_report({f"m{number}": {"nDCG@10": number / 20} for number in range(8)})
    panels = _differences(report).axes
    assert len(panels) == 6
    assert all("m7" in axes.get_title(loc="left") for axes in panels)
    reaches = [axes.get_ylim() for axes in panels]
    assert len(set(reaches)) == 1, "one scale, so that panels can be compared"


def _differences(report):
    return draw_plots(report, data(list(report.modes))[0])["differences"]


def test_files_say_what_they_show_and_nothing_of_when(make_report):
    figure = all_plots(make_report, 2)["measures"]
    png, svg = as_image(figure, "png"), as_image(figure, "svg")
    assert png.startswith(b"\x89PNG")
    assert b"Software" not in png
    assert ET.fromstring(svg).tag.endswith("svg")
    text = svg.decode()
    assert "Measures per mode" in text
    assert "<dc:date>" not in text
    assert "Matplotlib v" not in text


def test_write_plots_fills_a_folder(make_report, tmp_path):
    table, _ = data(["lexical", "vector", "hybrid"])
    result = BenchmarkResult(make_report(), table, {}, OutputFolder(tmp_path / "out"))
    files = write_plots(result)
    assert {path.parent for path in files} == {tmp_path / "out" / "visualizations"}
    assert [path.stem for path in files[::2]] == ["measures", "differences"], "no judgments given"
    assert write_plots(result, tmp_path)[0] == tmp_path / "visualizations" / "measures.png"


def test_a_folder_that_cannot_be_made_is_an_error(make_report, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError):
        save_plots({}, tmp_path / "file" / "visualizations")


def test_drawing_leaves_pyplot_alone():
    code = (
        "import sys, polars, trectools_plus.reporting.plots as plots\n"
        "assert 'matplotlib' not in sys.modules, 'imported before it is used'\n"
        "from matplotlib.figure import Figure\n"
        "from trectools_plus.reporting.plots import house_style\n"
        "with house_style(): Figure().subplots()\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
