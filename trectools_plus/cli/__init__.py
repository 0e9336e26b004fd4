"""The command line: each command parses its options, calls the library and prints the result."""

from __future__ import annotations


def main() -> None:
    """Run ``trectools-plus``."""
    from trectools_plus.cli.app import main

    main()


def runs_main() -> None:
    """Run ``runs``."""
    from trectools_plus.cli.app import runs_main

    runs_main()


def benchmark_main() -> None:
    """Run ``benchmark``."""
    from trectools_plus.cli.app import benchmark_main

    benchmark_main()
