"""What ``serve --review`` runs: the page on which people judge."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import typer

from trectools_plus.errors import MissingExtraError


def serve_review(
    report: Path,
    database: Path | None,
    *,
    host: str,
    port: int,
    key_from_env: str | None,
    modes: str | None = None,
    depth: int | None = None,
    seed: int | None = None,
) -> None:
    """Serve the review page until the process is asked to end; says on stderr where.

    Args:
        report: ``BenchmarkReport.json``, or its folder.
        database: Where judgments are kept; ``review.db`` in the report's folder if ``None``.
        host: The address to listen on.
        port: The port; 0 for any that is free.
        key_from_env: The environment variable that holds the key; no key if ``None``.
        modes: Names with commas; all of the report's if ``None``.
        depth: Results of each mode; 10 if ``None``.
        seed: Of the order of queries and columns.

    Raises:
        MissingExtraError: If the extra ``service`` is not installed.
        UsageError: If the variable is not set or too short, and what
            :func:`~trectools_plus.service.review.server.run_review` refuses.
    """
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise MissingExtraError("the review page", "service")
    from trectools_plus.service.review.material import DEFAULT_DEPTH
    from trectools_plus.service.review.server import run_review
    from trectools_plus.service.server import read_key

    run_review(
        report,
        database,
        host=host,
        port=port,
        modes=None if modes is None else [name.strip() for name in modes.split(",")],
        depth=DEFAULT_DEPTH if depth is None else depth,
        seed=seed,
        key=None if key_from_env is None else read_key(key_from_env),
        tell=lambda line: typer.echo(line, err=True),
    )
