"""The work of requests: its description, and the object of a worker process that does it."""

from __future__ import annotations

import contextlib
import logging
import signal
import sys
from dataclasses import dataclass
from typing import Any, Literal

from trectools_plus.distributed.process import StoppedError
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats.files.limits import usable_memory
from trectools_plus.measures.evaluation import DEFAULT_MEASURES as SCORE_MEASURES
from trectools_plus.progress import Progress
from trectools_plus.service.api.evaluation import (
    DEFAULT_MEASURES,
    choose_measures,
    choose_mode,
    evaluate_test_set,
)
from trectools_plus.service.api.models import (
    EvaluateParameters,
    ScoreParameters,
    ValidateParameters,
)
from trectools_plus.service.api.search import Search
from trectools_plus.service.api.settings import ServiceSettings
from trectools_plus.service.api.snapshots import Snapshot
from trectools_plus.service.api.uploads import Upload
from trectools_plus.service.api.validate_and_score import score_uploads, validate_uploads
from trectools_plus.service.log import prepare_log
from trectools_plus.service.problems import ProblemError, as_problem, to_json

_LOG = logging.getLogger("trectools_plus.service")

TaskKind = Literal["evaluate", "validate", "score"]


@dataclass(frozen=True, slots=True)
class Task:
    """One request for work: plain values, so that it can be stored and sent.

    Attributes:
        kind: The kind of work.
        parameters: The parameters of the request, as JSON values.
        uploads: The uploads.
    """

    kind: TaskKind
    parameters: dict[str, Any]
    uploads: tuple[Upload, ...] = ()

    @property
    def needs_documents(self) -> bool:
        """True if the work searches the documents of the service."""
        return self.kind == "evaluate"

    @property
    def is_own(self) -> bool:
        """True if it evaluates the service's own test set."""
        return self.kind == "evaluate" and not self.uploads


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a task.

    Attributes:
        answer: The body of the response, as JSON.
        snapshot: The figures of an evaluation, otherwise ``None``.
    """

    answer: bytes
    snapshot: Snapshot | None = None


class Worker:
    """Does one task after the other, in a process of its own.

    The service ends a process that does not stop at once, so nothing here needs cleaning up:
    temporary files are in a folder that the service removes.

    Args:
        settings: The settings of the service.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # the service ends workers
            with contextlib.suppress(AttributeError, ValueError, OSError):
                signal.signal(getattr(signal, name), signal.SIG_IGN)
        prepare_log()
        _limit_memory(settings.limits.memory_bytes)
        self._settings = settings
        self._search = Search(settings)

    def open(self, progress: Progress) -> list[str]:
        """Open the documents, and return the modes.

        Raises:
            ProblemError: If they cannot be opened.
        """
        try:
            self._search.open(progress)
        except StoppedError:
            raise
        except TrectoolsPlusError as error:
            raise ProblemError(503, "not-ready", str(error)) from None
        except Exception as error:
            _LOG.exception("the documents cannot be opened")
            what = f"the documents cannot be opened: {type(error).__name__}"
            raise ProblemError(503, "not-ready", what) from None
        return list(self._search.documents.retrievers)

    def perform(self, task: Task, progress: Progress) -> Outcome:
        """Do a task.

        Raises:
            ProblemError: If the uploads are invalid, or the work fails.
            StoppedError: If the task was stopped.
        """
        try:
            progress("starting", 0, 1)
            return perform(task, self._search, self._settings, progress)
        except StoppedError:
            raise
        except MemoryError:
            raise ProblemError(
                422,
                "too-much-memory",
                "the work needs more memory than it may use",
                remedy="send less data",
            ) from None
        except Exception as error:
            raise as_problem(error) from None


def perform(task: Task, search: Search, settings: ServiceSettings, progress: Progress) -> Outcome:
    """Do a task in this process.

    Args:
        task: The task.
        search: The documents; open if the task needs them.
        settings: The settings of the service.
        progress: Called with the progress; can raise an exception to stop.

    Raises:
        ProblemError: If the uploads are invalid.
    """
    uploads, snapshot = list(task.uploads), None
    if task.kind == "validate":
        chosen = ValidateParameters(**task.parameters)
        answer = validate_uploads(uploads, chosen, settings.limits, progress)
    elif task.kind == "score":
        given = ScoreParameters(**task.parameters)
        measures = choose_measures(given.measures, SCORE_MEASURES)
        answer = score_uploads(uploads, measures, given, settings.limits, progress)
    else:
        asked = EvaluateParameters(**task.parameters)
        mode = choose_mode(asked.components, settings)
        measures = choose_measures(asked.measures, DEFAULT_MEASURES)
        test_set = uploads[0] if uploads else None
        answer, snapshot = evaluate_test_set(test_set, mode, measures, search, settings, progress)
    return Outcome(to_json(answer), snapshot)


def _limit_memory(limit: int | None) -> None:
    """Limit the private memory of this process, where the system can."""
    if sys.platform != "linux":
        return
    import resource

    if limit is None:
        limit = usable_memory() * 3 // 4
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
