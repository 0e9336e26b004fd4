"""Options that choose a backend, the same for every command that fetches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, get_args

import typer

from trectools_plus import benchmark
from trectools_plus.choices import CollapseMethod
from trectools_plus.cli import completion
from trectools_plus.cli.options.common import BACKENDS
from trectools_plus.cli.options.retrieval import split_assignments
from trectools_plus.retrieval.backends.http.engines import ENGINES
from trectools_plus.retrieval.backends.registry import EMBEDDED, list_backends

Backend = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"Search backend: {list_backends()}.  [default: {EMBEDDED}]",
        rich_help_panel=BACKENDS,
        autocompletion=completion.complete_backend,
    ),
]
Retriever = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MODULE:NAME",
        help="For --backend python: a function of text and depth, an object with a method search, "
        "or the name of an installed plug-in. MODE=MODULE:NAME also names the mode. Repeatable.",
        rich_help_panel=BACKENDS,
    ),
]
EngineName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"For --backend http: search engine at --http-url, whose requests are built in: "
        f"{', '.join(ENGINES)}.",
        rich_help_panel=BACKENDS,
        autocompletion=completion.complete_words(list(ENGINES)),
    ),
]
HttpUrl = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="For --backend http: URL of the service.",
        rich_help_panel=BACKENDS,
    ),
]
HttpKeyEnv = Annotated[
    str | None,
    typer.Option(
        metavar="VARIABLE",
        help="For --backend http: environment variable with the service's key, sent in the header "
        "X-API-Key, or that of --engine.",
        rich_help_panel=BACKENDS,
    ),
]
HttpSetting = Annotated[
    list[str] | None,
    typer.Option(
        "--http",
        metavar="NAME=VALUE",
        help="For --backend http: a setting of the key http, for example index=articles, "
        "text_fields=title,text, vector_field=embedding or id_field=doc_id. Repeatable.",
        rich_help_panel=BACKENDS,
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="For --backend http or python: seconds for one request or call, after which it has "
        "failed.  [default: 30]",
        rich_help_panel=BACKENDS,
    ),
]
MilvusUri = Annotated[
    str | None,
    typer.Option(
        metavar="URI",
        help="For --backend milvus: a server, for example http://host:19530, or a local file that "
        "ends in .db. The token is read from MILVUS_TOKEN.  [default: a file in the cache folder]",
        rich_help_panel=BACKENDS,
    ),
]
Collapse = Annotated[
    str | None,
    typer.Option(
        "--collapse",
        metavar="max|first|sum",
        help="Collapse the chunks that the backend returns into documents, scored by MaxP (max), "
        "FirstP (first) or SumP (sum).",
        rich_help_panel=BACKENDS,
        autocompletion=completion.complete_words(get_args(CollapseMethod)),
    ),
]
ChunkSeparator = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="Text between the document id and the rest of a chunk id, for example '#'.",
        rich_help_panel=BACKENDS,
    ),
]


@dataclass(frozen=True)
class BackendOptions:
    """The backend, for :func:`~trectools_plus.cli.options.groups.with_groups`."""

    backend: Backend = None
    retriever: Retriever = None
    engine: EngineName = None
    http_url: HttpUrl = None
    http_key_env: HttpKeyEnv = None
    http: HttpSetting = None
    timeout: Timeout = None
    milvus_uri: MilvusUri = None
    collapse: Collapse = None
    chunk_separator: ChunkSeparator = None

    def settings(self) -> benchmark.ConfigOptions:
        """Return the options as settings; ``None`` where an option is absent."""
        http = split_assignments(self.http or [], "--http") | _given(
            engine=self.engine, url=self.http_url, key_env=self.http_key_env
        )
        collapse = _given(method=self.collapse, separator=self.chunk_separator)
        return {
            "backend": self.backend,
            "retriever": self.retriever or None,
            "http": http or None,
            "milvus": _given(uri=self.milvus_uri) or None,
            "collapse": collapse or None,
            "timeout": self.timeout,
        }


def _given(**values: str | None) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}
