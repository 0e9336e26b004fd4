"""Timing pairs of tasks, A B A B …: a ratio of two taken a moment apart hardly depends on when."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HEADER = f"{'':46} {'other s':>8} {'ours s':>8} {'ratio':>7} {'from–to':>12} {'peak MiB':>13}  goal"


@dataclass(frozen=True)
class Spent:
    """Time in seconds, and peak memory if the task had its own process."""

    seconds: float
    peak_mib: float | None = None


Task = Callable[[], Spent]


@dataclass(frozen=True)
class Row:
    """A task beside its yardstick.

    The ratio is how many times the yardstick's time ours takes, at most ``goal``; or, with
    ``times_as_fast``, how many times ours goes into the yardstick's time, at least ``goal``.
    """

    name: str
    yardstick: Task
    task: Task
    goal: float | None = None
    times_as_fast: bool = False

    def ratio(self, yardstick: Spent, task: Spent) -> float:
        ratio = task.seconds / yardstick.seconds
        return 1 / ratio if self.times_as_fast else ratio

    def verdict(self, ratio: float) -> str:
        if self.goal is None:
            return ""
        met = ratio >= self.goal if self.times_as_fast else ratio <= self.goal
        return f"{'≥' if self.times_as_fast else '≤'} {self.goal:.1f} {'ok' if met else 'MISSED'}"


def process(command: list[str]) -> Task:
    """A task in a new process; output and exit code are ignored."""

    def run() -> Spent:
        begin = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert child.stderr is not None
        _, errors = child.communicate() if os.name == "nt" else (None, child.stderr.read())
        usage = None if os.name == "nt" else os.wait4(child.pid, 0)[2]
        seconds = time.perf_counter() - begin
        if b"Traceback" in errors:
            sys.exit(errors.decode())
        return Spent(seconds, usage and usage.ru_maxrss / 1024)

    return run


def in_process(call: Callable[[], object]) -> Task:
    """A task in this process."""

    def run() -> Spent:
        begin = time.perf_counter()
        kept = call()
        seconds = time.perf_counter() - begin
        del kept
        return Spent(seconds)

    return run


def measure(row: Row, rounds: int) -> str:
    """Run a row's two tasks in turn, and word the result as a line of the table."""
    pairs = [(row.yardstick(), row.task()) for _ in range(rounds)]
    ratios = [row.ratio(*pair) for pair in pairs]
    ratio = statistics.median(ratios)
    times = [statistics.median(pair[side].seconds for pair in pairs) for side in (0, 1)]
    peaks = [max(pair[side].peak_mib or 0 for pair in pairs) for side in (0, 1)]
    memory = f"{peaks[0]:6,.0f} {peaks[1]:6,.0f}" if all(peaks) else f"{'':13}"
    spread = f"{min(ratios):.2f}–{max(ratios):.2f}"
    figures = f"{times[0]:8.3f} {times[1]:8.3f} {ratio:7.2f} {spread:>12} {memory}"
    return f"{row.name:46} {figures}  {row.verdict(ratio)}".rstrip()


def script(name: str) -> str:
    """A console command of this environment."""
    return str(Path(sysconfig.get_path("scripts")) / name)
