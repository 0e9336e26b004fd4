"""Settings of a JSON retrieval service: its requests, and where its answers hold ids and scores."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self
from urllib.parse import parse_qsl, quote, urlsplit

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from trectools_plus.redaction import has_secrets, is_secret_name
from trectools_plus.retrieval.setting_types import Flag, Number, WholeNumber
from trectools_plus.retrieval.source import Query

if TYPE_CHECKING:
    from jsonpath import JSONPath

Values = Mapping[str, str | int]

_PLACEHOLDER = re.compile(r"\{(mode|query_id|query_text|top_k)\}")
_OF_ONE_QUERY = re.compile(r"\{(query_id|query_text)\}")


class Template:
    """A service's request with places for mode, query and depth.

    Args:
        settings: Of the service.

    Raises:
        ValueError: If the query's text has no place, or a batch of queries has none.
    """

    def __init__(self, settings: HttpSettings) -> None:
        self._settings = settings
        self._body = None if settings.body is None else json.loads(settings.body)
        around = [settings.url, *settings.params.values()]
        lists = _count_lists(self._body)
        if not any("{query_text}" in text for text in (*around, settings.body or "")):
            raise ValueError(
                "the query is sent nowhere — put {query_text} into http.body, http.params or "
                "http.url"
            )
        if settings.batch_size > 1 and (
            lists != 1 or any(_OF_ONE_QUERY.search(text) for text in around)
        ):
            raise ValueError(
                "a batch needs one list in http.body whose only item holds {query_text}, and no "
                "query elsewhere — write such a list, or leave http.batch_size at 1"
            )

    def fill(self, mode: str, queries: Sequence[Query], top_k: int) -> dict[str, Any]:
        """``url`` and ``json`` for some queries, as httpx takes them.

        Raises:
            httpx.InvalidURL: If what was filled in makes the URL too long, for example.
        """
        import httpx

        values: list[Values] = [
            {"mode": mode, "top_k": top_k, "query_id": one.query_id, "query_text": one.text}
            for one in queries
        ]
        first = values[0]
        url = httpx.URL(
            _PLACEHOLDER.sub(lambda match: quote(str(first[match[1]]), safe=""), self._settings.url)
        )
        if self._settings.params:
            params = {
                name: str(_fill(text, values)) for name, text in self._settings.params.items()
            }
            # Not as httpx' argument ``params``, which would replace the URL's own query string.
            url = url.copy_merge_params(params)
        request: dict[str, Any] = {"url": url}
        if self._body is not None:
            request["json"] = _fill(self._body, values)
        return request


def _fill(part: Any, values: Sequence[Values]) -> Any:
    """A part of the template with every placeholder filled in, once."""
    if isinstance(part, str):
        whole = _PLACEHOLDER.fullmatch(part)
        if whole:
            return values[0][whole[1]]
        return _PLACEHOLDER.sub(lambda match: str(values[0][match[1]]), part)
    if isinstance(part, dict):
        return {key: _fill(value, values) for key, value in part.items()}
    if isinstance(part, list):
        if _is_per_query(part):
            return [_fill(part[0], [one]) for one in values]
        return [_fill(item, values) for item in part]
    return part


def _is_per_query(part: list[Any]) -> bool:
    return len(part) == 1 and _OF_ONE_QUERY.search(json.dumps(part[0])) is not None


def _count_lists(part: Any) -> int:
    """Lists that have an item for each query."""
    if isinstance(part, dict):
        return sum(_count_lists(value) for value in part.values())
    if isinstance(part, list):
        return 1 if _is_per_query(part) else sum(_count_lists(item) for item in part)
    return 0


DEFAULT_BODY = """{
  "mode": "{mode}",
  "queries": [{"query_id": "{query_id}", "query_text": "{query_text}", "top_k": "{top_k}"}]
}"""
OPERATIONAL = ("key_env", "batch_size", "concurrency", "timeout", "retries", "backoff", "max_wait")
"""Settings that shape how answers come, not what they are: a fetch may be resumed with others."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET_NAME = re.compile(
    # Not "max_tokens", nor "tokenizer".
    r"authorization|cookie|token(?!s|i)|secret|passw|credential"
    r"|(api|access|subscription|auth|app)[-_]?key"
    r"|^(x-)?key$",
    re.IGNORECASE,
)
_FROM_ENVIRONMENT = "name the key's variable in http.key_env, its header in http.key_header"


def _none_is_none(value: Any) -> Any:
    return None if value in ("none", "") else value


JsonPath = Annotated[str, Field(min_length=1)]
OptionalPath = Annotated[str | None, BeforeValidator(_none_is_none)]


@cache
def compile_path(path: str) -> JSONPath:
    """A path ready to be used.

    Raises:
        ValueError: If it is no JSONPath.
    """
    import jsonpath

    if not path.startswith("$"):
        raise ValueError(f"'{path}' is no JSONPath: it does not begin with $ — write $.{path}")
    try:
        found = jsonpath.compile(path)
    except jsonpath.JSONPathError as error:
        first = str(error).partition("\n")[0]
        raise ValueError(f"'{path}' is no JSONPath: {first}") from error
    if not isinstance(found, jsonpath.JSONPath):
        raise ValueError(f"'{path}' is several JSONPaths in one — write one")
    return found


class HttpSettings(BaseModel):
    """A service and its mapping; a key ``http`` of ``benchmark.yaml``.

    ``{mode}``, ``{query_id}``, ``{query_text}`` and ``{top_k}`` are filled in: in ``url``
    (escaped), ``params`` and ``body``. Paths are JSONPath (RFC 9535).

    Attributes:
        url: ``http://`` or ``https://``, without a user, key or signature.
        method: Of the request.
        key_env: The environment variable that holds the key; ``None`` sends none.
        key_header: The header for the key.
        key_prefix: What stands before the key in its header, as ``Bearer ``.
        headers: Further headers, free of secrets.
        params: The query string, free of secrets.
        body: The request's body as JSON text; ``None`` sends none, as ``GET`` does by default. A
            text that is only a placeholder becomes its value: ``"{top_k}"`` a number. The list
            with one item that holds ``{query_text}`` has an item for each query of a batch.
        results: Path of the entries, one per query; ``None`` takes the whole answer as the only
            query's.
        query_id: Path of the query's id in its entry; ``None`` goes by position.
        ids: Path of the ids in an entry, best first.
        scores: Path of the scores in an entry, one beside each id; ``None`` goes by the order.
        diagnostics: Path in an entry of what else is kept in the journal.
        higher_is_better: ``false`` for distances.
        batch_size: Queries in a request.
        concurrency: Requests under way at once.
        timeout: Seconds for one request.
        retries: How often a request is sent again after 429, 5xx, a timeout, a broken connection,
            or an answer that is none.
        backoff: Seconds before the first of them; doubled each time, and shortened at random by up
            to a half.
        max_wait: The most seconds between two of them; a service that asks for more
            (``Retry-After``) is given up.
        seed: Of what is random in the waiting.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str
    method: Literal["POST", "GET", "PUT"] = "POST"
    key_env: OptionalPath = None
    key_header: str = "X-API-Key"
    key_prefix: str = ""
    headers: dict[str, str] = Field(default_factory=dict)
    params: dict[str, str] = Field(default_factory=dict)
    body: OptionalPath = DEFAULT_BODY
    results: OptionalPath = "$.results[*]"
    query_id: OptionalPath = "$.query_id"
    ids: JsonPath = "$.segments[*].segment_id"
    scores: OptionalPath = "$.segments[*].score"
    diagnostics: OptionalPath = "$.diagnostics"
    higher_is_better: Flag = True
    batch_size: WholeNumber = Field(default=1, ge=1, le=1000)
    concurrency: WholeNumber = Field(default=4, ge=1, le=64)
    timeout: Number = Field(default=30, gt=0, le=3600)
    retries: WholeNumber = Field(default=4, ge=0, le=20)
    backoff: Number = Field(default=0.5, ge=0, le=60)
    max_wait: Number = Field(default=120, ge=0, le=3600)
    seed: WholeNumber = Field(default=42, ge=0)

    @field_validator("url")
    @classmethod
    def _plain_url(cls, url: str) -> str:
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname, parts.port
            (host or "").encode("idna")
        except ValueError:
            host, parts = None, urlsplit("")
        if parts.scheme not in ("http", "https") or not host or re.search(r"\s", url):
            raise ValueError("expected a URL that begins with http:// or https:// and names a host")
        if "@" in parts.netloc:
            raise ValueError(f"the URL holds a user or password — {_FROM_ENVIRONMENT}")
        names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
        _refuse_secrets(names, in_url=True)
        if has_secrets(url):
            raise ValueError(f"the URL holds a password, key or signature — {_FROM_ENVIRONMENT}")
        return url

    @field_validator("key_env")
    @classmethod
    def _is_variable(cls, name: str | None) -> str | None:
        # Not shown: who mistakes this setting has put the key here.
        if name is not None and not _VARIABLE.fullmatch(name):
            raise ValueError(
                "expected the name of an environment variable — write its name here, and the key "
                "into the variable"
            )
        return name

    @field_validator("headers", "params")
    @classmethod
    def _no_secrets(cls, values: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        _refuse_secrets(list(values), in_url=info.field_name == "params")
        return values

    @field_validator("key_header", "headers")
    @classmethod
    def _header_names(cls, value: Any) -> Any:
        for name in [value] if isinstance(value, str) else value:
            if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
                raise ValueError(f"'{name}' is no name of a header")
        return value

    @field_validator("key_prefix", "headers")
    @classmethod
    def _header_values(cls, value: Any) -> Any:
        for text in [value] if isinstance(value, str) else value.values():
            if not text.isascii() or not text.isprintable():
                raise ValueError("a value cannot stand in a header — use printable ASCII only")
        return value

    @field_validator("body", mode="before")
    @classmethod
    def _json_text(cls, body: Any) -> Any:
        if body is None or body in ("", "none"):
            return None
        if not isinstance(body, str):
            raise ValueError(
                "expected the body as JSON text — write it behind body: |, so that numbers stay "
                "numbers"
            )
        try:
            _refuse_secrets(_names_in(json.loads(body)))
        except json.JSONDecodeError as error:
            raise ValueError(
                f"no valid JSON: {error.msg}, line {error.lineno} column {error.colno}"
            ) from error
        return body

    @field_validator("results", "query_id", "ids", "scores", "diagnostics")
    @classmethod
    def _json_path(cls, path: str | None) -> str | None:
        if path is not None:
            compile_path(path)
        return path

    @model_validator(mode="before")
    @classmethod
    def _get_has_no_body(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("method") == "GET":
            return {"body": None, **values}
        return values

    @model_validator(mode="after")
    def _check_batches(self) -> Self:
        Template(self)
        if self.batch_size > 1 and self.results is None:
            raise ValueError(
                "a batch needs an entry per query in the answer — set http.results, or leave "
                "http.batch_size at 1"
            )
        return self

    @property
    def facts(self) -> dict[str, Any]:
        """The settings that shape the answers."""
        hidden = {*OPERATIONAL, "seed", "key_header", "key_prefix"}
        return self.model_dump(mode="json", exclude=hidden)


def _refuse_secrets(names: list[str], *, in_url: bool = False) -> None:
    for name in names:
        if _SECRET_NAME.search(name) or (in_url and is_secret_name(name)):
            raise ValueError(
                f"'{name}' looks like the place of a secret, and settings are written into "
                f"manifests — {_FROM_ENVIRONMENT}"
            )


def _names_in(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(name for item in value.values() for name in _names_in(item))]
    if isinstance(value, list):
        return [name for item in value for name in _names_in(item)]
    return []
