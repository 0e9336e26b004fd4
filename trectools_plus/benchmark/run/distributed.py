"""Reading, checking and rewriting given runs on the workers of a scheduler."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace

from trectools_plus.benchmark.run.dataset import Dataset
from trectools_plus.benchmark.run.mode_runs import ModeRun, read_mode_run
from trectools_plus.benchmark.run.output_folder import OutputFolder
from trectools_plus.distributed import Executor, Place, check_read, check_seen, place_of
from trectools_plus.errors import CheckFailedError, InputError, MissingExtraError
from trectools_plus.formats.files.atomic import atomic_write
from trectools_plus.progress import Progress


@dataclass(frozen=True)
class GivenRun:
    """A run file named in the configuration.

    Attributes:
        name: Its name in the benchmark.
        path: The file as the user named it.
        place: Its location for a worker.
    """

    name: str
    path: str
    place: Place


@dataclass(frozen=True)
class RunReader:
    """A function for workers that reads a given run.

    Attributes:
        dataset: Judgments and topics of the runs.
    """

    dataset: Dataset

    def __call__(self, given: GivenRun) -> tuple[ModeRun, bytes] | None:
        """Return the mode and the content of the written file; ``None`` if the run is refused.

        Raises:
            UsageError: If the worker does not see the file, sees another one, or cannot read it.
        """
        check_seen(given.path, given.place)
        with tempfile.TemporaryDirectory(prefix="trectools-plus-") as name:
            folder = OutputFolder(name)
            try:
                mode = read_mode_run(given.name, given.place.path, self.dataset, folder)
            except (CheckFailedError, InputError, MissingExtraError) as error:
                check_read(given.path, given.place, error)
                return None
            assert mode.info.path is not None
            return mode, (folder.partial / mode.info.path).read_bytes()


def read_on_workers(
    workers: Executor,
    runs: Mapping[str, str],
    dataset: Dataset,
    folder: OutputFolder,
    progress: Progress,
) -> dict[str, ModeRun]:
    """Read the runs that workers can read and that are not refused.

    Args:
        workers: The workers.
        runs: By name, the files as the user named them.
        dataset: Judgments and topics of the runs.
        folder: The benchmark's output folder; the runs are written into it.
        progress: Called with ``reading runs`` and the number of runs that are done.

    Returns:
        The runs by name, as if this process had read them. Runs that are missing here are pipes
        or were refused; the caller reads them itself.

    Raises:
        UsageError: If workers do not see or reach a file.
        InputError: If a file cannot be written, or the workers or the scheduler are lost.
    """
    given = [
        GivenRun(name, path, place)
        for name, path in runs.items()
        if (place := place_of(path)) is not None
    ]
    found = workers.map(
        RunReader(replace(dataset, corpus=None)),
        given,
        lambda done: progress("reading runs", done, len(runs)),
    )
    return {
        one.name: _receive(one, *answer, folder)
        for one, answer in zip(given, found, strict=True)
        if answer is not None
    }


def _receive(given: GivenRun, mode: ModeRun, content: bytes, folder: OutputFolder) -> ModeRun:
    """Write a worker's file into the output folder, and correct the paths of the mode."""
    assert mode.info.path is not None
    assert mode.info.source is not None
    with folder.final_names(), atomic_write(folder.partial / mode.info.path, "wb") as file:
        file.write(content)
    source = mode.info.source.model_copy(update={"path": given.path})
    return replace(
        mode,
        run=replace(mode.run, name=given.name, path=str(folder.path / mode.info.path)),
        info=mode.info.model_copy(update={"source": source}),
    )
