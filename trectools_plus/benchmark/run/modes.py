"""The runs of all modes of a benchmark, fetched or given."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from trectools_plus.benchmark.report import UnscoredMode
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.dataset import Dataset
from trectools_plus.benchmark.run.distributed import read_on_workers
from trectools_plus.benchmark.run.mode_runs import ModeRun, read_mode_run, write_mode_run
from trectools_plus.benchmark.run.output_folder import (
    COMPONENTS_FOLDER,
    QRELS_FILE,
    OutputFolder,
)
from trectools_plus.distributed import current_workers
from trectools_plus.errors import InputError
from trectools_plus.formats.tables import Run
from trectools_plus.formats.trec_files import write_qrels
from trectools_plus.progress import Progress
from trectools_plus.validation.views.qrels import QrelsView


@dataclass(frozen=True, slots=True, eq=False)
class Modes:
    """All modes of a benchmark.

    Attributes:
        scored: At least one mode that answered every query, by name.
        unscored: The other modes, for the report.
    """

    scored: dict[str, ModeRun]
    unscored: dict[str, UnscoredMode] = field(default_factory=dict)


def prepare_modes(
    config: BenchmarkConfig, dataset: Dataset, folder: OutputFolder, progress: Progress
) -> Modes:
    """Fetch or read the run of each mode and write it to ``runs/<mode>.run``.

    Args:
        config: The settings.
        dataset: The data.
        folder: The benchmark's output folder; filled, not published.
        progress: Called as ``progress(description, done, total)``.

    Returns:
        The modes in the configuration's order.

    Raises:
        FindingsError: If a rule that scoring depends on is broken.
        InputError: If a file cannot be read or written, or each mode failed for every query.
        CheckFailedError: If no mode answered every query.
    """
    with folder.final_names():
        # With the judgments beside the runs, other tools need only this folder.
        write_qrels(dataset.qrels, folder.partial / QRELS_FILE)
    if config.runs is None:
        return _fetch_modes(config, dataset, folder, progress)
    return Modes(_read_modes(config.runs, dataset, folder, progress))


def _fetch_modes(
    config: BenchmarkConfig, dataset: Dataset, folder: OutputFolder, progress: Progress
) -> Modes:
    # Imported here, because given runs do not need these modules.
    from trectools_plus.retrieval.fetch.answering import FetchOptions
    from trectools_plus.retrieval.fetch.fetch import FetchRequest, fetch_runs
    from trectools_plus.retrieval.fetch.outcome import SCORED, describe_failures, refuse_unscorable

    if dataset.topics is None or (dataset.corpus is None and config.is_embedded):
        raise InputError("nothing to search: no corpus or no topics", where=dataset.id)
    request = FetchRequest(
        dataset.corpus,
        dataset.topics,
        config.mode_keys,
        FetchOptions(config.depth, config.exclude_self, config.collapse),
        config.retrieval,
        config.make_backend(),
    )
    fetched = fetch_runs(request, leave_one_out=True, progress=progress)
    unscored = {
        mode: UnscoredMode(
            label=config.label(mode),
            status=run.status,
            reason=describe_failures(run),
            queries=len(run.latency_ms),
            failed_queries={query: failure.reason for query, failure in run.failures.items()},
        )
        for mode, run in fetched.items()
        if run.status not in SCORED
    }
    if len(unscored) == len(fetched):
        refuse_unscorable(fetched)
    scored = {
        mode: replace(
            write_mode_run(dataset, folder, Run(answer.run.frame, mode)),
            latency_ms=answer.latency_ms,
            index_key=" ".join(f"{name}:{key}" for name, key in answer.index_keys.items()) or None,
            without={
                component: write_mode_run(
                    dataset,
                    folder,
                    Run(run.frame, f"{mode}-without-{component}"),
                    COMPONENTS_FOLDER,
                )
                for component, run in answer.without.items()
            },
            cut_short=answer.cut_short,
        )
        for mode, answer in fetched.items()
        if mode not in unscored
    }
    return Modes(scored, unscored)


def _read_modes(
    given: dict[str, str], dataset: Dataset, folder: OutputFolder, progress: Progress
) -> dict[str, ModeRun]:
    read: dict[str, ModeRun] = {}
    if (workers := current_workers()) is not None:
        read = read_on_workers(workers, given, dataset, folder, progress)
    remaining = [name for name in given if name not in read]
    judged = QrelsView.of_table(dataset.qrels)
    for done, name in enumerate(remaining, len(read)):
        progress("reading runs", done, len(given))
        read[name] = read_mode_run(name, given[name], dataset, folder, judged)
    progress("reading runs", len(given), len(given))
    return {name: read[name] for name in given}
