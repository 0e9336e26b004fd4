"""Requests to a service, made from the template in its settings."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from trectools_plus.retrieval.backends.base import Query

if TYPE_CHECKING:
    from trectools_plus.retrieval.backends.http_settings import HttpSettings

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
