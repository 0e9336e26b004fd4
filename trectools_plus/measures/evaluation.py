"""Evaluation of runs with qrels: values per query, means over the same queries, and counts.

Runs and qrels are validated before they are scored.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, get_args

from trectools_plus.arguments import checked, show
from trectools_plus.choices import DEFAULT_MEASURES as DEFAULT_MEASURES
from trectools_plus.choices import Averaging as Averaging
from trectools_plus.choices import Missing as Missing
from trectools_plus.choices import NoRelevant as NoRelevant
from trectools_plus.display import MAX_TABLE_ROWS, Displayed, TextTable, as_cell, text_table
from trectools_plus.distributed import current_workers
from trectools_plus.errors import CheckFailedError, UsageError
from trectools_plus.formats.interchange.names import (
    column_names,
    columns_for_qrels,
    columns_for_run,
)
from trectools_plus.lazy_names import render
from trectools_plus.measures.definitions.base import (
    AVERAGED_OVER,
    Definition,
    FloatArray,
    Measure,
)
from trectools_plus.measures.parser import match_name, parse_measure, parse_measures
from trectools_plus.measures.queries import RELEVANT
from trectools_plus.progress import Progress, no_progress
from trectools_plus.text import listed, plural
from trectools_plus.validation.findings import Finding, notes_on_findings, refuse_errors

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from matplotlib.figure import Figure

    from trectools_plus.formats.tables import Qrels, Run
    from trectools_plus.measures.judged import JudgedQueries
    from trectools_plus.measures.scoring.scores import ScoredFile


JUDGED = "Judged@10"
AnyName = str | Measure
"""The name of a run or a measure, or a measure."""

_RUNS_SHOWN, _MEASURES_SHOWN, _LINES_SHOWN = 10, 5, 20
"""The numbers of runs and measures in the short representation of an evaluation, and of measures in
that of a single run."""


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
    tables: Mapping[str, FloatArray]
    notes: list[str] = field(default_factory=list)
    judged: Mapping[str, float] = field(default_factory=dict)

    @property
    def missing(self) -> Missing:
        """The treatment of queries without results: ``zero`` or ``drop``."""
        return self.averaging.missing

    @property
    def no_relevant(self) -> NoRelevant:
        """The treatment of queries without a relevant document: ``zero`` or ``drop``."""
        return self.averaging.no_relevant

    @property
    def run_names(self) -> list[str]:
        """The runs, in the order given."""
        return list(self.tables)

    @property
    def compared_names(self) -> list[str]:
        """The measures whose means are compared: all but sums."""
        return [one.requested_name for one in self.measures if one.aggregate == "mean"]

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
        name = self._known_run(run_name)
        return self.tables[name][:, self._column(measure_name)]

    def values_as_list(self, run_name: AnyName, measure_name: AnyName | None = None) -> list[float]:
        """Return :meth:`values` as a list."""
        listed: list[float] = self.values(run_name, measure_name).tolist()
        return listed

    def mean(self, run_name: AnyName, measure_name: AnyName | None = None) -> float:
        """Return the mean of the defined values; ``nan`` if there is none; see :meth:`values`.

        For ``NumQ``, ``NumRel`` and ``NumRet`` it is the sum (``definition(…).aggregate``), as in
        ``ir_measures`` and trec_eval. The sum is rounded only once, so the order of the queries
        does not matter.
        """
        defined = self._defined(run_name, measure_name)
        if not defined:
            return math.nan
        requested = run_name if measure_name is None else measure_name
        is_sum = self.measures[self._column(requested)].aggregate == "sum"
        return math.fsum(defined) / (1 if is_sum else len(defined))

    def median(self, run_name: AnyName, measure_name: AnyName | None = None) -> float:
        """Return the median of the defined values; ``nan`` if there is none; see :meth:`values`."""
        import numpy as np

        defined = self._defined(run_name, measure_name)
        return float(np.median(defined)) if len(defined) else math.nan

    def std(self, run_name: AnyName, measure_name: AnyName | None = None) -> float:
        """Return the sample standard deviation of the defined values; see :meth:`values`.

        The divisor is n - 1, as in reports; ``nan`` for fewer than two values.
        """
        import numpy as np

        defined = self._defined(run_name, measure_name)
        return float(np.std(defined, ddof=1)) if len(defined) > 1 else math.nan

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
        found = {run: self.mean(run, measure_name) for run in self.run_names}
        self._column(measure_name)
        return next(iter(found.values())) if len(found) == 1 else found

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the measures."""
        return iter(self.measure_names)

    def __contains__(self, measure_name: object) -> bool:
        """Return whether there is a measure of this name, in any spelling."""
        try:
            self._column(measure_name)
        except UsageError:
            return False
        return True

    def to_dict(self) -> dict[str, float] | dict[str, dict[str, float]]:
        """Return the means: ``{measure: mean}``, or with several runs ``{run: {measure: mean}}``.

        ``nan`` if undefined.
        """
        found = {
            run: {name: self.mean(run, name) for name in self.measure_names}
            for run in self.run_names
        }
        return next(iter(found.values())) if len(found) == 1 else found

    def means(self) -> pl.DataFrame:
        """Return a table with the column ``run`` and one column per measure; null if undefined."""
        import polars as pl

        columns = {
            measure: [self.mean(run, measure) for run in self.run_names]
            for measure in self.measure_names
        }
        table = pl.DataFrame(
            {"run": self.run_names, **columns}, schema_overrides={"run": pl.String}
        )
        return table.with_columns(pl.col(pl.Float64).fill_nan(None))

    def per_query(self, measure_name: str | Measure | None = None) -> pl.DataFrame:
        """Return a table ``run, query_id, measure, value`` in long format; null if undefined.

        Args:
            measure_name: One measure; ``None`` for all.

        Raises:
            UsageError: If there is no such measure.
        """
        if measure_name is None:
            return self._per_query
        return self._per_query.filter(measure=self.measure_names[self._column(measure_name)])

    def is_over_different_queries(self, measure_name: str) -> bool:
        """Return whether the measure is defined for different queries in different runs.

        Such means must not be compared, because a run without its hardest queries would be better.
        Runs without a defined value have no mean and are ignored.
        """
        found = set()
        for run in self.run_names:
            pairs = zip(self.query_ids[run], self.values_as_list(run, measure_name), strict=True)
            defined = frozenset(query_id for query_id, value in pairs if not math.isnan(value))
            if defined:
                found.add(defined)
        return len(found) > 1

    def definition(self, measure_name: str | Measure) -> Definition:
        """Return a measure's definition, with the queries that this evaluation averaged over."""
        column = self._column(measure_name)
        if column not in self._definitions:
            definition = self.measures[column].definition
            if definition.averaged_over == AVERAGED_OVER:
                definition = replace(
                    definition,
                    averaged_over=_averaged_over(self.averaging, definition.relevance_level),
                )
            self._definitions[column] = definition
        return self._definitions[column]

    @cached_property
    def _definitions(self) -> dict[int, Definition]:
        """The definitions requested so far, by column."""
        return {}

    @cached_property
    def _per_query(self) -> pl.DataFrame:
        import numpy as np
        import polars as pl

        schema = {"run": pl.String, "query_id": pl.String, "measure": pl.String}
        parts = []
        for name, table in self.tables.items():
            queries, measures = table.shape
            ids = pl.Series("query_id", self.query_ids[name], dtype=pl.String)
            part = pl.DataFrame(
                {
                    "run": pl.Series([name], dtype=pl.String).new_from_index(0, table.size),
                    "query_id": ids.gather(np.repeat(np.arange(queries), measures)),
                    "measure": pl.Series(self.measure_names, dtype=pl.String).gather(
                        np.tile(np.arange(measures), queries)
                    ),
                    "value": pl.Series(table.ravel(), dtype=pl.Float64).fill_nan(None),
                }
            )
            parts.append(part)
        return pl.concat(parts) if parts else pl.DataFrame(schema={**schema, "value": pl.Float64})

    def _content(self) -> TextTable:
        if len(self.run_names) == 1:
            return self._content_of_run(self.run_names[0])
        names = {name: self.is_over_different_queries(name) for name in self.measure_names}
        rows = []
        for run in self.run_names[:MAX_TABLE_ROWS]:
            shown = [self._show_mean(run, name, different) for name, different in names.items()]
            rows.append([run, *shown, f"{len(self.query_ids[run]):,}"])
        caption = f"Means over the queries ({self.averaging})"
        header = ["Run", *self.measure_names, "Queries"]
        return TextTable.of(header, rows, caption=caption, total=len(self.run_names))

    def _content_of_run(self, run: str) -> TextTable:
        """Return a row for each measure."""
        figures = (self.mean, self.median, self.std)
        rows = [
            [
                f"{name} (sum)" if measure.aggregate == "sum" else name,
                *(
                    "–" if math.isnan(one := figure(run, name)) else as_cell(one)
                    for figure in figures
                ),
                f"{self.n(run, name):,}",
            ]
            for name, measure in zip(self.measure_names, self.measures, strict=True)
        ]
        caption = f"Evaluation of {run} (missing={self.missing})"
        return TextTable.of(["Measure", "Mean", "Median", "Std", "Queries"], rows, caption=caption)

    def _show_mean(self, run: str, name: str, different: bool) -> str:
        """Format a mean, with n if the runs' means are over different queries."""
        mean = self.mean(run, name)
        if math.isnan(mean):
            return "–"
        return f"{mean:.4f} (n = {self.n(run, name)})" if different else f"{mean:.4f}"

    @checked
    def plot(self, measures: Sequence[str] | None = None, confidence: float = 0.95) -> Figure:
        """Return a Matplotlib figure of the means with their intervals.

        Each measure has a panel with its own scale, and a row for each run. A notebook shows the
        figure if it is the last expression of a cell.

        Args:
            measures: The measures, in any spelling; by default all that are means.
            confidence: The level of the intervals, between 0 and 1.

        Raises:
            UsageError: If there is no such measure, or no run.
        """
        found: Figure = render("plot_evaluation", self, measures, confidence)
        return found

    def find_measure(self, requested: str | Measure) -> str:
        """Return the name of a measure as requested, by any of its names.

        Raises:
            UsageError: If there is no such measure.
        """
        return self.measure_names[self._column(requested)]

    def to_pandas(self) -> pd.DataFrame:
        """Return :meth:`per_query` as a pandas table; NaN if undefined."""
        from trectools_plus.formats.interchange.frames import to_pandas

        return to_pandas(self._per_query)

    def _text(self) -> str:
        """The means, with a line per run, for consoles; of a single run, a line per measure."""
        if len(self.run_names) == 1:
            return text_table(self._content(), _LINES_SHOWN)
        lines = [f"Evaluation: means of {plural(len(self.run_names), 'run')}"]
        names = self.measure_names[:_MEASURES_SHOWN]
        shown = {name: self.is_over_different_queries(name) for name in names}
        further = len(self.measure_names) - len(shown)
        for run in self.run_names[:_RUNS_SHOWN]:
            means = ", ".join(f"{name} {self._show_mean(run, name, shown[name])}" for name in shown)
            more = f", … ({plural(further, 'further measure')})" if further else ""
            queries = plural(len(self.query_ids[run]), "query", "queries")
            lines.append(f"  {run}: {means}{more} ({queries})")
        if len(self.run_names) > _RUNS_SHOWN:
            further_runs = plural(len(self.run_names) - _RUNS_SHOWN, "further run")
            lines.append(f"  … ({further_runs}; means() has all)")
        return "\n".join(lines)

    def _defined(self, run_name: AnyName, measure_name: AnyName | None) -> list[float]:
        values = self.values_as_list(run_name, measure_name)
        return [value for value in values if not math.isnan(value)]

    def _known_run(self, run_name: object) -> str:
        """Return the name of a run, or refuse one that does not exist."""
        if not isinstance(run_name, str) or run_name not in self.tables:
            raise UsageError(
                f"there is no run {show(run_name)}",
                remedy=f"available: {', '.join(self.run_names)}",
            )
        return run_name

    def _only_run(self, measure_name: object) -> str:
        """Return the name of the run if there is only one."""
        if len(self.run_names) == 1:
            return self.run_names[0]
        raise UsageError(
            f"the evaluation has {plural(len(self.run_names), 'run')}, so a run must be named",
            where=show(measure_name),
            remedy=f"write (run, measure), with a run of {', '.join(self.run_names)}; means() has "
            "all means",
        )

    @cached_property
    def _places(self) -> dict[str, int]:
        """The place of each measure by its name as requested."""
        places = enumerate(self.measure_names)
        return {name: place for place, name in reversed(list(places))}

    def _column(self, requested: object) -> int:
        """Return the place of a measure in ``measures``, by any of its names."""
        if isinstance(requested, str) and requested in self._places:
            return self._places[requested]
        names = self.measure_names
        if isinstance(requested, str | Measure):
            canonical = {measure.requested_name: measure.name for measure in self.measures}
            found = match_name(
                requested if isinstance(requested, str) else requested.name, canonical
            )
            if found is not None:
                return names.index(found)
        raise UsageError(
            f"there is no measure {show(requested)}", remedy=f"available: {', '.join(names)}"
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
    from trectools_plus.measures.judged import notes_on_judges
    from trectools_plus.validation.inputs import as_qrels, as_runs
    from trectools_plus.validation.loading import (
        RunLoader,
        load_qrels_with_findings,
    )
    from trectools_plus.validation.views.qrels import QrelsView

    parsed = parse_measures(measures)
    given = column_names(columns)
    of_run_tables, of_qrels_tables = columns_for_run(given), columns_for_qrels(given)
    of_runs: list[Finding] = []
    of_qrels: list[Finding] = []

    def load_judgments(path: str) -> Qrels:
        table, findings = load_qrels_with_findings(
            path, strict_input=strict_input, columns=of_qrels_tables
        )
        of_qrels.extend(findings)
        return table

    judged = as_qrels(qrels, load=load_judgments, columns=of_qrels_tables)
    loader = RunLoader(
        QrelsView.of_table(judged),
        accepts_unjudged=accept_unjudged(parsed),
        strict_input=strict_input,
    )

    def load_results(path: str) -> list[Run]:
        loaded = loader.load_file(path, of_run_tables)
        of_runs.extend(finding for _, findings in loaded for finding in findings)
        return [run for run, _ in loaded]

    named = as_runs(runs, load_results, of_run_tables)
    found = refuse_unscorable(judged, list(named.values()), parsed, strict_input=strict_input)
    of_input = notes_on_findings([*of_runs, *found[0]], [*of_qrels, *found[1]])
    notes = [*notes_on_judges(judged), *of_input]
    if exclude is not None:
        from trectools_plus.validation.exclusions import Exclusions

        exclusions = Exclusions.of(exclude)
        notes.insert(0, exclusions.describe(named))
        judged = exclusions.from_qrels(judged)
        named = {name: exclusions.from_run(run) for name, run in named.items()}
    return score_runs(judged, named, parsed, averaging, progress, notes=notes)


def score_runs(
    qrels: Qrels | JudgedQueries,
    runs: Mapping[str, Run | ScoredFile],
    measures: Sequence[Measure],
    averaging: Averaging,
    progress: Progress = no_progress,
    *,
    notes: Sequence[str] = (),
) -> Evaluation:
    """Score runs that were validated before; see :func:`evaluate`.

    A :class:`ScoredFile` was scored :func:`with_judged` while it was read; if all runs are such
    files, no documents are looked up. With :class:`JudgedQueries`, the judged documents of a
    run are found once for several calls. ``progress`` receives the number of runs scored so far.
    ``notes`` on the input are added to those of the result.

    Raises:
        CheckFailedError: If queries without a relevant document are left out, and no other is left.
        UsageError: If a measure cannot score this input.
    """
    import numpy as np

    from trectools_plus.measures.judged import JudgedQueries, has_nonrelevant

    given = JudgedQueries.of(qrels)
    queries = given.counted(averaging.no_relevant)
    query_ids, without = queries.query_ids, queries.without_relevant
    if not query_ids and without:
        raise CheckFailedError(
            "no query of the qrels has a relevant document, so no_relevant=drop leaves no query",
            remedy="check that the grades are in column 4, or use no_relevant=zero",
        )
    scored_runs = _score_each(runs, queries, with_judged(measures), progress)
    of_measures = [
        f"{one.requested_name}: {note}"
        for one in measures
        for note in (*one.notes_on_names, *one.notes_on_qrels(queries))
    ]
    lacking = queries.lacks_relevant([one.relevance_level for one in measures])
    averaged: dict[str, list[str]] = {}
    counts: dict[str, Counts] = {}
    tables: dict[str, FloatArray] = {}
    of_runs: list[str] = []
    pooled, judged = has_nonrelevant(given), {}
    column = [one.name for one in with_judged(measures)].index(JUDGED)
    for (name, run), (table, run_notes) in zip(runs.items(), scored_runs, strict=True):
        of_runs += run_notes
        kept, counts[name] = choose_queries(query_ids, without, run.query_ids, averaging.missing)
        values = table[:, : len(measures)]
        if averaging.no_relevant == "drop":
            values = np.where(lacking, np.nan, values)
        tables[name] = np.ascontiguousarray(values[kept])
        averaged[name] = [query_ids[position] for position in kept]
        in_run = {*run.query_ids}
        answered = [at for at in kept if query_ids[at] in in_run]
        if pooled and answered and column < table.shape[1]:
            judged[name] = float(table[answered, column].mean())
    of_runs += _notes_on_depth(runs, measures, query_ids)
    all_notes = [*notes_without_relevant(without, averaging), *of_measures, *of_runs, *notes]
    return Evaluation(
        list(measures), averaging, averaged, counts, without, tables, all_notes, judged
    )


def with_judged(measures: Sequence[Measure]) -> list[Measure]:
    """Return the measures and, unless it is one of them, the share of judged documents."""
    is_there = any(one.name == JUDGED for one in measures)
    return [*measures] if is_there else [*measures, parse_measure(JUDGED)]


def _notes_on_depth(
    runs: Mapping[str, Run | ScoredFile], measures: Sequence[Measure], query_ids: Sequence[str]
) -> list[str]:
    """Return a note on each run with fewer results than another one and than a measure needs."""
    required = max((one.cutoff or 0 for one in measures), default=0)
    if len(runs) < 2 or not required:
        return []
    counted = {name: run.count_documents() for name, run in runs.items()}
    sizes = {
        name: [of_run.get(query, 0) for query in query_ids] for name, of_run in counted.items()
    }
    deepest = max(max(of_run, default=0) for of_run in sizes.values())
    return [
        f"{name}: fewer than {required:,} results, the deepest rank that a measure looks at, for "
        f"{sum(0 < size < required for size in of_run):,} of "
        f"{plural(len(query_ids), 'query', 'queries')}"
        for name, of_run in sizes.items()
        if max(of_run, default=0) < min(deepest, required)
    ]


def choose_queries(
    query_ids: Sequence[str],
    without_relevant: Sequence[str],
    of_run: Iterable[str],
    missing: Missing,
) -> tuple[list[int], Counts]:
    """Choose the queries that the means of a run are over.

    Args:
        query_ids: The queries of the qrels that are scored.
        without_relevant: The queries of the qrels without a relevant document, scored or not.
        of_run: The queries of the run.
        missing: The treatment of queries without results.

    Returns:
        Positions in ``query_ids``, and the numbers of queries.
    """
    in_qrels, in_run = {*query_ids, *without_relevant}, {*of_run}
    with_results = [at for at, query_id in enumerate(query_ids) if query_id in in_run]
    kept = list(range(len(query_ids))) if missing == "zero" else with_results
    n_missing = len(query_ids) - len(with_results)
    n_extra = len(in_run - in_qrels)
    return kept, Counts(len(in_qrels), len(in_run), len(kept), n_missing, n_extra)


def refuse_unscorable(
    qrels: Qrels,
    runs: Sequence[Run],
    measures: Sequence[Measure] = (),
    *,
    strict_input: bool = False,
) -> tuple[list[Finding], list[Finding]]:
    """Validate qrels and runs, and refuse those that would give wrong figures.

    Short rankings and missing queries are accepted. So is a run without judged documents, if a
    measure can score it; that measure checks the ids.

    Args:
        qrels: The judgments.
        runs: The runs.
        measures: The measures.
        strict_input: Refuse every error, also those that change no figure.

    Returns:
        The other findings on the runs, and those on the qrels.

    Raises:
        CheckFailedError: If there are errors that prevent scoring; it lists them.
    """
    from trectools_plus.validation.engine import check_view
    from trectools_plus.validation.loading import RunLoader
    from trectools_plus.validation.views.qrels import QrelsView
    from trectools_plus.validation.views.runs import RunView

    view = QrelsView.of_table(qrels)
    of_qrels = check_view(view)
    refuse_errors(of_qrels, strict_input=strict_input)
    accepts_unjudged = accept_unjudged(measures)
    loader = RunLoader(view, accepts_unjudged=accepts_unjudged, strict_input=strict_input)
    of_runs = [finding for run in runs for finding in loader.check(RunView.of_table(run))]
    return of_runs, of_qrels


def accept_unjudged(measures: Iterable[Measure]) -> bool:
    """Return whether a measure can score a run without judged documents."""
    return any(measure.sees_unjudged for measure in measures)


def _score_each(
    runs: Mapping[str, Run | ScoredFile],
    queries: JudgedQueries,
    measures: Sequence[Measure],
    progress: Progress,
) -> Iterator[tuple[FloatArray, list[str]]]:
    """Score the runs one after the other, or in parallel on the workers of a scheduler."""
    from trectools_plus.measures.scoring.scores import ScoredFile

    workers = current_workers()
    if workers is None or all(isinstance(run, ScoredFile) for run in runs.values()):
        for done, item in enumerate(runs.items()):
            progress("scoring", done, len(runs))
            yield _score(queries, measures, item)
        return

    def report(done: int) -> None:
        progress("scoring", done, len(runs))

    yield from workers.map(partial(_score, queries, measures), runs.items(), report)


def _score(
    queries: JudgedQueries, measures: Sequence[Measure], item: tuple[str, Run | ScoredFile]
) -> tuple[FloatArray, list[str]]:
    """Return values of shape (queries, measures), and notes on the run."""
    from trectools_plus.measures.scoring.scores import (
        ScoredFile,
        depend_on_grades_only,
        score_judged,
        score_ranking,
    )

    name, run = item
    if isinstance(run, ScoredFile):
        return run.values(queries.query_ids), []
    if depend_on_grades_only(measures):
        return score_judged(measures, queries.query_ids, queries.judge(run)), []
    ranked = queries.rank(run)
    notes = [
        f"{one.requested_name}, {name}: {note}"
        for one in measures
        for note in one.notes_on_run(name, ranked)
    ]
    return score_ranking(measures, queries, ranked), notes


def check_averaging(missing: object, no_relevant: object) -> Averaging:
    """Return the treatment of queries that a user chose.

    Raises:
        UsageError: If a value is neither ``zero`` nor ``drop``.
    """
    for name, value in (("missing", missing), ("no_relevant", no_relevant)):
        if value not in get_args(Missing):
            raise UsageError(f"expected {name} 'zero' or 'drop' but got {value!r}")
    return Averaging(missing, no_relevant)  # type: ignore[arg-type]


def _averaged_over(averaging: Averaging, level: int) -> str:
    grade = max(level, RELEVANT)
    with_relevant = f" with a document of grade {grade} or more" * (averaging.no_relevant == "drop")
    queries = f"queries of the qrels{with_relevant}"
    if averaging.missing == "zero":
        return f"{queries}; a query without results counts 0"
    return f"{queries} {'and' if with_relevant else 'with'} results in the run"


def notes_without_relevant(without: Sequence[str], averaging: Averaging) -> list[str]:
    """Return a note on the queries without a relevant document, if there are any."""
    if not without:
        return []
    one = len(without) == 1
    if averaging.no_relevant == "zero":
        effect = f"{'counts' if one else 'count'} 0, as in trec_eval"
    else:
        effect = f"{'is' if one else 'are'} left out of every mean"
    return [
        f"{plural(len(without), 'query', 'queries')} of the qrels {'has' if one else 'have'} no "
        f"relevant document and {effect}: {listed(without)}"
    ]
