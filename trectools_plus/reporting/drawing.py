"""Draw the plots of a report in another process, which starts before the benchmark runs.

Importing Matplotlib and drawing take most of the time of a small benchmark. The process imports it
while the benchmark searches and computes, and draws while this process writes the page.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec
from types import TracebackType
from typing import Self

Images = dict[str, bytes]
"""The content of image files by name."""
Draw = Callable[[], Images]

_COMMAND = (
    "import sys; sys.path[:] = {}; from trectools_plus.reporting.drawing import serve; serve()"
)


def can_draw() -> bool:
    """Return whether Matplotlib, which the extra ``plots`` installs, is available."""
    return find_spec("matplotlib") is not None


class DrawingProcess:
    """A process that draws the plots of one report, unless there is only one processor.

    The process starts when the context is entered, and has ended when it is left. If it fails for
    any reason, the plots are drawn in this process, with the same result.

    Args:
        plots: Start the process; by default if Matplotlib is installed.
    """

    def __init__(self, plots: bool | None = None) -> None:
        self._wanted = plots is not False and can_draw()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._draw: Draw = dict
        self._answer = b""

    def __enter__(self) -> Self:
        if self._wanted and _processors() > 1 and sys.executable and not hasattr(sys, "frozen"):
            with contextlib.suppress(OSError):
                self._process = subprocess.Popen(
                    [sys.executable, "-c", _COMMAND.format(sys.path)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is None:
            return
        self._process.kill()
        if self._thread is None:
            self._process.communicate()
        else:
            self._thread.join()

    def start(self, draw: Draw) -> None:
        """Start drawing.

        Args:
            draw: A function that can be pickled with everything that it needs.
        """
        self._draw = draw
        process = self._process
        if process is None:
            return
        try:
            request = pickle.dumps(draw)
        except Exception:  # objects of users can raise any error
            return

        def exchange() -> None:
            with contextlib.suppress(OSError, ValueError):
                self._answer, _ = process.communicate(request)

        # The process reads the request after its imports.
        self._thread = threading.Thread(target=exchange, daemon=True)
        self._thread.start()

    def finish(self) -> Images:
        """Wait for the images."""
        if self._process is not None and self._thread is not None:
            self._thread.join()
            if self._process.returncode == 0:
                images: Images = pickle.loads(self._answer)
                return images
        return self._draw()


def _processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def serve() -> None:
    """Draw the request that arrives on standard input, and write the images to standard output."""
    # A terminal sends Ctrl-C to all its processes; the benchmark ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    output, sys.stdout = sys.stdout.buffer, sys.stderr  # nothing else may write there
    gc.disable()  # the process ends soon
    from trectools_plus.reporting.plots.figures import prepare_drawing

    prepare_drawing()
    request = sys.stdin.buffer.read()
    if not request:
        return
    draw: Draw = pickle.loads(request)
    output.write(pickle.dumps(draw()))
    output.flush()
    os._exit(0)  # freeing memory takes longer
