"""Evaluation of runs with qrels: values per query, means over the same queries, and counts.

Runs and qrels are validated before they are scored.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import compress
from typing import TYPE_CHECKING, Any, get_args

from trectools_plus.choices import DEFAULT_MEASURES as DEFAULT_MEASURES
from trectools_plus.choices import RELEVANT
from trectools_plus.choices import Averaging as Averaging
from trectools_plus.choices import Missing as Missing
from trectools_plus.choices import NoRelevant as NoRelevant
from trectools_plus.display import (
    MAX_TABLE_ROWS,
    Displayed,
    Progress,
    TextTable,
    as_cell,
    no_progress,
)
from trectools_plus.errors import CheckFailedError, UsageError, checked
from trectools_plus.formats.interchange.names import (
    column_names,
    columns_for_qrels,
    columns_for_run,
)
from trectools_plus.lazy_names import render
from trectools_plus.measures.definitions.base import (
    Definition,
    FloatArray,
    Measure,
)
from trectools_plus.measures.parser import match_name, parse_measures
from trectools_plus.text import listed, plural, show
from trectools_plus.validation.findings import Finding, notes_on_findings, refuse_errors

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from matplotlib.figure import Figure

    from trectools_plus.formats.tables import Qrels, Run
    from trectools_plus.measures.judged import JudgedQueries
    from trectools_plus.measures.scoring import JudgedFile
    from trectools_plus.validation.views.kinds import QrelsView


JUDGED = "Judged@10"
AnyName = str | Measure
"""The name of a run or a measure, or a measure."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of queries in a run, in the qrels, and in the means.

    ``n_qrels`` is ``n_scored`` plus the queries that are left out: with ``no_relevant="drop"``
    those without a relevant document, with ``missing="drop"`` also the ``n_missing`` others.

    Attributes:
        n_qrels: Queries in the qrels.
        n_run: Queries in the run.
        n_scored: Queries that are averaged over.
        n_missing: Queries for which the run has no results; with ``no_relevant="drop"`` only those
            with a relevant document.
        n_extra: Queries of the run that are not in the qrels; never scored.
    """

    n_qrels: int
    n_run: int
    n_scored: int
    n_missing: int
    n_extra: int

    def as_dict(self) -> dict[str, int]:
        """Return the counts as plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Displayed):
    """Scores of one or more runs against one set of qrels.

    Attributes:
        measures: The measures, in the order requested; each has ``name`` and ``definition``.
        averaging: The treatment of queries without results and without a relevant document.
        query_ids: The queries averaged over, per run, in the order of the qrels.
        counts: The numbers of queries, per run.
        queries_without_relevant: Queries of the qrels without a document of grade 1 or more.
        tables: Per run, values of shape (queries, measures); ``nan`` is undefined.
        judged: The mean share of judged documents among the first ten of the queries with results,
            per run; empty if no document is judged as not relevant.
        notes: Notes on the input for readers of the figures, for example that no document reaches
            a measure's relevance level, or that the input has findings that change no figure; one
            line each.
    """

    measures: list[Measure]
    averaging: Averaging
    query_ids: dict[str, list[str]]
    counts: dict[str, Counts]
    queries_without_relevant: list[str]
    tables: dict[str, FloatArray]
    notes: list[str] = field(default_factory=list)
    judged: dict[str, float] = field(default_factory=dict)

    @property
    def run_names(self) -> list[str]:
        """The runs, in the order given."""
        return list(self.tables)

    @property
    def measure_names(self) -> list[str]:
        """The measures' names as requested, in this order; they label the columns."""
        return [measure.requested_name for measure in self.measures]

    def values(self, run_name: AnyName, measure_name: AnyName | None = None) -> FloatArray:
        """Return one value per query of ``query_ids[run_name]``; ``nan`` if undefined.

        If there is only one run, its name can be left out: ``values("Recall@10")``. The same holds
        for ``mean``, ``median``, ``std`` and ``n``.

        Args:
            run_name: The run.
            measure_name: The measure, in any spelling: canonical, as requested, or another alias.

        Raises:
            UsageError: If there is no such run or measure, or several runs and none is named.
        """
        if measure_name is None:
            run_name, measure_name = self._only_run(run_name), run_name
        if not isinstance(run_name, str) or run_name not in self.tables:
            raise UsageError(
                f"there is no run {show(run_name)}",
                remedy=f"available: {', '.join(self.run_names)}",
            )
        return self.tables[run_name][:, self._column(measure_name)]

    def mean(self, run_name: AnyName, measure_name: AnyName | None = None) -> float:
        """Return the mean of the defined values; ``nan`` if there is none; see :meth:`values`.

        The sum is rounded only once, so the order of the queries does not matter.
        """
        defined = self._defined(run_name, measure_name)
        return math.fsum(defined) / len(defined) if len(defined) else math.nan

    def median(self, run_name: AnyName, measure_name: AnyName | None = None) -> float:
        """Return the median of the defined values; ``nan`` if there is none; see :meth:`values`."""
        import numpy as np

        defined = self._defined(run_name, measure_name)
        return float(np.median(defined)) if len(defined) else math.nan

    def std(self, run_name: AnyName, measure_name: AnyName | None = None) -> float:
        """Return the sample standard deviation of the defined values; see :meth:`values`.

        The divisor is n - 1, as in reports; ``nan`` for fewer than two values.
        """
        defined = self._defined(run_name, measure_name)
        return float(defined.std(ddof=1)) if len(defined) > 1 else math.nan

    def n(self, run_name: AnyName, measure_name: AnyName | None = None) -> int:
        """Return the number of queries for which the measure is defined; see :meth:`values`."""
        return len(self._defined(run_name, measure_name))

    def __getitem__(self, measure_name: AnyName) -> float | dict[str, float]:
        """Return the mean of a measure: ``evaluation["nDCG@10"]``.

        With several runs, it is a dictionary of the means by run. The measure can have any
        spelling; ``nan`` if undefined.

        Raises:
            UsageError: If there is no such measure.
        """
        means = {run: self.mean(run, measure_name) for run in self.run_names}
        return next(iter(means.values())) if len(means) == 1 else means

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the measures."""
        return iter(self.measure_names)

    def to_dict(self) -> dict[str, float] | dict[str, dict[str, float]]:
        """Return the means: ``{measure: mean}``, or with several runs ``{run: {measure: mean}}``.

        ``nan`` if undefined.
        """
        means = {
            run: {name: self.mean(run, name) for name in self.measure_names}
            for run in self.run_names
        }
        return next(iter(means.values())) if len(means) == 1 else means

    def per_query(self, measure_name: str | Measure | None = None) -> pl.DataFrame:
        """Return a table ``run, query_id, measure, value`` in long format; null if undefined.

        Args:
            measure_name: One measure; ``None`` for all.

        Raises:
            UsageError: If there is no such measure.
        """
        import polars as pl

        names = self.measure_names if measure_name is None else [self.find_measure(measure_name)]
        columns = [self._column(name) for name in names]
        texts = dict.fromkeys(("run", "query_id", "measure"), pl.String)
        tables = [pl.DataFrame(schema={**texts, "value": pl.Float64})]
        for run, values in self.tables.items():
            of_run = {
                "run": [run] * (len(values) * len(names)),
                "query_id": [query_id for query_id in self.query_ids[run] for _ in names],
                "measure": names * len(values),
                "value": values[:, columns].ravel(),
            }
            tables.append(pl.DataFrame(of_run, tables[0].schema))
        return pl.concat(tables, rechunk=True).with_columns(pl.col("value").fill_nan(None))

    def is_over_different_queries(self, measure_name: str) -> bool:
        """Return whether the measure is defined for different queries in different runs.

        Such means must not be compared, because a run without its hardest queries would be better.
        Runs without a defined value have no mean and are ignored.
        """
        import numpy as np

        defined = {
            frozenset(compress(self.query_ids[run], ~np.isnan(self.values(run, measure_name))))
            for run in self.run_names
        }
        return len(defined - {frozenset()}) > 1

    def definition(self, measure_name: str | Measure) -> Definition:
        """Return a measure's definition, with the queries that this evaluation averaged over."""
        definition = self.measures[self._column(measure_name)].definition
        over = f"{definition.averaged_over}; here {self.averaging}"
        return replace(definition, averaged_over=over)

    def _content(self) -> TextTable:
        rows = [
            [
                run,
                *(self._cell(run, name) for name in self.measure_names),
                f"{len(self.query_ids[run]):,}",
            ]
            for run in self.run_names[:MAX_TABLE_ROWS]
        ]
        caption = f"Evaluation: means ({self.averaging})"
        header = ["Run", *self.measure_names, "Queries"]
        return TextTable.of(header, rows, caption=caption, total=len(self.run_names))

    def _cell(self, run: str, measure: str) -> str:
        mean, n = self.mean(run, measure), self.n(run, measure)
        shown = "–" if math.isnan(mean) else as_cell(mean)
        return shown if n == len(self.query_ids[run]) else f"{shown} (n = {n})"

    @checked
    def plot(self, measures: Sequence[str] | None = None, confidence: float = 0.95) -> Figure:
        """Return a Matplotlib figure of the means with their intervals.

        Each measure has a panel with its own scale, and a row for each run. A notebook shows the
        figure if it is the last expression of a cell.

        Args:
            measures: The measures, in any spelling; by default all.
            confidence: The level of the intervals, between 0 and 1.

        Raises:
            UsageError: If there is no such measure, or no run.
        """
        figure: Figure = render("plot_evaluation", self, measures, confidence)
        return figure

    def find_measure(self, requested: str | Measure) -> str:
        """Return the name of a measure as requested, by any of its names.

        Raises:
            UsageError: If there is no such measure.
        """
        return self.measure_names[self._column(requested)]

    def to_pandas(self) -> pd.DataFrame:
        """Return :meth:`per_query` as a pandas table; NaN if undefined."""
        from trectools_plus.formats.interchange.frames import to_pandas

        return to_pandas(self.per_query())

    def _defined(self, run_name: AnyName, measure_name: AnyName | None) -> FloatArray:
        values = self.values(run_name, measure_name)
        defined: FloatArray = values[values == values]  # nan differs from itself
        return defined

    def _only_run(self, measure_name: object) -> str:
        """Return the name of the run if there is only one."""
        if len(self.run_names) == 1:
            return self.run_names[0]
        raise UsageError(
            "the evaluation has several runs, so a run must be named",
            where=show(measure_name),
            remedy=f"write (run, measure), with a run of {', '.join(self.run_names)}",
        )

    def _column(self, requested: object) -> int:
        """Return the place of a measure in ``measures``, by any of its names."""
        canonical = {measure.requested_name: measure.name for measure in self.measures}
        if isinstance(requested, str | Measure):
            name = requested if isinstance(requested, str) else requested.name
            if (matched := match_name(name, canonical)) is not None:
                return self.measure_names.index(matched)
        raise UsageError(
            f"there is no measure {show(requested)}", remedy=f"available: {', '.join(canonical)}"
        )


def evaluate(
    qrels: Any,
    runs: Any,
    measures: Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    missing: Missing = "zero",
    no_relevant: NoRelevant = "zero",
    strict_input: bool = False,
    columns: Mapping[str, str] | None = None,
    exclude: Any = None,
    progress: Progress = no_progress,
) -> Evaluation:
    """Validate runs and qrels, then score every run with every measure.

    Input is refused only if a figure would be wrong or ambiguous. ``notes`` names all other
    findings.

    All measures of a run are averaged over the same queries: by default those of the qrels. A query
    without a relevant document counts 0, as in C trec_eval, pytrec_eval, ir_measures and ranx.
    ``Judged`` and the counts have a value there, and measures such as ``MeanRank`` are undefined.

    Args:
        qrels: The judgments, in any form; see :mod:`trectools_plus.validation.inputs`.
        runs: One run in any form, several with different names, or a mapping of names to runs.
        measures: Names or measures; see :func:`parse_measures`.
        missing: ``zero``: a query without results counts as 0, as with ``trec_eval -c``; ``drop``:
            it is left out, as with trec_eval without ``-c``.
        no_relevant: ``zero``: a query without a document of grade 1 or more counts as 0; ``drop``:
            it is left out.
        strict_input: Refuse every error of the input, also those that change no figure.
        columns: The columns of tables, if their names are unusual, or their numbers:
            ``{"query": "q", "doc_id": "_id", "score": "_score"}``. They are those of the qrels too
            if ``relevance`` is among them.
        exclude: Documents to leave out of runs and judgments before ranks are counted:
            ``{query_id: [doc_id, …]}``, a file with lines ``query_id doc_id``, or qrels.
        progress: Receives the number of scored runs, for the step ``scoring``.

    Returns:
        Values per query, means, and numbers of queries.

    Raises:
        CheckFailedError: If runs or qrels have errors that prevent scoring, or ``no_relevant`` is
            ``drop`` and no query has a relevant document.
        UsageError: If a measure does not exist or cannot score this input, or two runs have the
            same name.
    """
    averaging = check_averaging(missing, no_relevant)
    from trectools_plus.measures.judged import JudgedQueries, notes_on_judges
    from trectools_plus.measures.scoring import RunOpener, accept_unjudged
    from trectools_plus.validation.inputs import as_qrels, as_runs, is_path
    from trectools_plus.validation.loading import accept_run, open_valid_qrels
    from trectools_plus.validation.views.kinds import QrelsView, RunView

    parsed = parse_measures(measures)
    names = column_names(columns)
    of_run_tables, of_qrels_tables = columns_for_run(names), columns_for_qrels(names)
    of_runs: list[Finding] = []
    of_qrels: list[Finding] = []

    def load_judgments(path: str) -> Qrels:
        view, findings = open_valid_qrels(path, strict_input=strict_input, columns=of_qrels_tables)
        of_qrels.extend(findings)
        return view.table(path)

    judged = as_qrels(qrels, load=load_judgments, columns=of_qrels_tables)
    view = QrelsView.of_table(judged)
    if not is_path(qrels):
        of_qrels.extend(check_qrels(view, strict_input=strict_input))
    queries = JudgedQueries.of_view(view)
    as_tables = exclude is not None
    opener = RunOpener(queries, parsed, strict_input, of_run_tables, as_tables=as_tables)
    of_files: list[Any] = []

    def load_results(path: str) -> Any:
        run, findings = opener.open(path)
        of_runs.extend(findings)
        of_files.append(run)
        return run

    named = as_runs(runs, load_results, of_run_tables)
    for run in named.values():
        if not any(run is file_run for file_run in of_files):
            table, accepts = RunView.of_table(run), accept_unjudged(parsed)
            of_runs.extend(
                accept_run(table, view, accepts_unjudged=accepts, strict_input=strict_input)
            )
    notes = [*notes_on_judges(judged), *notes_on_findings(of_runs, of_qrels)]
    if exclude is not None:
        from trectools_plus.measures.exclusions import Exclusions

        exclusions = Exclusions.of(exclude)
        notes.insert(0, exclusions.describe(named))
        queries = JudgedQueries.of(exclusions.from_qrels(judged))
        named = {name: exclusions.from_run(run) for name, run in named.items()}
    return score_runs(queries, named, parsed, averaging, progress, notes=notes)


def score_runs(
    qrels: Qrels | JudgedQueries,
    runs: Mapping[str, Run | JudgedFile],
    measures: Sequence[Measure],
    averaging: Averaging,
    progress: Progress = no_progress,
    *,
    notes: Sequence[str] = (),
) -> Evaluation:
    """Score runs that were validated before; see :func:`evaluate`.

    The judged documents of a :class:`JudgedFile` were found while it was read; with
    :class:`JudgedQueries`, those of a run are found once for several calls. ``progress`` receives
    the number of runs scored so far. ``notes`` on the input are added to those of the result.

    Raises:
        CheckFailedError: If queries without a relevant document are left out, and no other is left.
        UsageError: If a measure cannot score this input.
    """
    import numpy as np

    from trectools_plus.measures.definitions.builtin import Judged
    from trectools_plus.measures.judged import JudgedQueries, has_nonrelevant
    from trectools_plus.measures.scoring import find_judged, score_judged

    queries = JudgedQueries.of(qrels)
    highest = np.array(queries.highest)
    without = list(compress(queries.query_ids, highest < RELEVANT))
    drops = averaging.no_relevant == "drop"
    if drops and len(without) == len(highest):
        raise CheckFailedError(
            "no query of the qrels has a relevant document, so no_relevant=drop leaves no query",
            remedy="check that the grades are in column 4, or use no_relevant=zero",
        )
    evaluation = Evaluation(list(measures), averaging, {}, {}, without, {})
    evaluation.notes.extend(notes_without_relevant(without, averaging))
    for measure in measures:
        for note in measure.notes_on_qrels(queries):
            evaluation.notes.append(f"{measure.requested_name}: {note}")
    levels = [max(measure.relevance_level, RELEVANT) for measure in measures]
    is_scored = highest >= (RELEVANT if drops else highest)
    for done, (name, run) in enumerate(runs.items()):
        progress("scoring", done, len(runs))
        ranks = find_judged(measures, queries, run)
        values = score_judged(measures, ranks)
        if ranks.documents is not None:
            for measure in measures:
                for note in measure.notes_on_run(name, ranks.documents[1]):
                    evaluation.notes.append(f"{measure.requested_name}, {name}: {note}")
        if drops:
            values = np.where(highest[:, np.newaxis] < levels, np.nan, values)
        answered = ranks.retrieved > 0
        kept = is_scored if averaging.missing == "zero" else is_scored & answered
        evaluation.tables[name] = np.ascontiguousarray(values[kept])
        evaluation.query_ids[name] = list(compress(queries.query_ids, kept))
        in_run = {*run.query_ids}
        evaluation.counts[name] = Counts(
            n_qrels=len(highest),
            n_run=len(in_run),
            n_scored=int(kept.sum()),
            n_missing=int((is_scored & ~answered).sum()),
            n_extra=len(in_run.difference(queries.query_ids)),
        )
        if (kept & answered).any() and has_nonrelevant(queries):
            shares = Judged(10).score(ranks)[kept & answered]
            evaluation.judged[name] = float(shares.mean())
    evaluation.notes.extend(notes)
    return evaluation


def check_qrels(qrels: QrelsView, *, strict_input: bool = False) -> list[Finding]:
    """Return the findings on qrels that do not block scoring.

    Raises:
        FindingsError: If there is an error that blocks it, or any error with ``strict_input``.
    """
    from trectools_plus.validation.engine import check_view

    findings = check_view(qrels)
    refuse_errors(findings, strict_input=strict_input)
    return findings


def check_averaging(missing: Missing, no_relevant: NoRelevant) -> Averaging:
    """Return the treatment of queries that a user chose.

    Raises:
        UsageError: If a value is neither ``zero`` nor ``drop``.
    """
    if unknown := {missing, no_relevant} - {*get_args(Missing)}:
        raise UsageError(
            f"expected 'zero' or 'drop' but got {', '.join(map(show, unknown))}",
            where="missing, no_relevant",
        )
    return Averaging(missing, no_relevant)


def notes_without_relevant(without: Sequence[str], averaging: Averaging) -> list[str]:
    """Return a note on the queries without a relevant document, if there are any."""
    is_zero = averaging.no_relevant == "zero"
    effect = "counted 0, as in trec_eval" if is_zero else "left out of every mean"
    queries = plural(len(without), "query", "queries")
    note = f"{queries} of the qrels without a relevant document: {effect}: {listed(without)}"
    return [note] if without else []
