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
from trectools_plus.formats.files.index_cache import cache_folder
from trectools_plus.redaction import secret_in_url
from trectools_plus.retrieval.backends.secrets import Secret

TOKEN_VARIABLE = "MILVUS_TOKEN"
"""The environment variable with the server's token: ``user:password`` or an API key."""

_SCHEMES = ("http", "https", "tcp")
_CONNECT_SECONDS = 10.0
_CALL_SECONDS = 120.0
_SEARCH_SECONDS = 30.0
_SEARCHES = ("search", "hybrid_search")
_FULL_TEXT_SINCE = (2, 5)
_LITE_LOGGER = "milvus_lite.server_manager"


class UnreachableError(InputError):
    """The server cannot be reached or does not answer in time."""


@dataclass(frozen=True, slots=True)
class MilvusAddress:
    """An address of Milvus.

    Attributes:
        uri: ``http://host:port``, or the path of a local ``.db``; without credentials.
        is_local: Whether it is a local ``.db``.
    """

    uri: str
    is_local: bool

    @classmethod
    def parse(cls, text: str | None = None) -> Self:
        """Parse an address; ``None`` returns a ``.db`` in the cache folder.

        Raises:
            UsageError: If it is neither the address of a server nor the path of a ``.db``, or if
                it contains credentials.
        """
        if text is None:
            return cls(str(cache_folder() / "milvus.db"), is_local=True)
        if "://" not in text and text.endswith(".db"):
            return cls(text, is_local=True)
        if secret := secret_in_url(text):
            raise UsageError(
                f"the address contains {secret}, but addresses are written to logs",
                where="--milvus-uri",
                remedy=f"set the environment variable {TOKEN_VARIABLE} to user:password or a key",
            )
        try:
            parts = urlsplit(text)
            is_complete = bool(parts.hostname) and parts.port != 0  # an invalid port raises
        except ValueError:
            parts, is_complete = urlsplit(""), False
        if (
            parts.scheme not in _SCHEMES
            or not is_complete
            or parts.query
            or parts.path.endswith(".db")
        ):
            raise UsageError(
                "expected an address such as http://host:19530 or a path that ends in .db"
                f" but got {text!r}",
                where="--milvus-uri",
            )
        return cls(text, is_local=False)


class MilvusConnection:
    """An open connection, which translates all errors of pymilvus.

    Args:
        address: The address.

    Attributes:
        server_version: The server's version, for example ``v2.6.2`` or ``milvus_lite-3.2.2``.

    Raises:
        MissingExtraError: If pymilvus, or for a ``.db`` milvus-lite, is not installed.
        InputError: If the server cannot be reached or refuses the token; or if the ``.db`` is
            damaged or another process uses it.
    """

    def __init__(self, address: MilvusAddress) -> None:
        needed = ["pymilvus", *(["milvus_lite"] if address.is_local else [])]
        if any(find_spec(name) is None for name in needed):
            raise MissingExtraError("the backend milvus", "milvus")
        self.address = address
        self._is_open = True
        self._client = _open_local(address) if address.is_local else _open_server(address)
        self.server_version = str(self.call("get_server_version"))

    @property
    def is_lite(self) -> bool:
        """True if the server is milvus-lite."""
        return self.server_version.startswith("milvus_lite")

    @property
    def has_full_text(self) -> bool:
        """True if the server has full-text search (BM25): milvus-lite, and Milvus since 2.5."""
        number = re.match(r"v?(\d+)\.(\d+)", self.server_version)
        return number is None or (int(number[1]), int(number[2])) >= _FULL_TEXT_SINCE

    def call(self, method: str, *args: Any, **options: Any) -> Any:
        """Call a method of ``pymilvus.MilvusClient``.

        Raises:
            InputError: If it fails.
        """
        seconds = _SEARCH_SECONDS if method in _SEARCHES else _CALL_SECONDS
        with _translated_errors(self.address):
            return getattr(self._client, method)(*args, timeout=seconds, **options)

    def close(self) -> None:
        """Disconnect, and release a local ``.db`` for other processes."""
        if not self._is_open:
            return
        self._is_open = False
        self._client.close()
        if self.address.is_local:
            from milvus_lite.server_manager import server_manager_instance

            server_manager_instance.release_server(self.address.uri)


def _open_server(address: MilvusAddress) -> Any:
    with _translated_errors(address):
        return _client_class()(
            uri=address.uri, token=os.environ.get(TOKEN_VARIABLE, ""), timeout=_CONNECT_SECONDS
        )


def _open_local(address: MilvusAddress) -> Any:
    try:
        Path(address.uri).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot create the folder of the Milvus database: {error.strerror or error}",
            where=address.uri,
            remedy="check permissions, or name another database with --milvus-uri",
        ) from error
    client_class = _client_class()
    from pymilvus.exceptions import MilvusException

    with capture_log(_LITE_LOGGER) as logged:
        try:
            return client_class(uri=address.uri, timeout=_CONNECT_SECONDS)
        except MilvusException as error:
            # pymilvus does not report the cause, but milvus-lite logs it.
            raise _cannot_open(address, logged[0] if logged else error) from error


def _cannot_open(address: MilvusAddress, reason: BaseException) -> InputError:
    if type(reason).__name__ == "DataDirLockedError":
        return InputError(
            "another process uses this Milvus database",
            where=address.uri,
            remedy="wait until it ends, or name another database with --milvus-uri",
        )
    if isinstance(reason, FileExistsError | NotADirectoryError):
        return InputError(
            "expected a folder that milvus-lite created but this is a file",
            where=address.uri,
            remedy="name another database with --milvus-uri",
        )
    return InputError(f"cannot open the Milvus database: {_first_line(reason)}", where=address.uri)


def _client_class() -> Any:
    """Return ``pymilvus.MilvusClient``, and suppress the tracebacks that it logs."""
    from pymilvus import MilvusClient

    for name in ("pymilvus", "milvus_lite", "grpc._server"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return MilvusClient


@contextmanager
def capture_log(name: str) -> Iterator[list[BaseException]]:
    """Collect the exceptions that a logger receives instead of printing them."""
    logged: list[BaseException] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.exc_info and record.exc_info[1]:
                logged.append(record.exc_info[1])

    logger, collector = logging.getLogger(name), Collector()
    level, propagate = logger.level, logger.propagate
    logger.addHandler(collector)
    logger.setLevel(logging.ERROR)
    logger.propagate = False
    try:
        yield logged
    finally:
        logger.removeHandler(collector)
        logger.setLevel(level)
        logger.propagate = propagate


@contextmanager
def _translated_errors(address: MilvusAddress) -> Iterator[None]:
    """Translate exceptions of pymilvus into errors with a message of one line."""
    import grpc
    from pymilvus.exceptions import MilvusException

    try:
        yield
    except (MilvusException, grpc.RpcError) as error:
        raise _translate_error(address, error) from error


def _translate_error(address: MilvusAddress, error: BaseException) -> InputError:
    if address.is_local:
        return InputError(
            f"the Milvus database cannot be read or written: {_first_line(error)}",
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
    return InputError(f"the Milvus server answered: {_first_line(error)}", where=address.uri)


def _grpc_status(error: BaseException | None) -> str | None:
    """Return the gRPC status in the chain of causes of an error, for example ``UNAVAILABLE``."""
    import grpc

    seen: set[int] = set()
    # Some errors of pymilvus are their own cause.
    while error is not None and id(error) not in seen:
        if isinstance(error, grpc.RpcError) and hasattr(error, "code"):
            return str(error.code().name)
        seen.add(id(error))
        error = error.__cause__ if error.__cause__ is not error else error.__context__
    return None


def _first_line(error: BaseException) -> str:
    """Return the first line of an error's message, without the token if a server repeats it."""
    text = str(getattr(error, "message", "") or error)
    token = os.environ.get(TOKEN_VARIABLE, "")
    for secret in (token, token.partition(":")[2]):  # the token, and the password in it
        if secret:
            text = Secret(secret).scrub(text)
    lines = text.splitlines() or [type(error).__name__]
    return lines[0][:300]
