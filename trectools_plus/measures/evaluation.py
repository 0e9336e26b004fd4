"""What ``evaluate`` returns: per-query values, means over one set of queries, and the counts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from trectools_plus.errors import UsageError
from trectools_plus.measures.base import AVERAGED_OVER, Definition, FloatArray, Measure

if TYPE_CHECKING:
    import pandas as pd

Missing = Literal["zero", "drop"]


@dataclass(frozen=True, slots=True)
class Counts:
    """Which queries stand behind a run's means.

    ``n_qrels`` is ``n_scored`` plus the queries without a relevant document plus, where missing
    queries are dropped, ``n_missing``.

    Attributes:
        n_qrels: Queries in the qrels.
        n_run: Queries in the run.
        n_scored: Queries averaged over: the denominator of every measure.
        n_missing: Queries with a relevant document for which the run has no results.
        n_extra: Queries of the run that are not in the qrels; never scored.
    """

    n_qrels: int
    n_run: int
    n_scored: int
    n_missing: int
    n_extra: int

    def as_dict(self) -> dict[str, int]:
        """The counts as plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Scores of one or more runs against one set of qrels.

    Attributes:
        measures: The measures, in the order asked for; each has ``name`` and ``definition``.
        missing: What became of queries without results: ``zero`` or ``drop``.
        query_ids: The queries averaged over, per run, in the order of the qrels.
        counts: Per run, which queries stand behind the means.
        queries_without_relevant: Queries of the qrels without a document of grade 1 or more; no
            mean contains them.
        tables: Per run, values of shape (queries, measures); ``nan`` is undefined.
        notes: What a reader must know of the input, such as that no document reaches a measure's
            relevance level; a line each, the measure's name first.
    """

    measures: list[Measure]
    missing: Missing
    query_ids: dict[str, list[str]]
    counts: dict[str, Counts]
    queries_without_relevant: list[str]
    tables: dict[str, FloatArray]
    notes: list[str] = field(default_factory=list)

    @property
    def run_names(self) -> list[str]:
        """The runs, in the order given."""
        return list(self.tables)

    @property
    def measure_names(self) -> list[str]:
        """The measures' canonical names, in the order asked for."""
        return [measure.name for measure in self.measures]

    def values(self, run_name: str, measure_name: str) -> FloatArray:
        """One value per query of ``query_ids[run_name]``; ``nan`` is undefined.

        Raises:
            UsageError: If there is no such run or measure.
        """
        self._require(run_name, self.run_names, "run")
        self._require(measure_name, self.measure_names, "measure")
        return self.tables[run_name][:, self.measure_names.index(measure_name)]

    def mean(self, run_name: str, measure_name: str) -> float:
        """Mean over the defined values, exactly rounded; ``nan`` when there is none.

        The order of the queries does not change it, not even in the last bit.
        """
        values = self.values(run_name, measure_name)
        defined = values[~np.isnan(values)].tolist()
        return math.fsum(defined) / len(defined) if defined else math.nan

    def n(self, run_name: str, measure_name: str) -> int:
        """How many queries the mean is taken over: those where the measure is defined."""
        return int(np.count_nonzero(~np.isnan(self.values(run_name, measure_name))))

    def is_over_different_queries(self, measure_name: str) -> bool:
        """Whether the measure is undefined for other queries in one run than in another.

        Such means are not compared: a run that leaves out its hardest queries would be the best. A
        run for which the measure is undefined everywhere has no mean, and does not count.
        """
        found = set()
        for run in self.run_names:
            defined = ~np.isnan(self.values(run, measure_name))
            if defined.any():
                ids = self.query_ids[run]
                found.add(frozenset(ids[place] for place in np.flatnonzero(defined)))
        return len(found) > 1

    def definition(self, measure_name: str) -> Definition:
        """A measure's definition, with the queries that this evaluation averaged over."""
        self._require(measure_name, self.measure_names, "measure")
        definition = self.measures[self.measure_names.index(measure_name)].definition
        return averaged_as(definition, self.missing)

    @cached_property
    def per_query(self) -> pl.DataFrame:
        """Long table ``run, query_id, measure, value``; undefined is null."""
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

    def _repr_html_(self) -> str:
        """The means, a row per run, for notebooks."""
        from trectools_plus.formats.notebook import html_table

        rows = []
        for run in self.run_names:
            shown = [self._show_mean(run, name) for name in self.measure_names]
            rows.append([run, *shown, str(len(self.query_ids[run]))])
        caption = f"Means over the queries (missing={self.missing})"
        return html_table(caption, ["Run", *self.measure_names, "Queries"], rows)

    def _show_mean(self, run: str, name: str) -> str:
        """The mean, with its number of queries where the runs' means are over different ones."""
        mean = self.mean(run, name)
        if math.isnan(mean):
            return "–"
        different = self.is_over_different_queries(name)
        return f"{mean:.4f} (n = {self.n(run, name)})" if different else f"{mean:.4f}"

    def to_pandas(self) -> pd.DataFrame:
        """``per_query`` as a pandas table; undefined is NaN."""
        return self.per_query.to_pandas()

    @staticmethod
    def _require(name: str, known: list[str], kind: str) -> None:
        if name not in known:
            raise UsageError(f"there is no {kind} {name!r}", remedy=f"there are {', '.join(known)}")


def averaged_as(definition: Definition, missing: Missing) -> Definition:
    """The definition with the averaging set that ``missing`` makes of it."""
    if definition.averaged_over != AVERAGED_OVER:
        return definition
    return replace(definition, averaged_over=_AVERAGED_OVER[missing])


_RELEVANT = "queries of the qrels with a document of grade 1 or more"
_AVERAGED_OVER: Mapping[Missing, str] = {
    "zero": f"{_RELEVANT}; a query without results counts 0",
    "drop": f"{_RELEVANT} and results in the run",
}
