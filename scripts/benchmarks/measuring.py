"""Timing pairs of tasks, A B A B …: a ratio of two taken a moment apart hardly depends on when."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_LAUNCHER = Path(__file__).with_name("launcher.py")
HEADER = f"{'':46} {'other s':>8} {'ours s':>8} {'ratio':>7} {'from–to':>12} {'peak MiB':>13}  goal"

HAS_PSS = Path("/proc/self/smaps_rollup").exists()
"""Whether the system reports proportional set sizes, which `peak_pss_mib` needs."""
SECONDS_BETWEEN_SAMPLES = 0.01


@dataclass(frozen=True)
class Spent:
    """What a task took.

    Attributes:
        seconds: The time that passed.
        processor_seconds: The time of all processors, if the task had its own process.
        peak_mib: The peak memory, if the task had its own process.
    """

    seconds: float
    processor_seconds: float | None = None
    peak_mib: float | None = None


Task = Callable[[], Spent]


@dataclass(frozen=True)
class Row:
    """A task beside its yardstick.

    The ratio is how many times the yardstick's time ours takes, at most ``goal``; or, with
    ``times_as_fast``, how many times ours goes into the yardstick's time, at least ``goal``. Times
    are of the clock, or of all processors with ``of_processors``.
    """

    name: str
    yardstick: Task
    task: Task
    goal: float | None = None
    times_as_fast: bool = False
    of_processors: bool = False

    def seconds(self, spent: Spent) -> float:
        """Return the time that counts."""
        if not self.of_processors:
            return spent.seconds
        assert spent.processor_seconds is not None
        return spent.processor_seconds

    def ratio(self, yardstick: Spent, task: Spent) -> float:
        """Return the ratio of a pair."""
        ratio = self.seconds(task) / self.seconds(yardstick)
        return 1 / ratio if self.times_as_fast else ratio

    def verdict(self, ratio: float) -> str:
        """Return the goal, and whether the ratio meets it."""
        if self.goal is None:
            return ""
        met = ratio >= self.goal if self.times_as_fast else ratio <= self.goal
        return f"{'≥' if self.times_as_fast else '≤'} {self.goal:.4g} {'ok' if met else 'MISSED'}"

    def measure(self, rounds: int) -> str:
        """Run the two tasks in turn, and word the result as a line of the table."""
        pairs = [(self.yardstick(), self.task()) for _ in range(rounds)]
        ratios = [self.ratio(*pair) for pair in pairs]
        ratio = statistics.median(ratios)
        times = [statistics.median(self.seconds(pair[side]) for pair in pairs) for side in (0, 1)]
        peaks = [max(pair[side].peak_mib or 0 for pair in pairs) for side in (0, 1)]
        memory = f"{peaks[0]:6,.0f} {peaks[1]:6,.0f}" if all(peaks) else f"{'':13}"
        spread = f"{min(ratios):.2f}–{max(ratios):.2f}"
        figures = f"{times[0]:8.3f} {times[1]:8.3f} {ratio:7.2f} {spread:>12} {memory}"
        return f"{self.name:46} {figures}  {self.verdict(ratio)}".rstrip()


@dataclass(frozen=True)
class Limits:
    """A task with the highest value that each of its figures may have.

    Attributes:
        name: The task.
        task: Returns its figures by name, for example ``{"s": 2.1, "MiB": 250}``.
        highest: The limits, by the same names.
    """

    name: str
    task: Callable[[], Mapping[str, float]]
    highest: Mapping[str, float]

    def measure(self, rounds: int) -> str:
        """Run the task several times, and word the medians as a line of the table."""
        found = [self.task() for _ in range(rounds)]
        figures = []
        for unit, limit in self.highest.items():
            value = statistics.median(one[unit] for one in found)
            verdict = "ok" if value <= limit else "MISSED"
            figures.append(f"{value:.4g} {unit} (≤ {limit:.4g} {verdict})")
        return f"{self.name:46} {', '.join(figures)}"


Line = Row | Limits
"""A line of the table."""


def process(command: Sequence[str | Path]) -> Task:
    """A task in a new process; output is ignored, and exit code 1."""

    def run() -> Spent:
        done = subprocess.run(
            [sys.executable, "-S", _LAUNCHER, *map(str, command)],
            check=True,
            stdout=subprocess.PIPE,
            cwd=tempfile.gettempdir(),  # some tools write a log there
        )
        return Spent(**json.loads(done.stdout))

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


def script(name: str) -> str:
    """A console command of this environment."""
    return str(Path(sysconfig.get_path("scripts")) / name)


def peak_pss_mib(command: Sequence[str | Path]) -> float:
    """Run a command, ignoring its output, and return its peak memory with all its processes.

    It is the highest sum of their proportional set sizes, in which a page that several processes
    share counts once. The system reports them only for the present moment, so this is a sample.
    """
    peak = 0
    with subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        while process.poll() is None:
            peak = max(peak, sum(map(_pss_kib, _tree(process.pid))))
            time.sleep(SECONDS_BETWEEN_SAMPLES)
    return peak / 1024


def _tree(pid: int) -> list[int]:
    """Return a process and its descendants."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def _pss_kib(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8")
    except OSError:  # it has ended
        return 0
    return int(text.partition("\nPss:")[2].split()[0]) if "\nPss:" in text else 0
