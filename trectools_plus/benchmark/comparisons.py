"""The public function ``compare``: systems from scores or files, compared query by query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from trectools_plus.benchmark.compare import (
    compare_modes,
    refuse_different_queries,
    summarise,
)
from trectools_plus.benchmark.report import ModeFigures, RunComparison, Verdict
from trectools_plus.benchmark.run.config import Comparing, resampling_of
from trectools_plus.benchmark.verdict import add_result
from trectools_plus.display import Displayed, TextTable
from trectools_plus.errors import UsageError, checked
from trectools_plus.formats.interchange.frames import to_pandas
from trectools_plus.lazy_names import render
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.evaluation import DEFAULT_MEASURES, Evaluation, evaluate
from trectools_plus.measures.judged import notes_on_unjudged
from trectools_plus.statistics.arrays import IntervalOptions
from trectools_plus.statistics.comparison import (
    DEFAULT_CORRECTION,
    DEFAULT_TEST,
    Comparison,
    check_method,
)
from trectools_plus.text import visible
from trectools_plus.validation.inputs import Input, as_qrels, is_path

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from matplotlib.figure import Figure

_MOST_NOTES, _LONGEST_NOTE = 4, 200
PlotKind = Literal["means", "differences"]


class CompareOptions(IntervalOptions, total=False):
    """Further settings of a comparison."""

    primary_measure: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparisons(Displayed, Sequence[Comparison]):
    """The result of :func:`compare`: a sequence of comparisons, with the means of the systems.

    Each :class:`Comparison` is one pair of systems on one measure. It has the mean difference
    (``contrast`` minus ``baseline``), its interval ``ci``, the test that decides, the adjusted
    p-value and ``significant``. Pairs are in the order of the systems, and each has all measures.

    ``print`` shows the verdict and the means; in a notebook, the result is a table.

    Attributes:
        evaluation: The scores of all systems, per query.
        report: Measures with intervals, comparisons, best systems, groups and verdict, as in the
            report of a benchmark, for the functions of :mod:`trectools_plus.reporting`.
    """

    evaluation: Evaluation
    report: RunComparison

    @property
    def systems(self) -> list[str]:
        """The names of the systems, in the given order."""
        return self.evaluation.run_names

    @property
    def entries(self) -> tuple[Comparison, ...]:
        """The comparisons."""
        return tuple(self.report.comparisons)

    @property
    def means(self) -> dict[str, dict[str, float]]:
        """The mean by system and measure; ``nan`` if the measure is undefined for all queries."""
        return {
            system: {
                measure: self.evaluation.mean(system, measure)
                for measure in self.evaluation.measure_names
            }
            for system in self.systems
        }

    @property
    def verdict(self) -> Verdict | None:
        """The result on the primary measure: ``text``, one sentence, and its figures."""
        return self.report.verdict

    @checked
    def find(self, baseline: str, contrast: str, measure: str) -> Comparison:
        """Return the comparison of two systems on a measure, in any spelling.

        Raises:
            UsageError: If there is no such comparison.
        """
        found = self.report.find_comparison(baseline, contrast, measure)
        if found is not None:
            return found
        pairs = dict.fromkeys(f"{entry.contrast} − {entry.baseline}" for entry in self.entries)
        raise UsageError(
            f"there is no comparison {contrast} − {baseline} on {measure}",
            remedy=f"the pairs are {', '.join(pairs) or 'none'}; the measures are "
            f"{', '.join(self.evaluation.measure_names)}",
        )

    @checked
    def to_latex(
        self,
        caption: str | None = None,
        label: str | None = None,
        measures: Sequence[str] | None = None,
        decimals: int | None = None,
        systems: Literal["rows", "columns"] | None = None,
    ) -> str:
        r"""Return a table for a paper, for ``\usepackage{booktabs}``.

        Best means are bold, intervals are below the means, and superscript letters name the systems
        that are significantly worse. With a baseline, the table has the differences from it on the
        first measure, with intervals, adjusted p-values and wins/ties/losses, and the means of the
        other measures.

        Args:
            caption: The caption; it is text, or, with a backslash in it, LaTeX.
            label: The name for ``\ref``.
            measures: The measures in order, in any spelling; by default the headline measures.
            decimals: Decimals of means and intervals; by default four and three.
            systems: ``rows`` or ``columns``; by default columns, or rows if there are more than
                five.

        Raises:
            UsageError: If there is no such measure, or an argument is out of range.
        """
        layout = systems, decimals, caption, label
        return str(render("render_comparisons_latex", self.report, measures, *layout))

    def to_json(self) -> str:
        """Return verdict, means, comparisons, best systems and groups as one JSON document.

        The keys are those of ``BenchmarkReport.json``.
        """
        return str(render("render_json", self.report))

    def to_polars(self) -> pl.DataFrame:
        """Return a row per system and measure: mean, interval and significance.

        Columns: ``mode`` and ``label``, the system; ``measure``, ``mean``, ``low``, ``high``,
        ``level``, ``n``, ``best``, and ``better_than``, the systems that are significantly worse;
        with one baseline also ``baseline``, ``difference``, ``difference_low``,
        ``difference_high``, ``p``, ``p_adjusted``, ``significant``, ``wins``, ``ties`` and
        ``losses``.
        ``evaluation.to_dict()`` has the means by system and measure.
        """
        table: pl.DataFrame = render("table_as_frame", self.report)
        return table

    def to_pandas(self) -> pd.DataFrame:
        """Return :meth:`to_polars` as a pandas table."""
        return to_pandas(self.to_polars())

    @checked
    def write(self, *paths: str | Path) -> None:
        """Write the table into files; the suffix of each decides its format.

        Args:
            paths: ``.tex`` or ``.md`` for people; ``.csv`` with a row per system and measure;
                ``.json`` with everything.

        Raises:
            UsageError: If a file has another suffix; then no file is written.
            InputError: If a file cannot be written.
        """
        render("write_comparisons", self, *paths)

    @checked
    def plot(self, measure: str | None = None, *, kind: PlotKind = "means") -> Figure:
        """Draw a plot.

        Args:
            measure: The measure; by default the headline measures for ``means``, and the primary
                measure for the other plots.
            kind: ``means``: every system's means with their intervals. ``differences``: the
                differences between systems, query by query.

        Returns:
            A Matplotlib figure; ``figure.savefig("plot.pdf")`` writes it.

        Raises:
            UsageError: If there is no such measure or plot.
        """
        if kind not in ("means", "differences"):
            raise UsageError(f"there is no plot {kind!r}", remedy="use means or differences")
        if kind == "means":
            return self.report.plot(None if measure is None else [measure])
        values = self.evaluation.per_query()
        figure: Figure = render("plot_differences", self.report, values, measure)
        return figure

    def __len__(self) -> int:
        return len(self.report.comparisons)

    def __getitem__(self, index: Any) -> Any:
        """Return a comparison by its place."""
        return self.entries[index]

    def _content(self) -> TextTable:
        return self.report._content()

    def _text(self) -> str:
        """The verdict, the headline measures of the first systems, and notes, of about 2 kB."""
        notes = [f"Note: {visible(note, _LONGEST_NOTE)}." for note in self.evaluation.notes]
        return "\n".join([Displayed._text(self), *notes[:_MOST_NOTES]])


def compare(
    qrels: Evaluation | Input,
    runs: Input | Iterable[Input] | Mapping[str, Input] = (),
    measures: Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    baseline: str | Sequence[str] | None = None,
    correction: str = DEFAULT_CORRECTION,
    test: str = DEFAULT_TEST,
    columns: Mapping[str, str] | None = None,
    exclude: Any = None,
    **options: Unpack[CompareOptions],
) -> Comparisons:
    """Compare systems query by query on every measure, with intervals and tests.

    ``compare(qrels, {"bm25": run, "dpr": "dpr.run"}, ["nDCG@10"])`` scores the runs first;
    ``compare(evaluation)`` compares runs that :func:`evaluate` has scored.

    The family of a measure is what is asked: every other system with the baseline, or every pair.
    By default, each difference has a paired t-test, adjusted by Holm for the family, and the
    t-interval at the level at which Holm tests it: it excludes 0 exactly if the difference is
    significant, which is if its adjusted p-value is at most 1 - ``confidence``.

    Args:
        qrels: The judgments, in any form that :func:`evaluate` accepts; or an :class:`Evaluation`.
        runs: One or several runs, in any form that :func:`evaluate` accepts, by name or as a list.
            Runs in a list have the names of their tags, which must be different.
        measures: Names of measures, or measures.
        baseline: Compare each other system with this one, or with each of several, by name; by
            default every pair is compared.
        correction: ``holm``, ``bh`` (Benjamini and Hochberg) or ``none``, both with intervals that
            are not adjusted.
        test: The test whose p-values are adjusted: ``t_test``, ``paired_bootstrap``,
            ``randomisation`` or ``wilcoxon``. The interval is always that of t.
        columns: The columns of tables, as in :func:`evaluate`.
        exclude: Documents to leave out, as in :func:`evaluate`.
        **options: ``interval``, the method of the intervals: ``auto``, ``percentile``, ``bca``,
            ``t`` or ``wilson``; ``confidence``, their level between 0 and 1 (0.95);
            ``resamples``, their number (10,000); ``seed`` of the draws (42); ``primary_measure``,
            the measure of the verdict (the first one).

    Returns:
        The comparisons and the means of all systems.

    Raises:
        FindingsError: If a file has an error that makes scores wrong or ambiguous.
        UsageError: If an argument has another type, the baseline is not one of the systems, or an
            option is out of range.
        IncomparableError: If the means are over different queries (``missing="drop"``), or over
            none.
    """
    source = ""
    if isinstance(qrels, Evaluation):
        if runs != () or measures is not DEFAULT_MEASURES or exclude is not None:
            raise UsageError(
                "an evaluation already has runs and measures, without documents that are left out",
                remedy="write compare(evaluation, baseline=…), or compare(qrels, runs, measures)",
            )
        evaluation = qrels
    else:
        source = Path(qrels).name if is_path(qrels) else ""
        judged = qrels if is_path(qrels) or columns is not None else as_qrels(qrels)
        evaluation = evaluate(judged, runs, measures, columns=columns, exclude=exclude)
    if unknown := set(options) - set(CompareOptions.__annotations__):
        raise UsageError(
            f"compare has no option {min(unknown)}",
            remedy=f"it has {', '.join(CompareOptions.__annotations__)}",
        )
    primary_measure = options.pop("primary_measure", None)
    settings = {"test": test, "correction": correction, **options}
    baselines = [baseline] if isinstance(baseline, str) else list(baseline or ())
    comparing = Comparing.of(settings, baselines)
    return make_comparisons(evaluation, comparing, source, primary_measure)


def make_comparisons(
    evaluation: Evaluation, comparing: Comparing, source: str, primary_measure: str | None = None
) -> Comparisons:
    """Compare the runs of an evaluation; see :func:`compare`.

    Args:
        evaluation: The scores.
        comparing: The baselines and the method.
        source: The name of the judgments' file; empty if there is none.
        primary_measure: The measure of the verdict; the first one if ``None``.
    """
    for name in comparing.baseline:
        if name not in evaluation.run_names:
            remedy = f"the runs are {', '.join(evaluation.run_names)}"
            raise UsageError(f"unknown baseline '{name}'", remedy=remedy)
    check_method(comparing.test, comparing.correction)
    primary = evaluation.find_measure(primary_measure or evaluation.measure_names[0])
    refuse_different_queries(evaluation)
    notes = dict.fromkeys([*notes_on_unjudged(evaluation.judged), *evaluation.notes])
    evaluation = replace(evaluation, notes=[*notes])
    config = {
        "measures": evaluation.measure_names,
        "primary_measure": primary_measure,
        # They were chosen for this comparison.
        "headline_measures": evaluation.measure_names,
        "baseline": [*comparing.baseline] or None,
        "correction": comparing.correction,
        "test": comparing.test,
        **evaluation.averaging._asdict(),
        **resampling_of(comparing.options),
    }
    measures = summarise(evaluation, comparing)
    report = RunComparison(
        qrels=source or None,
        queries=max(map(len, evaluation.query_ids.values())),
        config=config,
        notes=evaluation.notes,
        primary_measure=primary,
        modes={name: ModeFigures(label=name, measures=measures[name]) for name in measures},
        **compare_modes(comparing, evaluation, primary, "run")._asdict(),
    )
    return Comparisons(evaluation, add_result(report))
