"""A Milvus server, or a local ``.db`` that milvus-lite serves from this process."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from trectools_plus.errors import InputError, MissingExtraError, UsageError
from trectools_plus.retrieval.backends.secrets import Key
from trectools_plus.retrieval.index.cache import cache_folder

TOKEN_VARIABLE = "MILVUS_TOKEN"
"""Environment variable with the server's token, ``user:password`` or an API key."""

_SCHEMES = ("http", "https", "tcp")
_CONNECT_SECONDS = 10.0
_CALL_SECONDS = 120.0
_SEARCH_SECONDS = 30.0
_SEARCHES = ("search", "hybrid_search")
_FULL_TEXT_SINCE = (2, 5)
_LITE_STARTER = "milvus_lite.server_manager"


class UnreachableError(InputError):
    """The server does not answer, whatever it is asked."""


@dataclass(frozen=True, slots=True)
class MilvusAddress:
    """Where Milvus is.

    Attributes:
        uri: ``http://host:port``, or the path of a local ``.db``; free of credentials.
        is_local: Whether it is a local ``.db``.
    """

    uri: str
    is_local: bool

    @classmethod
    def parse(cls, text: str | None = None) -> Self:
        """Take an address as the user gives it; without one, a ``.db`` in the cache folder.

        Raises:
            UsageError: If it is neither a server's nor a ``.db``'s, or holds credentials.
        """
        if text is None:
            return cls(str(cache_folder() / "milvus.db"), is_local=True)
        # What is no address may hold a password all the same.
        shown = "" if "@" in text else f" but got {text!r}"
        if "://" not in text:
            if not text.endswith(".db"):
                raise UsageError(
                    "expected an address like http://host:19530 or a file name that ends in .db"
                    f"{shown}",
                    where="--milvus-uri",
                )
            return cls(text, is_local=True)
        try:
            parts = urlsplit(text)
            is_whole = bool(parts.hostname) and parts.port != 0  # a bad port raises
        except ValueError:
            parts, is_whole = urlsplit(""), False
        if "@" in parts.netloc or parts.query:
            raise UsageError(
                "credentials do not belong into an address: it ends up in logs",
                where="--milvus-uri",
                remedy=f"set the environment variable {TOKEN_VARIABLE}, as user:password or a key",
            )
        if parts.scheme not in _SCHEMES or not is_whole or parts.path.endswith(".db"):
            raise UsageError(
                f"expected an address like http://host:19530{shown}",
                where="--milvus-uri",
            )
        return cls(text, is_local=False)


class MilvusConnection:
    """An open connection; every failure on it is one of this package's errors.

    Args:
        address: Where to.

    Attributes:
        server_version: What the server says it is, such as ``v2.6.2`` or ``milvus_lite-3.2.2``.

    Raises:
        MissingExtraError: If pymilvus, or for a ``.db`` milvus-lite, is not installed.
        InputError: If the server cannot be reached or refuses the token; or the ``.db`` is
            damaged or held by another process.
    """

    def __init__(self, address: MilvusAddress) -> None:
        _see_that_it_is_installed(address)
        self.address = address
        self._is_open = True
        self._client = _open_local(address) if address.is_local else _open_server(address)
        self.server_version = str(self.call("get_server_version"))

    @property
    def is_lite(self) -> bool:
        """True if milvus-lite answers, at whatever address."""
        return self.server_version.startswith("milvus_lite")

    @property
    def has_full_text(self) -> bool:
        """True if it can score words (BM25): milvus-lite, and Milvus since 2.5."""
        number = re.match(r"v?(\d+)\.(\d+)", self.server_version)
        return number is None or (int(number[1]), int(number[2])) >= _FULL_TEXT_SINCE

    def call(self, method: str, *args: Any, **options: Any) -> Any:
        """Call a method of ``pymilvus.MilvusClient``.

        Raises:
            InputError: If it fails.
        """
        seconds = _SEARCH_SECONDS if method in _SEARCHES else _CALL_SECONDS
        with _explained(self.address):
            return getattr(self._client, method)(*args, timeout=seconds, **options)

    def close(self) -> None:
        """Disconnect; of a local ``.db``, let other processes have it."""
        if not self._is_open:
            return
        self._is_open = False
        self._client.close()
        if self.address.is_local:
            _release(self.address)


def _see_that_it_is_installed(address: MilvusAddress) -> None:
    needed = ["pymilvus", *(["milvus_lite"] if address.is_local else [])]
    if any(find_spec(name) is None for name in needed):
        raise MissingExtraError("the backend milvus", "milvus")


def _open_server(address: MilvusAddress) -> Any:
    with _explained(address):
        return _client_class()(
            uri=address.uri, token=os.environ.get(TOKEN_VARIABLE, ""), timeout=_CONNECT_SECONDS
        )


def _open_local(address: MilvusAddress) -> Any:
    try:
        Path(address.uri).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot make the folder of the Milvus database: {error.strerror or error}",
            where=address.uri,
        ) from error
    client_class = _client_class()
    from pymilvus.exceptions import MilvusException

    with capture_log(_LITE_STARTER) as heard:
        try:
            return client_class(uri=address.uri, timeout=_CONNECT_SECONDS)
        except MilvusException as error:
            # pymilvus says only that it failed; why, milvus-lite has logged.
            raise _cannot_open(address, heard[0] if heard else error) from error


def _cannot_open(address: MilvusAddress, reason: BaseException) -> InputError:
    if type(reason).__name__ == "DataDirLockedError":
        return InputError(
            "another process holds this Milvus database",
            where=address.uri,
            remedy="wait for it to end, or name another with --milvus-uri",
        )
    if isinstance(reason, FileExistsError | NotADirectoryError):
        return InputError(
            "this is no database of milvus-lite, which is a folder",
            where=address.uri,
            remedy="name another with --milvus-uri",
        )
    return InputError(f"cannot open the Milvus database: {_line(reason)}", where=address.uri)


def _release(address: MilvusAddress) -> None:
    from milvus_lite.server_manager import server_manager_instance

    server_manager_instance.release_server(address.uri)


def _client_class() -> Any:
    """``pymilvus.MilvusClient``, without the tracebacks it logs beside what it raises."""
    from pymilvus import MilvusClient

    for name in ("pymilvus", "milvus_lite", "grpc._server"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return MilvusClient


@contextmanager
def capture_log(name: str) -> Iterator[list[BaseException]]:
    """Collect the exceptions that are logged under a name, instead of passing them on."""
    heard: list[BaseException] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.exc_info and record.exc_info[1]:
                heard.append(record.exc_info[1])

    logger, listener = logging.getLogger(name), Listener()
    level, propagate = logger.level, logger.propagate
    logger.addHandler(listener)
    logger.setLevel(logging.ERROR)
    logger.propagate = False
    try:
        yield heard
    finally:
        logger.removeHandler(listener)
        logger.setLevel(level)
        logger.propagate = propagate


@contextmanager
def _explained(address: MilvusAddress) -> Iterator[None]:
    """Turn what pymilvus raises into an error of one line."""
    import grpc
    from pymilvus.exceptions import MilvusException

    try:
        yield
    except (MilvusException, grpc.RpcError) as error:
        raise _explain(address, error) from error


def _explain(address: MilvusAddress, error: BaseException) -> InputError:
    if address.is_local:
        return InputError(
            f"the Milvus database cannot be read or written: {_line(error)}",
            where=address.uri,
            remedy="if it is damaged, delete it: it is built again from the corpus",
        )
    status = _grpc_status(error)
    if status in ("UNAUTHENTICATED", "PERMISSION_DENIED") or "auth check failure" in str(error):
        return InputError(
            "the Milvus server refuses the token",
            where=address.uri,
            remedy=f"set the environment variable {TOKEN_VARIABLE}, as user:password or a key",
        )
    if status in ("UNAVAILABLE", "DEADLINE_EXCEEDED"):
        return UnreachableError(
            "the Milvus server cannot be reached",
            where=address.uri,
            remedy="check the address, and that the server is up",
        )
    return InputError(f"the Milvus server answered: {_line(error)}", where=address.uri)


def _grpc_status(error: BaseException | None) -> str | None:
    """The gRPC status at the root of an error, such as ``UNAVAILABLE``."""
    import grpc

    seen: set[int] = set()
    # pymilvus raises some errors "from" themselves.
    while error is not None and id(error) not in seen:
        if isinstance(error, grpc.RpcError) and hasattr(error, "code"):
            return str(error.code().name)
        seen.add(id(error))
        error = error.__cause__ if error.__cause__ is not error else error.__context__
    return None


def _line(error: BaseException) -> str:
    """The first line of what an error says, without the token should a server repeat it."""
    text = str(getattr(error, "message", "") or error)
    token = os.environ.get(TOKEN_VARIABLE, "")
    for secret in (token, token.partition(":")[2]):  # of user:password, the password alone too
        if secret:
            text = Key(secret).scrub(text)
    lines = text.splitlines() or [type(error).__name__]
    return lines[0][:300]
