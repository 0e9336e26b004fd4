"""The log of the service, on stderr."""

from __future__ import annotations

import logging
import sys
import time


def prepare_log() -> None:
    """Send log lines to stderr, with the time in UTC."""
    handler = logging.StreamHandler(sys.stderr)
    formatter = logging.Formatter("%(asctime)sZ %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    for name in ("trectools_plus", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name == "trectools_plus" else logging.WARNING)
