"""Run another commit and the working tree on the same inputs, and list what differs.

The inputs are the cases of `tests/contract`: fixtures, and real data in the folder that
TRECTOOLS_PLUS_SHARED_DATA names. The two versions run each command alternately, in new processes.
Listed are

- every difference in figures, keys, codes, exit codes, files, commands and options, without times,
  versions, paths and texts that may be reworded;
- the ratios of processor time and peak memory by command, the working tree over the other commit.
  The least of several rounds counts, and up to 5% counts as noise.

Exit code 0: nothing differs but time and memory; 1: something does; 2: no such commit or case.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/contract"))

from harness.cases import CASES, Case
from harness.help_pages import command_tree
from harness.malformed import describe_malformed
from harness.normal import differences
from harness.observe import observe, prepare
from harness.program import SETTINGS, Done, Program
from other_commit import NoSuchCommitError, install

NOISE = 0.05
ENOUGH_SECONDS = 5.0
"""Cases that take longer are not repeated."""
MEBIBYTE = 1024.0
NEW, OTHER = "working tree", "other commit"


@dataclass
class Version:
    """An installed version, and the time and memory of its commands.

    Args:
        name: How it is called in the output.
        python: The interpreter of its environment.
        folder: Where its cases run.
        variables: Further environment variables.
    """

    name: str
    python: Path
    folder: Path
    variables: dict[str, str]
    seconds: dict[str, float] = field(default_factory=dict)
    mebibytes: dict[str, float] = field(default_factory=dict)
    folders: dict[str, Path] = field(default_factory=dict)

    @property
    def cache(self) -> Path:
        """The folder for its indexes."""
        return self.folder / "cache"

    def __call__(self, command: str, folder: Path) -> Done:
        """Run a command line in a new process, and note its time and peak memory."""
        words = shlex.split(command)
        paths = [self.folder / name for name in ("stdout", "stderr")]
        environment = {**os.environ, **SETTINGS, **self.variables}
        with ExitStack() as stack:
            stdout, stderr = (stack.enter_context(path.open("wb")) for path in paths)
            process = subprocess.Popen(
                [self.python.parent / words[0], *words[1:]],
                cwd=folder,
                env={**environment, "TRECTOOLS_PLUS_CACHE": str(self.cache)},
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
            )
            _, status, usage = os.wait4(process.pid, 0)
        # Other work on the machine affects wall-clock time far more than processor time.
        seconds = usage.ru_utime + usage.ru_stime
        process.returncode = os.waitstatus_to_exitcode(status)
        peak = usage.ru_maxrss / MEBIBYTE
        self.seconds[command] = min(seconds, self.seconds.get(command, seconds))
        self.mebibytes[command] = min(peak, self.mebibytes.get(command, peak))
        return Done(process.returncode, paths[0].read_bytes(), paths[1].read_text("utf-8"))

    def run(self, case: Case, shared: Path | None, number: int) -> tuple[dict[str, Any], float]:
        """Run a case, and return its results and its times."""
        folder = self.folder / f"round-{number}" / case.name
        folder.parent.mkdir(exist_ok=True)
        prepare(case, folder, shared if "shared" in case.needs else None, self.folders)
        self.folders.setdefault(case.name, folder)
        start = time.perf_counter()
        document = observe(case, folder, self, self.cache)
        return document, time.perf_counter() - start


# ---------------------------------------------------------------- comparing


def compare_cases(
    old: Version, new: Version, cases: list[Case], shared: Path | None, rounds: int
) -> Iterator[str]:
    """Run cases with both versions in turns, and list the differences."""
    for case in cases:
        exact = replace(case, fresh=False)  # one processor: scores are the same to the last bit
        for number in range(rounds):
            order = (old, new) if number % 2 == 0 else (new, old)  # neither is always the first
            found = {version.name: version.run(exact, shared, number) for version in order}
            if number == 0:
                pair = (found[version.name][0] for version in (old, new))
                yield from map(str, differences(*pair, at=case.name))
            if found[new.name][1] > ENOUGH_SECONDS:
                break
        print(f"ran {case.name}", file=sys.stderr)


def compare_listings(old: Version, new: Version, shared: Path | None) -> Iterator[str]:
    """List the differences of commands and options, and of the findings in malformed files."""
    found: list[dict[str, Any]] = []
    for version in (old, new):
        folder = version.folder / "listings"
        folder.mkdir()
        with Program(folder, version.variables, str(version.python)) as program:
            document: dict[str, Any] = {"commands": command_tree(program, folder)}
            for name in ("malformed", "malformed_topics") if shared is not None else ():
                assert shared is not None
                (folder / name).mkdir()
                document[name] = describe_malformed(program, shared / name, folder / name)
        found.append(document)
    yield from map(str, differences(*found))


def ratios(old: Version, new: Version) -> Iterator[str]:
    """List the commands whose time or memory changed by more than noise."""
    for command, seconds in new.seconds.items():
        before = old.seconds[command]
        memory, memory_before = new.mebibytes[command], old.mebibytes[command]
        ratio, memory_ratio = seconds / before, memory / memory_before
        if max(abs(ratio - 1), abs(memory_ratio - 1)) > NOISE:
            yield (
                f"{ratio:5.2f} × {before:7.3f} s  {memory_ratio:5.2f} × {memory_before:6.0f} MiB  "
                f"{command[:100]}"
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("ref", help="the other commit: a branch, tag or hash")
    parser.add_argument(
        "--case", action="append", choices=CASES, metavar="NAME", help="only this one; repeatable"
    )
    parser.add_argument("--rounds", type=int, default=3, help="runs of each short case (3)")
    options = parser.parse_args()
    try:
        other = install(options.ref)
    except NoSuchCommitError as error:
        print(f"error: {error}")
        return 2
    given = os.environ.get("TRECTOOLS_PLUS_SHARED_DATA")
    shared = Path(given).resolve() if given else None
    cases = selected(options.case or [*CASES], shared)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        variables = catalogue_in(folder, shared)
        pythons = {OTHER: other, NEW: Path(sys.executable)}
        versions = {}
        for name, python in pythons.items():
            (folder / name).mkdir()
            versions[name] = Version(name, python, folder / name, variables)
        old, new = versions[OTHER], versions[NEW]
        lines = [*compare_cases(old, new, cases, shared, options.rounds)]
        if not options.case:
            lines += compare_listings(old, new, shared)
    print(f"{len(lines)} differences from {options.ref}, in {len(cases)} cases")
    print("".join(f"  {line}\n" for line in lines), end="")
    changed = [*ratios(old, new)]
    print(
        f"{len(changed)} of {len(new.seconds)} commands: time or memory differs by over {NOISE:.0%}"
    )
    print("".join(f"  {line}\n" for line in changed), end="")
    for what, before, now in (
        ("time", sum(old.seconds.values()), sum(new.seconds.values())),
        ("memory", max(old.mebibytes.values()), max(new.mebibytes.values())),
    ):
        unit = "s for all commands" if what == "time" else "MiB at most"
        print(f"{what}: {now / before:.2f} ×, {before:.1f} → {now:.1f} {unit}")
    return int(bool(lines))


def catalogue_in(folder: Path, shared: Path | None) -> dict[str, str]:
    """Copy the catalogue of `ir_datasets` in shared data, and return the variable that names it."""
    if shared is None:
        return {}
    home = shutil.copytree(
        shared / "ir_datasets_home", folder / "ir_datasets", copy_function=shutil.copyfile
    )
    for path in (home, *home.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)
    return {"IR_DATASETS_HOME": str(home)}


def selected(names: list[str], shared: Path | None) -> list[Case]:
    """Return the cases that can run here, each after those that it needs."""
    ordered: dict[str, Case] = {}

    def add(name: str) -> None:
        case = CASES[name]
        modules = [need for need in case.needs if need != "shared"]
        missing = [module for module in modules if find_spec(module) is None]
        if missing or ("shared" in case.needs and shared is None):
            print(
                f"skipped {name}: no {', '.join(missing) or 'TRECTOOLS_PLUS_SHARED_DATA'}",
                file=sys.stderr,
            )
            return
        for earlier in case.after:
            add(earlier)
        ordered.setdefault(name, case)

    for name in names:
        add(name)
    return list(ordered.values())


if __name__ == "__main__":
    sys.exit(main())
