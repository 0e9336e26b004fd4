"""The main program of a worker process: it does one task after the other.

The service ends a worker that does not stop at once, so nothing here needs cleaning up: temporary
files are in a folder that the service removes.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import traceback
from queue import SimpleQueue
from time import monotonic
from typing import IO, Any

from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.service.jobs.messages import Message, receive, send
from trectools_plus.service.jobs.task import Outcome, StoppedError, Task
from trectools_plus.service.log import prepare_log
from trectools_plus.service.problems import ProblemError, as_problem, to_json

_REPORT_SECONDS = 0.05
"""The time between two messages about progress."""
_ALARM_SECONDS = 30


def main() -> None:
    """Do tasks until the service closes the pipe."""
    # Output of libraries must not get between the messages.
    messages = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # a terminal sends them; the service ends workers
        with contextlib.suppress(AttributeError, ValueError, OSError):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    prepare_log()
    first = receive(sys.stdin.buffer)
    if first is None:
        return
    settings = first[1]
    _limit_memory(settings.limits.memory_bytes)
    worker = _Worker(settings, messages)
    send(messages, ("started",))
    worker.run()


def _limit_memory(limit: int | None) -> None:
    """Limit the private memory of this process, where the system can."""
    if sys.platform != "linux":
        return
    import resource

    from trectools_plus.formats.files.limits import usable_memory

    if limit is None:
        limit = usable_memory() * 3 // 4
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


class _Worker:
    """Receives messages in a thread, and does the work in the main thread.

    Args:
        settings: The settings of the service.
        messages: The pipe to the service.
    """

    def __init__(self, settings: Any, messages: IO[bytes]) -> None:
        from trectools_plus.service.api.search import Search
        from trectools_plus.service.api.work import perform

        self._perform = perform
        self._settings = settings
        self._search = Search(settings)
        self._messages = messages
        self._stop = threading.Event()
        self._given: SimpleQueue[Message] = SimpleQueue()
        self._reported = 0.0

    def run(self) -> None:
        threading.Thread(target=self._listen, daemon=True).start()
        while True:
            message = self._given.get()
            if message[0] == "open":
                self._open()
            else:
                _, task, seconds = message
                with _alarm(seconds):
                    send(self._messages, self._do(task))

    def _listen(self) -> None:
        while (message := receive(sys.stdin.buffer)) is not None:
            if message[0] == "stop":
                self._stop.set()
            else:
                self._stop.clear()
                self._given.put(message)
        os._exit(0)  # the service has ended

    def _open(self) -> None:
        def report(description: str, done: int, total: int) -> None:
            send(self._messages, ("loading", f"{description}, {done} of {total}"))

        try:
            self._search.open(report)
        except TrectoolsPlusError as error:
            send(self._messages, ("unopened", str(error)))
        except Exception as error:
            traceback.print_exc()
            what = f"the documents cannot be opened: {type(error).__name__}"
            send(self._messages, ("unopened", what))
        else:
            send(self._messages, ("opened", list(self._search.documents.retrievers)))

    def _do(self, task: Task) -> Message:
        try:
            self._reported = 0.0
            self._report("starting", 0, 1)
            answer, snapshot = self._perform(task, self._search, self._settings, self._report)
            return "done", Outcome(to_json(answer), snapshot)
        except StoppedError:
            return ("stopped",)
        except MemoryError:
            error = ProblemError(
                422,
                "too-much-memory",
                "the work needs more memory than it may use",
                remedy="send less data",
            )
            return "failed", error.problem, error.headers, None
        except Exception as unknown:
            error = as_problem(unknown, log=False)
            text = traceback.format_exc() if error.problem.status == 500 else None
            return "failed", error.problem, error.headers, text

    def _report(self, description: str, done: int, total: int) -> None:
        if self._stop.is_set():
            raise StoppedError
        now = monotonic()
        if now - self._reported > _REPORT_SECONDS:
            self._reported = now
            send(self._messages, ("progress", description, done, total))


@contextlib.contextmanager
def _alarm(seconds: float) -> Any:
    """Let the system end this process if the service does not, for example after ``kill -9``."""
    if not hasattr(signal, "alarm"):  # Windows
        yield
        return
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(min(int(seconds) + _ALARM_SECONDS, 1 << 30))
    try:
        yield
    finally:
        signal.alarm(0)


if __name__ == "__main__":
    main()
