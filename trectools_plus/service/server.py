"""Running the service: where it listens, who may come in, what it logs."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from trectools_plus.errors import InputError, MissingExtraError, UsageError

try:
    import uvicorn
except ImportError as error:
    raise MissingExtraError("the service", "service") from error

from uvicorn.protocols.http.h11_impl import H11Protocol

from trectools_plus.service.api.settings import SHORTEST_KEY, ServiceSettings

HEAD_SECONDS = 15.0
"""For a request's first line and headers; the body has a limit of its own."""
_KEEP_ALIVE_SECONDS = 5
_LOG = logging.getLogger("trectools_plus.service")


def read_key(variable: str) -> str:
    """The key that an environment variable holds.

    Raises:
        UsageError: If there is none, or it is too short to be one.
    """
    key = os.environ.get(variable, "").strip()
    if len(key) < SHORTEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
        state = "holds no usable key" if key else "is not set"
        raise UsageError(
            f"the environment variable {variable} {state}",
            where="--key-from-env",
            remedy=f"set it to {SHORTEST_KEY} or more ASCII characters without blanks, such as "
            "the output of 'openssl rand -hex 32'",
        )
    return key


def listen(host: str, port: int, *, has_key: bool) -> socket.socket:
    """Open the socket; only one on this machine's own loopback does without a key.

    Args:
        host: Name or address.
        port: The port; 0 takes a free one.
        has_key: Whether requests must bear a key.

    Raises:
        UsageError: If others could reach it and there is no key.
        InputError: If it cannot be opened.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        if not has_key and not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
            raise UsageError(
                f"others can reach {host}, and there is no key",
                where="--host",
                remedy="name the environment variable that holds one: --key-from-env NAME",
            )
        # The protocol is named because asyncio sends at once (TCP_NODELAY) only where it is:
        # otherwise every answer may wait 40 ms for the client to confirm its headers.
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
            f"cannot listen: {reason}", where=f"{host}:{port}", remedy="name another --port"
        ) from error
    return opened


def run_server(settings: ServiceSettings, host: str, port: int, key: str | None) -> None:
    """Serve until a signal ends it.

    Args:
        settings: Data, limits and names.
        host: Where to listen.
        port: The port; 0 takes a free one.
        key: What requests must bear.

    Raises:
        UsageError: If others could reach it and there is no key.
        InputError: If it cannot listen, or a report or the documents are not there.
        MissingExtraError: If the extra ``service`` is not installed.
    """
    from trectools_plus.service.api.app import create_app
    from trectools_plus.service.api.snapshots import read_snapshots

    for report in settings.reports:  # now, and not only when somebody looks
        read_snapshots(report)
    _see_documents(settings)
    app = create_app(settings, key=key)

    _prepare_log()
    opened = listen(host, port, has_key=key is not None)
    address = f"http://{shown_host(host)}:{opened.getsockname()[1]}"
    with opened:
        serve_app(app, opened, started=lambda: _LOG.info("listening on %s", address))


def serve_app(
    app: Any,
    listener: socket.socket,
    *,
    started: Callable[[], None],
    lifespan: Literal["on", "off"] = "on",
) -> None:
    """Serve until a signal ends it.

    Args:
        app: The ASGI application.
        listener: Where requests come in.
        started: Called once the server answers, and can be ended by a signal.
        lifespan: Whether the application is told of start and end.
    """
    config = uvicorn.Config(
        app,
        http=_Impatient,
        ws="none",
        lifespan=lifespan,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
    )
    _Server(config, started).run(sockets=[listener])


def shown_host(host: str) -> str:
    """A host as it stands in an address."""
    return f"[{host}]" if ":" in host else host


def _see_documents(settings: ServiceSettings) -> None:
    """See that local documents are there: a mistyped name shall not become a running service."""
    if settings.corpus is not None:
        if not Path(settings.corpus).is_file():
            raise InputError("no such file", where=settings.corpus, remedy="check the path")
    elif settings.searches and settings.dataset not in (None, "hpo"):
        from trectools_plus.formats.collection import CATALOGUE_PREFIX, find_collection_files

        if not str(settings.dataset).startswith(CATALOGUE_PREFIX):
            find_collection_files(str(settings.dataset))


def _prepare_log() -> None:
    """Lines on stderr, with the time in UTC."""
    import time

    handler = logging.StreamHandler(sys.stderr)
    formatter = logging.Formatter("%(asctime)sZ %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    for name in ("trectools_plus", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name == "trectools_plus" else logging.WARNING)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_start()


class _Impatient(H11Protocol):
    """Closes connections on which no request arrives; Uvicorn itself waits for ever.

    A client may otherwise hold thousands of them by sending a byte now and then.
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
        at_work = self.cycle is not None and not self.cycle.response_complete
        if at_work or self.timeout_keep_alive_task is not None:
            self._stop()
        elif self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
