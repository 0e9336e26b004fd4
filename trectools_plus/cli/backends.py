"""The options that say what searches, the same for every command that fetches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from trectools_plus.retrieval.backends.registry import EMBEDDED, list_backends

Backend = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"What searches: {list_backends()} [default: {EMBEDDED}].",
    ),
]
Retriever = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MODULE:NAME",
        help="For --backend python: a function (text, depth) or an object with search; or the "
        "name of an installed plug-in. MODE=MODULE:NAME names its mode; repeatable.",
    ),
]
HttpUrl = Annotated[
    str | None,
    typer.Option(metavar="URL", help="For --backend http: where the service is."),
]
HttpKeyEnv = Annotated[
    str | None,
    typer.Option(
        metavar="VARIABLE",
        help="The environment variable that holds the service's key (sent as X-API-Key).",
    ),
]
MilvusUri = Annotated[
    str | None,
    typer.Option(
        metavar="URI",
        help="For --backend milvus: http://host:19530, or a local file name that ends in .db "
        "[default: one in the cache folder]. The token is in MILVUS_TOKEN.",
    ),
]
CollapseMethod = Annotated[
    str | None,
    typer.Option(
        "--collapse",
        metavar="max|first|sum",
        help="The backend finds chunks: collapse them to documents, whose score is this.",
    ),
]
ChunkSeparator = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="What stands between a document's id and the rest of a chunk's, such as '#'.",
    ),
]


@dataclass(frozen=True)
class BackendOptions:
    """What searches, for :func:`~trectools_plus.cli.option_groups.with_groups`."""

    backend: Backend = None
    retriever: Retriever = None
    http_url: HttpUrl = None
    http_key_env: HttpKeyEnv = None
    milvus_uri: MilvusUri = None


@dataclass(frozen=True)
class ChunkOptions:
    """What becomes of chunks that a backend finds."""

    collapse: CollapseMethod = None
    chunk_separator: ChunkSeparator = None


def backend_values(what: BackendOptions, chunks: ChunkOptions) -> dict[str, Any]:
    """The options as settings; ``None`` where nothing was said."""
    http = _given(url=what.http_url, key_env=what.http_key_env)
    collapse = _given(method=chunks.collapse, separator=chunks.chunk_separator)
    return {
        "backend": what.backend,
        "retriever": what.retriever or None,
        "http": http or None,
        "milvus": _given(uri=what.milvus_uri) or None,
        "collapse": collapse or None,
    }


def _given(**values: str | None) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}
