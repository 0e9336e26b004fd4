"""Run the servers: socket, key, timeouts and log."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from trectools_plus.errors import InputError, MissingExtraError, UsageError

try:
    import uvicorn
except ImportError as error:
    raise MissingExtraError("the service", "service") from error

from uvicorn.protocols.http.h11_impl import H11Protocol

from trectools_plus.formats.collection import find_collection_files, is_named_collection
from trectools_plus.service.api.settings import MIN_KEY_LENGTH, NO_DATASET, ServiceSettings
from trectools_plus.testsets.loading import find_test_set, read_test_set

REQUEST_HEADER_SECONDS = 15.0
"""Time limit for the first line and the headers of a request; the body has its own limit."""
_KEEP_ALIVE_SECONDS = 5
_MOST_CONNECTIONS = 1_000
"""With more connections, requests are refused with status 503."""
_STOP_SECONDS = 2
"""Time that a signal leaves to clients to send or receive the rest of a body."""
_LOG = logging.getLogger("trectools_plus.service")


def read_key(variable: str, option: str = "--key-from-env") -> str:
    """Read a key from an environment variable that an option names.

    Raises:
        UsageError: If the variable is not set, or the key has fewer than 16 characters or contains
            spaces or characters other than printable ASCII.
    """
    key = os.environ.get(variable, "").strip()
    if len(key) < MIN_KEY_LENGTH or not key.isascii() or not key.isprintable() or " " in key:
        state = "does not contain a usable key" if key else "is not set"
        raise UsageError(
            f"the environment variable {variable} {state}",
            where=option,
            remedy=f"set it to {MIN_KEY_LENGTH} or more ASCII characters without spaces, for "
            "example the output of 'openssl rand -hex 32'",
        )
    return key


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
        # asyncio sets TCP_NODELAY only if the protocol is given. Otherwise every answer can wait
        # 40 ms until the client acknowledges the headers.
        opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            opened.bind(address)
            opened.listen()
        except OSError:
            opened.close()
            raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(
            f"cannot listen: {reason}", where=f"{host}:{port}", remedy="choose another --port"
        ) from error
    return opened


def run_server(
    settings: ServiceSettings,
    host: str,
    port: int,
    key: str | None,
    publish_key: str | None = None,
) -> None:
    """Run the service until a signal ends it.

    Args:
        settings: Data, limits and names.
        host: The address to listen on.
        port: The port; 0 selects a free one.
        key: The key that requests need; ``None`` for no key.
        publish_key: The key of requests that may publish the figures of uploaded test sets.

    Raises:
        UsageError: If other machines can reach it and there is no key.
        InputError: If the service cannot listen, or a report or the documents are missing.
        MissingExtraError: If the extra ``service`` is not installed.
    """
    from trectools_plus.service.api.app import create_app
    from trectools_plus.service.api.snapshots import read_snapshots

    for report in settings.reports:  # raise errors before the service starts
        read_snapshots(report)
    _check_documents(settings)
    app = create_app(settings, key=key, publish_key=publish_key)

    prepare_log()
    opened = listen(host, port, has_key=key is not None or publish_key is not None)
    address = f"http://{format_host(host)}:{opened.getsockname()[1]}"
    with opened:
        serve_app(
            app,
            opened,
            started=lambda: _LOG.info("listening on %s", address),
            stopping=app.state.context.work.close,
        )


def serve_app(
    app: Any,
    listener: socket.socket,
    *,
    started: Callable[[], None],
    stopping: Callable[[], None] = lambda: None,
    lifespan: Literal["on", "off"] = "on",
) -> None:
    """Serve an application until a signal ends it.

    Args:
        app: The ASGI application.
        listener: The socket.
        started: Called when the server is ready to answer and to handle signals.
        stopping: Called when a signal arrives, to end the work that requests wait for.
        lifespan: ``on`` if the application has ASGI lifespan events.
    """
    config = uvicorn.Config(
        app,
        http=_TimeoutProtocol,
        ws="none",
        lifespan=lifespan,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_STOP_SECONDS,
    )
    _Server(config, started, stopping).run(sockets=[listener])


def format_host(host: str) -> str:
    """Return a host as it is written in a URL: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host


def _check_documents(settings: ServiceSettings) -> None:
    """Raise an error if local documents or the test set are missing, before the service starts."""
    if settings.test_file is not None:
        read_test_set(find_test_set(settings.test_file))
    if settings.corpus is not None:
        if not Path(settings.corpus).is_file():
            raise InputError("no such file", where=settings.corpus, remedy="check the path")
        return
    dataset = settings.dataset
    if dataset in (None, NO_DATASET) or is_named_collection(dataset):
        return
    find_collection_files(str(dataset))


class _Server(uvicorn.Server):
    def __init__(
        self, config: uvicorn.Config, started: Callable[[], None], stopping: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._on_start = started
        self._on_stop = stopping

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Otherwise the server would wait for the requests, and they for the work.
        self._on_stop()
        await super().shutdown(sockets)


class _TimeoutProtocol(H11Protocol):
    """Close connections on which no request arrives; Uvicorn itself has no such timeout.

    Otherwise a client can occupy thousands of connections by sending single bytes.
    """

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _watch(self) -> None:
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if is_answering or self.timeout_keep_alive_task is not None:
            self._stop()
        elif self._timer is None:
            self._timer = self.loop.call_later(REQUEST_HEADER_SECONDS, self.transport.close)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
