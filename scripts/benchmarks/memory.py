"""Peak memory of a command and all its processes (Linux): the sum of their proportional set sizes.

A page that several processes share counts once in this sum. The files of the system report it only
for the present moment, so the peak is that of samples.

    python scripts/benchmarks/memory.py trectools-plus eval qrels.txt run.txt
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

_SECONDS = 0.01
"""The time between samples."""


def peak_pss_mib(command: Sequence[str | Path]) -> float:
    """Run a command, ignoring its output, and return the highest sum in MiB."""
    peak = 0
    with subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        while process.poll() is None:
            peak = max(peak, sum(map(_pss_kib, _tree(process.pid))))
            time.sleep(_SECONDS)
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


if __name__ == "__main__":
    print(f"{peak_pss_mib(sys.argv[1:]):,.0f} MiB")
