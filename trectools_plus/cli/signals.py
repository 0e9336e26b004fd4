"""Signals that end a command: the command cleans up first, and ends soon even if it is busy."""

from __future__ import annotations

import atexit
import os
import signal
import threading
from time import sleep

from trectools_plus.plugins import SIGNALS, end_for_signal

_ENDINGS = ("SIGINT", "SIGTERM", "SIGHUP")
"""Sent by a user, a batch system or a closed terminal; not every system has all of them."""
_SECONDS = 2.0
"""Time for clean-up before the process is ended."""


def handle_signals() -> None:
    """Raise an error for a signal instead of ending the process at once.

    The error lets the command remove its temporary files, which can be as large as a run. User
    code may catch the error, be busy in C, or wait in a read that goes on after a signal, as it
    does once Polars is imported. Therefore a thread ends the process after some seconds.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    usual = (signal.SIG_DFL, signal.default_int_handler)
    for name in _ENDINGS:
        number = getattr(signal, name, None)
        # A signal that is ignored, as under nohup, stays ignored.
        if number is not None and signal.getsignal(number) in usual:
            signal.signal(number, end_for_signal)
            if hasattr(signal, "siginterrupt"):  # not on Windows
                signal.siginterrupt(number, True)
    if hasattr(os, "register_at_fork"):  # not on Windows
        _watch_signals()


def end_soon() -> None:
    """After a signal, end the process even if other threads still run; ignore further signals."""
    if SIGNALS:
        for name in _ENDINGS:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is end_for_signal:
                signal.signal(number, signal.SIG_IGN)
        threading.Thread(target=_end, args=[128 + SIGNALS[-1]], daemon=True).start()


def _watch_signals() -> None:
    """Start a thread that receives signals even while the main thread is busy in C."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    others = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    if others != -1:
        signal.set_wakeup_fd(others)
        os.close(reader)
        os.close(writer)
        return
    # The signals of a child do not concern this process.
    os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))
    threading.Thread(target=_watch, args=[reader], daemon=True).start()


def _watch(reader: int) -> None:
    while True:
        number = os.read(reader, 1)[0]
        if signal.getsignal(number) is end_for_signal:  # else a server handles the signal itself
            _end(128 + number)


def _end(code: int) -> None:
    """End the process after some seconds, if it still runs."""
    last = threading.Timer(2 * _SECONDS, os._exit, [code])
    last.daemon = True
    last.start()
    sleep(_SECONDS)
    atexit._run_exitfuncs()  # removes temporary folders
    os._exit(code)
