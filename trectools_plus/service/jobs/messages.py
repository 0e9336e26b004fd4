"""Messages between the service and its worker processes, through pipes.

A message is a tuple whose first item is its name, as pickle after its length. Both ends run the
same code under the same user.

To a worker: ``("settings", ServiceSettings)`` first, then ``("open",)`` to open the documents,
``("do", Task, seconds)``, and ``("stop",)`` to stop the task at its next step. From a worker:
``("started",)`` first, ``("loading", text)``, ``("opened", modes)``, ``("unopened", text)``,
``("progress", text, done, total)``, and at the end of a task ``("done", Outcome)``,
``("stopped",)`` or ``("failed", problem, headers, traceback)``.
"""

from __future__ import annotations

import pickle
import struct
from typing import IO, Any

_LENGTH = struct.Struct("=Q")

Message = tuple[Any, ...]


def send(stream: IO[bytes], message: Message) -> None:
    """Write a message.

    Raises:
        OSError: If the other end is closed.
    """
    content = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)
    stream.flush()


def receive(stream: IO[bytes]) -> Message | None:
    """Read a message; return ``None`` if the other end is closed."""
    start = stream.read(_LENGTH.size)
    if len(start) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(start)
    content = stream.read(length)
    if len(content) < length:
        return None
    message: Message = pickle.loads(content)
    return message
