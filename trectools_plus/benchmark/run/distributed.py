"""Given runs read, checked and written anew on the workers of a scheduler."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace

from trectools_plus.benchmark.run.dataset import Dataset
from trectools_plus.benchmark.run.mode_runs import Arm, read_arm
from trectools_plus.benchmark.run.output_folder import OutputFolder
from trectools_plus.distributed import Workers
from trectools_plus.distributed.files import Place, check_read, check_seen, place_of
from trectools_plus.errors import CheckFailedError, InputError, MissingExtraError
from trectools_plus.formats.files.atomic import atomic_write
from trectools_plus.formats.tables import Run
from trectools_plus.progress import Progress


@dataclass(frozen=True)
class Given:
    """A run that a benchmark was given.

    Attributes:
        name: Its name in the benchmark.
        path: The file as the user named it.
        place: Where a worker finds it.
    """

    name: str
    path: str
    place: Place


@dataclass(frozen=True)
class ArmReader:
    """Reads given runs, wherever it is.

    Attributes:
        dataset: What they are judged by.
    """

    dataset: Dataset

    def __call__(self, given: Given) -> tuple[Arm, bytes] | None:
        """The arm, and the content of the file that was written; ``None`` if it is refused.

        Raises:
            UsageError: If the file is not here, is another one, or cannot be read from here.
        """
        check_seen(given.path, given.place)
        with tempfile.TemporaryDirectory(prefix="trectools-plus-") as name:
            folder = OutputFolder(name)
            try:
                arm = read_arm(given.name, given.place.path, self.dataset, folder)
            except (CheckFailedError, InputError, MissingExtraError) as error:
                check_read(given.path, given.place, error)
                return None
            assert arm.info.path is not None
            return arm, (folder.partial / arm.info.path).read_bytes()


def read_on_workers(
    workers: Workers,
    runs: Mapping[str, str],
    dataset: Dataset,
    folder: OutputFolder,
    progress: Progress,
) -> dict[str, Arm]:
    """Read the runs that workers can read and that are not refused.

    Args:
        workers: Where.
        runs: By name, the files as the user named them.
        dataset: What they are judged by.
        folder: The benchmark's output folder; the runs are written into it.
        progress: Gets the number of runs that are done, as ``reading runs``.

    Returns:
        By name, as if each had been read here. One that is missing has to be read here: it is a
        pipe, or is refused.

    Raises:
        UsageError: If workers do not see or reach a file.
        InputError: If a file cannot be written, or the workers or the scheduler are lost.
    """
    given = [
        Given(name, path, place)
        for name, path in runs.items()
        if (place := place_of(path)) is not None
    ]

    def note(done: int) -> None:
        progress("reading runs", done, len(runs))

    found = workers.map(ArmReader(replace(dataset, corpus=None)), given, note)
    return {
        one.name: _take(one, *answer, folder)
        for one, answer in zip(given, found, strict=True)
        if answer is not None
    }


def _take(given: Given, arm: Arm, content: bytes, folder: OutputFolder) -> Arm:
    """Write the file here, and say of the arm where its files are."""
    assert arm.info.path is not None
    assert arm.info.source is not None
    with folder.naming(), atomic_write(folder.partial / arm.info.path, "wb") as file:
        file.write(content)
    source = arm.info.source.model_copy(update={"path": given.path})
    return replace(
        arm,
        run=Run(arm.run.frame, given.name, str(folder.path / arm.info.path)),
        info=arm.info.model_copy(update={"source": source}),
    )
