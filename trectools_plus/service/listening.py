"""Serving an application on a socket, and no connection that has nothing to say."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any, Literal

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 15.0
"""For a request's first line and headers; the body has a limit of its own."""
_KEEP_ALIVE_SECONDS = 5


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


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._tell = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._tell()


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
