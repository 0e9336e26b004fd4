"""A process that serves the review page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from trectools_plus.service.listening import serve_app
from trectools_plus.service.review.app import review_app
from trectools_plus.service.review.material import DEFAULT_DEPTH
from trectools_plus.service.review.store import DATABASE_NAME
from trectools_plus.service.server import listen, shown_host


def run_review(
    report: str | Path,
    database: str | Path | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    modes: Sequence[str] | None = None,
    depth: int = DEFAULT_DEPTH,
    seed: int | None = None,
    key: str | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve the review page until the process is asked to end.

    Args:
        report: ``BenchmarkReport.json``, or its folder.
        database: Where judgments are kept; ``review.db`` in the report's folder if ``None``.
        host: The address to listen on; other than loopback only with a key.
        port: 0 for any that is free.
        modes: As :func:`~trectools_plus.service.review.app.review_app`, as are the next.
        depth: Results of each mode.
        seed: Of the order.
        key: Needed by whoever judges.
        tell: Called with each line about what is served and where.

    Raises:
        UsageError: If it would listen beyond this machine without a key, or an option is out of
            range.
        InputError: If it cannot listen there, or report or file cannot be read.
        IncomparableError: If the file holds judgments of other results.
    """
    given = Path(report)
    file = database or (given if given.is_dir() else given.parent) / DATABASE_NAME
    with listen(host, port, has_key=key is not None) as listener:
        app = review_app(report, file, modes=modes, depth=depth, seed=seed, key=key)
        desk = app.state.desk
        try:
            for note in desk.material.notes:
                tell(f"note: {note}")
            tell(f"judgments  {file}")
            address = f"http://{shown_host(host)}:{listener.getsockname()[1]}/"
            started = partial(tell, f"review     {address}")
            serve_app(app, listener, started=started, lifespan="off")
        except KeyboardInterrupt:
            tell("stopped; every judgment is kept")
        finally:
            desk.store.close()
