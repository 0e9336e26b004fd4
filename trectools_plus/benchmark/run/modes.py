"""All modes of a benchmark, fetched or given, as run files."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from trectools_plus.benchmark.report import UnscoredMode
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.dataset import Dataset
from trectools_plus.benchmark.run.mode_runs import Arm, read_arm, write_arm
from trectools_plus.benchmark.run.output_folder import COMPONENTS_FOLDER, QRELS_FILE, OutputFolder
from trectools_plus.distributed import current_workers
from trectools_plus.errors import InputError
from trectools_plus.formats.tables import Run
from trectools_plus.progress import Progress


@dataclass(frozen=True, slots=True, eq=False)
class Arms:
    """All modes of a benchmark.

    Attributes:
        scored: Those that answered every query, at least one.
        unscored: Those that did not, for the report.
    """

    scored: dict[str, Arm]
    unscored: dict[str, UnscoredMode] = field(default_factory=dict)


def make_arms(
    config: BenchmarkConfig, dataset: Dataset, folder: OutputFolder, progress: Progress
) -> Arms:
    """Fetch or read every mode's run and write it to ``runs/<mode>.run``.

    Args:
        config: What to do.
        dataset: The data.
        folder: The benchmark's output folder; filled, not published.
        progress: Told of the work done.

    Returns:
        By mode, in the configuration's order.

    Raises:
        FindingsError: If a run holds what scoring refuses.
        InputError: If a file cannot be read or written, or no mode answered every query.
        CheckFailedError: If none did, but one of them some.
    """
    from trectools_plus.formats.qrels import write_qrels

    with folder.naming():
        # The judgments beside the runs, so that the folder is all another tool needs.
        write_qrels(dataset.qrels, folder.partial / QRELS_FILE)
    if config.runs is None:
        return _fetch_arms(config, dataset, folder, progress)
    return Arms(_read_arms(config, dataset, folder, progress))


def _fetch_arms(
    config: BenchmarkConfig, dataset: Dataset, folder: OutputFolder, progress: Progress
) -> Arms:
    from trectools_plus.retrieval.fetch.answering import FetchOptions
    from trectools_plus.retrieval.fetch.fetch import FetchRequest, fetch_runs
    from trectools_plus.retrieval.fetch.outcome import SCORED, describe_failures, refuse_unscorable

    if dataset.topics is None or (dataset.corpus is None and config.is_embedded):
        raise InputError("nothing to search: no corpus or no topics", where=dataset.id)
    request = FetchRequest(
        dataset.corpus,
        dataset.topics,
        config.modes,
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
            write_arm(
                dataset,
                folder,
                Run(answer.run.frame, mode),
                latency_ms=answer.latency_ms,
                index_key=" ".join(f"{name}:{key}" for name, key in answer.index_keys.items())
                or None,
            ),
            without={
                component: write_arm(
                    dataset,
                    folder,
                    Run(run.frame, f"{mode}-without-{component}"),
                    subfolder=COMPONENTS_FOLDER,
                )
                for component, run in answer.without.items()
            },
        )
        for mode, answer in fetched.items()
        if mode not in unscored
    }
    return Arms(scored, unscored)


def _read_arms(
    config: BenchmarkConfig, dataset: Dataset, folder: OutputFolder, progress: Progress
) -> dict[str, Arm]:
    given = config.runs or {}
    arms: dict[str, Arm] = {}
    if (workers := current_workers()) is not None:
        from trectools_plus.benchmark.run.distributed import read_on_workers

        arms = read_on_workers(workers, given, dataset, folder, progress)
    left = [name for name in given if name not in arms]
    for done, name in enumerate(left, len(arms)):
        progress("reading runs", done, len(given))
        arms[name] = read_arm(name, given[name], dataset, folder)
    progress("reading runs", len(given), len(given))
    return {name: arms[name] for name in given}
