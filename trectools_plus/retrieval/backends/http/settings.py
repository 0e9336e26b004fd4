"""Settings of a JSON retrieval service: its requests, and the paths of ids and scores."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self
from urllib.parse import parse_qsl, quote, urlsplit

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from trectools_plus.models import Model
from trectools_plus.redaction import is_secret_name, secret_in_url
from trectools_plus.retrieval.setting_types import Flag, Number, WholeNumber
from trectools_plus.retrieval.source import Query

if TYPE_CHECKING:
    from jsonpath import JSONPath

Values = Mapping[str, str | int]

_PLACEHOLDER = re.compile(r"\{(mode|query_id|query_text|top_k)\}")
_QUERY_PLACEHOLDER = re.compile(r"\{(query_id|query_text)\}")


class Template:
    """A request with placeholders for mode, query and depth.

    Args:
        settings: The settings of the service.

    Raises:
        ValueError: If there is no placeholder for the query's text, or no list for the queries of
            a batch.
    """

    def __init__(self, settings: HttpSettings) -> None:
        self._settings = settings
        self._body = None if settings.body is None else json.loads(settings.body)
        outside_body = [settings.url, *settings.params.values()]
        if not any("{query_text}" in text for text in (*outside_body, settings.body or "")):
            raise ValueError(
                "the request does not contain the query — put {query_text} into http.body, "
                "http.params or http.url"
            )
        if settings.batch_size > 1 and (
            _count_query_lists(self._body) != 1
            or any(_QUERY_PLACEHOLDER.search(text) for text in outside_body)
        ):
            raise ValueError(
                "a batch requires one list in http.body whose only item contains {query_text}, and "
                "no query elsewhere — write such a list, or omit http.batch_size"
            )

    def fill(self, mode: str, queries: Sequence[Query], top_k: int) -> dict[str, Any]:
        """Return ``url`` and ``json`` for some queries, as arguments for httpx.

        Raises:
            httpx.InvalidURL: If the URL is not valid, for example too long.
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
            # httpx's argument ``params`` would replace the query string of the URL.
            url = url.copy_merge_params(params)
        request: dict[str, Any] = {"url": url}
        if self._body is not None:
            request["json"] = _fill(self._body, values)
        return request


def _fill(part: Any, values: Sequence[Values]) -> Any:
    """Replace all placeholders in a part of the template, but not those in inserted texts."""
    if isinstance(part, str):
        placeholder = _PLACEHOLDER.fullmatch(part)
        if placeholder:
            return values[0][placeholder[1]]
        return _PLACEHOLDER.sub(lambda match: str(values[0][match[1]]), part)
    if isinstance(part, dict):
        return {key: _fill(value, values) for key, value in part.items()}
    if isinstance(part, list):
        if _is_per_query(part):
            return [_fill(part[0], [one]) for one in values]
        return [_fill(item, values) for item in part]
    return part


def _is_per_query(part: list[Any]) -> bool:
    return len(part) == 1 and _QUERY_PLACEHOLDER.search(json.dumps(part[0])) is not None


def _count_query_lists(part: Any) -> int:
    """Count the lists that get an item for each query."""
    if isinstance(part, dict):
        return sum(map(_count_query_lists, part.values()))
    if isinstance(part, list):
        return 1 if _is_per_query(part) else sum(map(_count_query_lists, part))
    return 0


DEFAULT_BODY = """{
  "mode": "{mode}",
  "queries": [{"query_id": "{query_id}", "query_text": "{query_text}", "top_k": "{top_k}"}]
}"""
OPERATIONAL = ("key_env", "batch_size", "concurrency", "timeout", "retries", "backoff", "max_wait")
"""Settings that do not affect the answers, so that a fetch can be resumed with other values."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET_NAME = re.compile(
    # "max_tokens" and "tokenizer" do not match.
    r"authorization|cookie|token(?!s|i)|secret|passw|credential"
    r"|(api|access|subscription|auth|app)[-_]?key"
    r"|^(x-)?key$",
    re.IGNORECASE,
)
_FROM_ENVIRONMENT = (
    "put the secret into an environment variable, and write the variable's name into http.key_env"
)


def _none_from_text(value: Any) -> Any:
    return None if value in ("none", "") else value


JsonPath = Annotated[str, Field(min_length=1)]
OptionalText = Annotated[str | None, BeforeValidator(_none_from_text)]


@cache
def compile_path(path: str) -> JSONPath:
    """Compile a JSONPath.

    Raises:
        ValueError: If it is not a JSONPath.
    """
    import jsonpath

    if not path.startswith("$"):
        raise ValueError(f"'{path}' is not a JSONPath: it does not start with $ — write $.{path}")
    try:
        compiled = jsonpath.compile(path)
    except jsonpath.JSONPathError as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"'{path}' is not a JSONPath: {reason}") from error
    if not isinstance(compiled, jsonpath.JSONPath):
        raise ValueError(f"'{path}' combines several JSONPaths — write only one")
    return compiled


class HttpSettings(Model):
    """A service and its mapping: the key ``http`` of ``benchmark.yaml``.

    The placeholders ``{mode}``, ``{query_id}``, ``{query_text}`` and ``{top_k}`` are replaced in
    ``url`` (escaped), ``params`` and ``body``. Paths are JSONPath (RFC 9535).

    Attributes:
        url: A URL with ``http://`` or ``https://``, without a user, key or signature.
        method: The method of the request.
        key_env: The name of the environment variable that contains the key; ``None`` sends no key.
        key_header: The header for the key.
        key_prefix: Text before the key in its header, for example ``Bearer ``.
        headers: Additional headers without secrets.
        params: The query string without secrets.
        body: The request's body as JSON text; ``None`` sends no body, the default for ``GET``. A
            text that is only a placeholder becomes its value: ``"{top_k}"`` becomes a number. The
            list with a single item that contains ``{query_text}`` gets an item for each query of
            a batch.
        results: Path of the entries, one per query; ``None`` uses the whole answer as the entry
            of the only query.
        query_id: Path of the query's id in its entry; ``None`` matches entries by position.
        ids: Path of the ids in an entry, best first.
        scores: Path of the scores in an entry, one for each id; ``None`` uses 1/rank.
        diagnostics: Path in an entry of additional data for the journal.
        higher_is_better: ``false`` for distances.
        batch_size: Queries in a request.
        concurrency: Maximum number of simultaneous requests.
        timeout: Seconds for one request.
        retries: Maximum number of retries after 429, 5xx, a timeout, a broken connection, or an
            unusable answer.
        backoff: Seconds before the first retry; doubled for each further retry, and shortened at
            random by up to a half.
        max_wait: Maximum seconds between two attempts; if a service requests more by
            ``Retry-After``, the query fails.
        seed: Random seed for the delays between attempts.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str
    method: Literal["POST", "GET", "PUT"] = "POST"
    key_env: OptionalText = None
    key_header: str = "X-API-Key"
    key_prefix: str = ""
    headers: dict[str, str] = Field(default_factory=dict)
    params: dict[str, str] = Field(default_factory=dict)
    body: OptionalText = DEFAULT_BODY
    results: OptionalText = "$.results[*]"
    query_id: OptionalText = "$.query_id"
    ids: JsonPath = "$.segments[*].segment_id"
    scores: OptionalText = "$.segments[*].score"
    diagnostics: OptionalText = "$.diagnostics"
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
    def _check_url(cls, url: str) -> str:
        if secret := secret_in_url(url):
            raise ValueError(f"the URL contains {secret} — {_FROM_ENVIRONMENT}")
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname, parts.port
            (host or "").encode("idna")
        except ValueError:
            host, parts = None, urlsplit("")
        if parts.scheme not in ("http", "https") or not host or re.search(r"\s", url):
            raise ValueError(
                "expected a URL that starts with http:// or https:// and contains a host"
            )
        _refuse_secrets([name for name, _ in parse_qsl(parts.query, keep_blank_values=True)])
        return url

    @field_validator("key_env")
    @classmethod
    def _check_variable(cls, name: str | None) -> str | None:
        # The message does not show the value, which may be the key itself.
        if name is not None and not _VARIABLE.fullmatch(name):
            raise ValueError(
                "expected the name of an environment variable — put the key into a variable, and "
                "write the variable's name here"
            )
        return name

    @field_validator("headers", "params")
    @classmethod
    def _check_secrets(cls, values: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        _refuse_secrets(list(values), in_url=info.field_name == "params")
        return values

    @field_validator("key_header", "headers")
    @classmethod
    def _check_header_names(cls, value: Any) -> Any:
        for name in [value] if isinstance(value, str) else value:
            if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
                raise ValueError(f"'{name}' is not a valid name of a header")
        return value

    @field_validator("key_prefix", "headers")
    @classmethod
    def _check_header_values(cls, value: Any) -> Any:
        for text in [value] if isinstance(value, str) else value.values():
            if not text.isascii() or not text.isprintable():
                raise ValueError("a value is not valid in a header — use printable ASCII only")
        return value

    @field_validator("body", mode="before")
    @classmethod
    def _check_body(cls, body: Any) -> Any:
        if body is None or body in ("", "none"):
            return None
        if not isinstance(body, str):
            raise ValueError(
                "expected the body as JSON text — write it as a block of text after body: |"
            )
        try:
            _refuse_secrets(_member_names(json.loads(body)))
        except json.JSONDecodeError as error:
            raise ValueError(
                f"invalid JSON: {error.msg}, line {error.lineno} column {error.colno}"
            ) from error
        return body

    @field_validator("results", "query_id", "ids", "scores", "diagnostics")
    @classmethod
    def _check_path(cls, path: str | None) -> str | None:
        if path is not None:
            compile_path(path)
        return path

    @model_validator(mode="before")
    @classmethod
    def _omit_body_of_get(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("method") == "GET":
            return {"body": None, **values}
        return values

    @model_validator(mode="after")
    def _check_template(self) -> Self:
        Template(self)
        if self.batch_size > 1 and self.results is None:
            raise ValueError(
                "a batch requires an entry per query in the answer — set http.results, or omit "
                "http.batch_size"
            )
        return self

    @property
    def facts(self) -> dict[str, Any]:
        """The settings that determine the answers."""
        excluded = {*OPERATIONAL, "seed", "key_header", "key_prefix"}
        return self.model_dump(mode="json", exclude=excluded)


def _refuse_secrets(names: list[str], *, in_url: bool = False) -> None:
    for name in names:
        if _SECRET_NAME.search(name) or (in_url and is_secret_name(name)):
            raise ValueError(
                f"'{name}' looks like the name of a secret, but settings are written to "
                f"manifests — {_FROM_ENVIRONMENT}"
            )


def _member_names(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(name for item in value.values() for name in _member_names(item))]
    if isinstance(value, list):
        return [name for item in value for name in _member_names(item)]
    return []
