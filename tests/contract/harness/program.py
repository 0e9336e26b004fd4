"""The installed commands, run in one warm process."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

SETTINGS = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "GITHUB_STEP_SUMMARY": ""}
"""Environment variables that affect the output, the same for every command."""


@dataclass(frozen=True)
class Done:
    """The output and exit code of a command."""

    code: int
    stdout: bytes
    stderr: str

    @property
    def text(self) -> str:
        """The standard output as text."""
        return self.stdout.decode()


@dataclass(frozen=True)
class Call:
    """A command line and where it runs, without a shell.

    Attributes:
        command: The command line, or its words.
        folder: The working directory.
        stdin: The file that the command reads as standard input.
        processors: The number of processors that the command may use; ``None`` for all.
        variables: Further environment variables.
    """

    command: str | Sequence[object]
    folder: Path
    stdin: Path = Path(os.devnull)
    processors: int | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


class Program:
    """Runs the installed console commands.

    Args:
        folder: The folder for captured output.
        variables: Further environment variables.
        python: The interpreter of the environment in which the commands are installed.
        lean: Whether the process imports only what every command imports.
    """

    def __init__(
        self,
        folder: Path,
        variables: Mapping[str, str] | None = None,
        python: str = sys.executable,
        *,
        lean: bool = False,
    ) -> None:
        self._folder = folder
        self._python = python
        self._lean = ["--lean"] if lean else []
        self._variables = {**SETTINGS, **(variables or {})}
        self._driver: subprocess.Popen[str] | None = None
        self._started = 0

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._driver is not None:
            self._driver.communicate()

    def __call__(
        self,
        command: str | Sequence[object],
        folder: Path,
        stdin: Path = Path(os.devnull),
        **variables: str,
    ) -> Done:
        """Run a command; the arguments are those of :class:`Call`."""
        stdout, stderr = self._folder / "stdout", self._folder / "stderr"
        call = Call(command, folder, stdin, variables=variables)
        code = self._start(call, (stdout, stderr)).wait()
        return Done(code, stdout.read_bytes(), stderr.read_text("utf-8", "replace"))

    def run_all(self, calls: Iterable[Call]) -> list[Done]:
        """Run command lines in one process, one after another, so that they start faster."""
        requests = []
        for number, call in enumerate(calls):
            outputs = [self._folder / f"batch-{number}.{name}" for name in ("stdout", "stderr")]
            requests.append(self._request(call, outputs))
        codes = self._folder / "codes"
        codes.write_text("[]")
        end = self.ask({"wait": self.ask({"batch": requests, "codes": str(codes)})})
        assert end == 0, [Path(one["stderr"]).read_text() for one in requests][-1]
        return [
            Done(code, Path(one["stdout"]).read_bytes(), Path(one["stderr"]).read_text("utf-8"))
            for code, one in zip(json.loads(codes.read_text()), requests, strict=True)
        ]

    def start(
        self,
        command: str | Sequence[object],
        folder: Path,
        stdin: Path = Path(os.devnull),
        **variables: str,
    ) -> Started:
        """Start a command as :meth:`__call__` does, and return without waiting for its end."""
        self._started += 1
        outputs = [self._folder / f"{self._started}.{name}" for name in ("stdout", "stderr")]
        return self._start(Call(command, folder, stdin, variables=variables), outputs)

    def _start(self, call: Call, outputs: Sequence[Path]) -> Started:
        return Started(self.ask(self._request(call, outputs)), self, outputs[0], outputs[1])

    def _request(self, call: Call, outputs: Sequence[Path]) -> dict[str, Any]:
        for path in outputs:
            path.write_bytes(b"")
        words = call.command
        return {
            "words": shlex.split(words) if isinstance(words, str) else [*map(str, words)],
            "folder": str(call.folder),
            "variables": {**self._variables, **call.variables},
            "stdin": str(call.stdin),
            "stdout": str(outputs[0]),
            "stderr": str(outputs[1]),
            "processors": call.processors,
        }

    def ask(self, request: Mapping[str, Any]) -> int | None:
        """Send the driver a request, and return its answer."""
        if self._driver is None:
            self._driver = subprocess.Popen(
                [self._python, str(Path(__file__).with_name("driver.py")), *self._lean],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, **self._variables},
            )
        assert self._driver.stdin is not None
        assert self._driver.stdout is not None
        print(json.dumps(request), file=self._driver.stdin, flush=True)
        answer: int | None = json.loads(self._driver.stdout.readline())
        return answer


class Started:
    """A running command.

    Args:
        pid: The process id.
        program: The program that started it.
        stdout: The file of its standard output.
        stderr: The file of its standard error.

    Attributes:
        pid: The process id.
        stdout: The file of its standard output.
        stderr: The file of its standard error.
        code: The exit code, negative for a signal; ``None`` until :meth:`poll` or :meth:`wait`
            has found that the command ended.
    """

    def __init__(self, pid: int | None, program: Program, stdout: Path, stderr: Path) -> None:
        assert pid is not None
        self.pid = pid
        self.stdout, self.stderr = stdout, stderr
        self.code: int | None = None
        self._program = program

    def poll(self) -> int | None:
        """Return the exit code if the command has ended."""
        if self.code is None:
            self.code = self._program.ask({"poll": self.pid})
        return self.code

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end, and return the exit code.

        Raises:
            TimeoutError: If the command still runs after ``timeout`` seconds; it is killed.
        """
        if timeout is None and self.code is None:
            self.code = self._program.ask({"wait": self.pid})
        end = time.monotonic() + (timeout or 0.0)
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                self.kill()
                raise TimeoutError(self.stderr.read_text("utf-8", "replace"))
            time.sleep(0.005)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the command has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the command if it still runs, and wait for its end."""
        self.send_signal(signal.SIGKILL)
        self.wait()
