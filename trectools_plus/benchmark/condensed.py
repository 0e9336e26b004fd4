"""Shares of judged documents in two reports, and scores without unjudged documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trectools_plus.benchmark.report.folder import ReportFolder
from trectools_plus.errors import InputError
from trectools_plus.formats.tables import Run
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.definitions.builtin import Judged
from trectools_plus.measures.evaluation import JUDGED, Evaluation, score_runs
from trectools_plus.measures.judged import (
    has_few_judged,
    has_nonrelevant,
    notes_on_judges,
    notes_on_unjudged,
)
from trectools_plus.statistics.scores import PairedScores


@dataclass(frozen=True, slots=True)
class JudgedShares:
    """The shares of judged documents among the first ten, in two reports on the same judgments.

    Attributes:
        sources: The baseline and the current report, with the same modes.
        by_mode: The shares in the baseline and in the current report; empty if no document is
            judged as not relevant.
        notes: Notes on the judgments and on these shares.
    """

    sources: tuple[ReportFolder, ReportFolder]
    by_mode: dict[str, tuple[float, float]]
    notes: list[str]

    @classmethod
    def of(cls, baseline: ReportFolder, current: ReportFolder) -> JudgedShares:
        """Compare two reports of the same modes."""
        try:
            qrels = current.read_qrels()
            notes, pooled = notes_on_judges(qrels), has_nonrelevant(qrels)
        except InputError:
            notes, pooled = [], current.report.pool is not None
        by_mode: dict[str, tuple[float, float]] = {}
        for mode in baseline.report.modes:
            reports = baseline.report, current.report
            before, after = (one.modes[mode].diagnostics.judged.get(JUDGED) for one in reports)
            if pooled and before is not None and after is not None:
                by_mode[mode] = before, after
                label = current.report.modes[mode].label
                shares = {f"{label} (baseline)": before, f"{label} (current)": after}
                notes += notes_on_unjudged(shares)
        return cls((baseline, current), by_mode, notes)

    def may_explain(self, mode: str, measure: Measure) -> bool:
        """Return whether unjudged documents may be the reason for a mode's lower mean."""
        counts_unjudged = measure.sees_unjudged or isinstance(measure, Judged)
        return (
            mode in self.by_mode
            and has_few_judged(self.by_mode[mode])
            and measure.aggregate == "mean"
            and not counts_unjudged
        )

    def condense(
        self, pairs: Sequence[PairedScores], measures: Sequence[Measure]
    ) -> list[PairedScores]:
        """Return scores without the unjudged documents of both runs, for the same queries.

        Args:
            pairs: The scores with all documents.
            measures: The measure of each.

        Raises:
            InputError: If runs or judgments are missing, or not those of the report.
        """
        modes = list(dict.fromkeys(pair.contrast for pair in pairs))
        scores = [_score_condensed(source, modes, measures) for source in self.sources]
        condensed = []
        for pair, measure in zip(pairs, measures, strict=True):
            shared, values = pair.shared, []
            for one in scores:
                ids = one.query_ids[pair.contrast]
                place = {query_id: row for row, query_id in enumerate(ids)}
                rows = [place[query_id] for query_id in shared.ids]
                values.append(one.values(pair.contrast, measure.name)[rows])
            condensed.append(replace(shared, before=values[0], after=values[1]))
        return condensed


def _score_condensed(
    source: ReportFolder, modes: Sequence[str], measures: Sequence[Measure]
) -> Evaluation:
    """Score runs without unjudged documents; a query without any other document counts 0."""
    qrels = source.read_qrels()
    judged = qrels.frame.select("query_id", "doc_id")
    runs = {}
    for mode in modes:
        frame = source.read_run(mode).frame
        runs[mode] = Run(frame.join(judged, on=["query_id", "doc_id"], how="semi"), mode)
    averaging = source.report.manifest.averaging._replace(missing="zero")
    distinct = list({measure.name: measure for measure in measures}.values())
    return score_runs(qrels, runs, source.config.bind_measures(distinct), averaging)
