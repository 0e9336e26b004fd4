"""The installed commands, run in one warm process."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

SETTINGS = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "GITHUB_STEP_SUMMARY": ""}
"""Environment variables that decide what is printed, the same for every command."""


@dataclass(frozen=True)
class Done:
    """What a command printed, and its exit code."""

    code: int
    stdout: bytes
    stderr: str


class Program:
    """Runs the installed console commands.

    Args:
        folder: Where output is kept while a command runs, and its cache.
        variables: Further environment variables.
        python: The interpreter of the environment that the commands are installed in.
    """

    def __init__(
        self,
        folder: Path,
        variables: Mapping[str, str] | None = None,
        python: str = sys.executable,
    ) -> None:
        self._folder = folder
        self._python = python
        self.cache = folder / "cache"
        cache = {"TRECTOOLS_PLUS_CACHE": str(self.cache)}
        self._variables = {**SETTINGS, **cache, **(variables or {})}
        self._driver: subprocess.Popen[str] | None = None

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

    def __call__(self, command: str, folder: Path, stdin: Path = Path(os.devnull)) -> Done:
        """Run a command line, without a shell, in a folder."""
        if self._driver is None:
            self._driver = subprocess.Popen(
                [self._python, str(Path(__file__).with_name("driver.py"))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, **self._variables},
            )
        assert self._driver.stdin is not None
        assert self._driver.stdout is not None
        stdout, stderr = self._folder / "stdout", self._folder / "stderr"
        request = {
            "words": shlex.split(command),
            "folder": str(folder),
            "variables": self._variables,
            "stdin": str(stdin),
            "stdout": str(stdout),
            "stderr": str(stderr),
        }
        print(json.dumps(request), file=self._driver.stdin, flush=True)
        code = int(self._driver.stdout.readline())
        return Done(code, stdout.read_bytes(), stderr.read_text("utf-8", "replace"))
