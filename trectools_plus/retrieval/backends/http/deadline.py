"""One deadline for a whole request, whatever the service does.

The timeouts of httpx limit each read. A service that sends a byte from time to time, or interim
responses without end, would never exceed them. Here, each connection, read and write of a request
has only the time that is left.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

import httpcore

if TYPE_CHECKING:
    import ssl

    import httpx

_WRITTEN_AT_ONCE = 1 << 14


class Deadline(threading.local):
    """The time at which the request of this thread ends; without a limit at first."""

    _end: float | None = None

    @contextmanager
    def set(self, seconds: float) -> Iterator[None]:
        """Limit the time of the ``with`` block."""
        self._end = monotonic() + seconds
        try:
            yield
        finally:
            self._end = None

    def left(self, timeout: float | None, error: type[Exception]) -> float | None:
        """Return the seconds that are left, at most ``timeout``; raise the error if none are."""
        if self._end is None:
            return timeout
        left = self._end - monotonic()
        if left <= 0:
            raise error("the time of the request is over")
        return left if timeout is None else min(left, timeout)


def limit_time(client: httpx.Client, deadline: Deadline) -> None:
    """Let all connections of a client end at a deadline."""
    for transport in (client._transport, *client._mounts.values()):
        pool = getattr(transport, "_pool", None)  # a replacement in tests has none
        if pool is not None:
            pool._network_backend = _Backend(deadline)


class _Backend(httpcore.NetworkBackend):
    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._network = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address of a host that answers."""
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
        failure: Exception = httpcore.ConnectError("the host has no address")
        for address in dict.fromkeys(str(one[4][0]) for one in found):
            left = self._deadline.left(timeout, httpcore.ConnectTimeout)
            try:
                stream = self._network.connect_tcp(
                    address, port, left, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                return _Stream(stream, self._deadline)
        raise failure


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._deadline.left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _WRITTEN_AT_ONCE):
            left = self._deadline.left(timeout, httpcore.WriteTimeout)
            self._stream.write(buffer[start : start + _WRITTEN_AT_ONCE], left)

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        left = self._deadline.left(timeout, httpcore.ConnectTimeout)
        stream = self._stream.start_tls(ssl_context, server_hostname, left)
        return _Stream(stream, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
