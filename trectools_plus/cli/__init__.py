"""The command line: each command parses its options, calls the library and prints the result."""

from __future__ import annotations

import sys

_INTERRUPTED = 130


def main() -> None:
    """Run ``trectools-plus``."""
    _run("main")


def runs_main() -> None:
    """Run ``runs``."""
    _run("runs_main")


def benchmark_main() -> None:
    """Run ``benchmark``."""
    _run("benchmark_main")


def _run(name: str) -> None:
    """Import the commands and call an entry point of them; the import can be interrupted too."""
    try:
        from trectools_plus.cli import app

        entry = getattr(app, name)
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        sys.exit(_INTERRUPTED)
    entry()
