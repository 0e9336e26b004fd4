"""Run the servers: socket, key, timeouts and log."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import re
import socket
import time
from pathlib import Path
from typing import Any

from trectools_plus.errors import InputError, MissingExtraError, UsageError

try:
    import uvicorn
except ImportError as error:
    raise MissingExtraError("the service", "service") from error

from uvicorn.protocols.http.h11_impl import H11Protocol

from trectools_plus.formats.collection import find_collection_files, is_named_collection
from trectools_plus.service.models import ServiceSettings
from trectools_plus.testsets.loading import find_test_set, read_test_set

REQUEST_HEADER_SECONDS = 15.0
"""Time limit for the first line and the headers of a request, which can take up to twice as long;
the body has its own limit."""
_KEEP_ALIVE_SECONDS = 5
_MOST_CONNECTIONS = 1_000
"""With more connections, requests are refused with status 503."""
_STOP_SECONDS = 2
"""Time that a signal leaves to requests to finish."""
_LOG = logging.getLogger("trectools_plus.service")


def read_key(variable: str) -> str:
    """Read a key from an environment variable, which the option ``--key-from-env`` names.

    Raises:
        UsageError: If the variable is not set, or the key has fewer than 16 characters or contains
            spaces or characters other than printable ASCII.
    """
    key = os.environ.get(variable, "").strip()
    if not re.fullmatch(r"[!-~]{16,}", key):
        state = "does not contain a usable key" if key else "is not set"
        raise UsageError(
            f"the environment variable {variable} {state}",
            where="--key-from-env",
            remedy="set it to 16 or more ASCII characters without spaces, for "
            "example the output of 'openssl rand -hex 32'",
        )
    return key


def listen(host: str, port: int, *, has_key: bool) -> socket.socket:
    """Open a listening socket; without a key it must have a loopback address.

    Args:
        host: Name or address.
        port: The port; 0 selects a free one.
        has_key: True if requests need a key.

    Raises:
        UsageError: If other machines can reach the socket and there is no key.
        InputError: If the socket cannot be opened.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        if not has_key and not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
            raise UsageError(
                f"other machines can reach {host}, but there is no key",
                where="--host",
                remedy="name an environment variable with a key: --key-from-env NAME",
            )
        opened = socket.create_server(address, family=family)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(
            f"cannot listen: {reason}", where=f"{host}:{port}", remedy="choose another --port"
        ) from error
    # asyncio sets TCP_NODELAY only if the socket knows its protocol. Otherwise answers wait up
    # to 40 ms until the client acknowledges the headers.
    return socket.socket(fileno=opened.detach())


def run_server(
    settings: ServiceSettings, host: str = "127.0.0.1", port: int = 8000, key: str | None = None
) -> None:
    """Serve the REST service until a signal ends the process.

    Args:
        settings: Data, limits and names.
        host: The address to listen on; without a key it must be a loopback address.
        port: The port; 0 selects a free one.
        key: The key that requests need.

    Raises:
        UsageError: If other machines can reach the service and there is no key.
        InputError: If the server cannot listen, or documents or reports cannot be read.
    """
    from trectools_plus.service.app import create_app
    from trectools_plus.service.metrics import read_snapshots

    _check_documents(settings)
    for report in settings.reports:
        read_snapshots(report)
    logging.Formatter.converter = time.gmtime
    line = "%(asctime)sZ %(levelname)s %(message)s"
    logging.basicConfig(format=line, datefmt="%Y-%m-%dT%H:%M:%S")
    logging.getLogger("trectools_plus").setLevel(logging.INFO)
    with listen(host, port, has_key=key is not None) as listener:
        _LOG.info("listening on %s", url_of(host, listener))
        make_server(create_app(settings, key=key)).run(sockets=[listener])


def _check_documents(settings: ServiceSettings) -> None:
    """Raise an error if local documents or the test set are missing, before the service starts."""
    if settings.test_file is not None:
        read_test_set(find_test_set(settings.test_file))
    if settings.corpus is not None and not Path(settings.corpus).is_file():
        raise InputError("no such file", where=settings.corpus, remedy="check the path")
    dataset = settings.dataset
    if settings.searches and dataset is not None and not is_named_collection(dataset):
        find_collection_files(dataset)


def url_of(host: str, listener: socket.socket) -> str:
    """Return the URL of a listening socket."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listener.getsockname()[1]}"


def make_server(app: Any) -> uvicorn.Server:
    """Return the server of an application, which runs until a signal ends it.

    Args:
        app: The ASGI application.
    """
    config = uvicorn.Config(
        app,
        http=_TimeoutProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_STOP_SECONDS,
    )
    return uvicorn.Server(config)


class _TimeoutProtocol(H11Protocol):
    """Close connections on which no request arrives; Uvicorn itself has no such timeout.

    Otherwise a client can occupy thousands of connections by sending single bytes.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._close_if_idle(self)

    def _close_if_idle(self, before: object) -> None:
        """Close the connection if it has waited for the same request at two checks."""
        is_waiting = self.cycle is None or self.cycle.response_complete
        if is_waiting and self.cycle is before:
            self.transport.close()
        elif not self.transport.is_closing():
            seen = self.cycle if is_waiting else self
            self.loop.call_later(REQUEST_HEADER_SECONDS, self._close_if_idle, seen)
