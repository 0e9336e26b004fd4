"""Requests with placeholders, which are filled for each query."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from trectools_plus.retrieval.source import Query

Values = Mapping[str, Any]
"""The values of the placeholders for a query, by name."""

# Characters and words with a meaning in the syntax of Lucene, Solr and query_string.
_LUCENE = re.compile(r'([+\-=&|!(){}\[\]^"~*?:\\/])|\b(AND|OR|NOT|TO)\b')


def escape_lucene(text: str) -> str:
    r"""Escape a text for the query syntax of Lucene, so that each of its words is a plain term.

    ``<`` and ``>`` cannot be escaped and become spaces, like line breaks.
    """
    words = " ".join(re.sub(r"[<>\x00-\x1f\x7f]", " ", text).split())
    return _LUCENE.sub(r"\\\g<0>", words) or '""'


def _escape_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _escape_odata(text: str) -> str:
    return text.replace("'", "''")


ESCAPES: Mapping[str, Callable[[str], str]] = {
    "json": _escape_json,
    "lucene": escape_lucene,
    "odata": _escape_odata,
}
"""Functions that escape a text for a nested language, by the name after ``|``."""

_NAMES = ("mode", "query_id", "query_text", "query_vector", "top_k")
_PLACEHOLDER = re.compile(rf"\{{({'|'.join(_NAMES)})(?:\|({'|'.join(ESCAPES)}))?\}}")
_LIKE_PLACEHOLDER = re.compile(r"(?<!\{)\{[A-Za-z_][\w.-]*(?:\|\w*)?\}(?!\})")
_QUOTED = {'"': _escape_json, "'": _escape_odata}


class Template:
    """A request with placeholders for mode, query and depth.

    Args:
        url: The URL.
        params: The query string.
        body: The body as JSON text; ``None`` for none.
        batch_size: The number of queries in a request.

    Attributes:
        uses_text: Whether the request contains the texts of queries.
        uses_vector: Whether it contains their vectors.

    Raises:
        ValueError: If a placeholder is unknown, if there is none for the query's text or vector, or
            no list for the queries of a batch.
    """

    def __init__(
        self, url: str, params: Mapping[str, str], body: str | None, batch_size: int
    ) -> None:
        self._url, self._params = url, params
        self._body = None if body is None else json.loads(body)
        outside = [url, *params, *params.values()]
        everywhere = [*outside, json.dumps(self._body)]
        for text in everywhere:
            _refuse_unknown(text)
        names = [match[1] for text in everywhere for match in _PLACEHOLDER.finditer(text)]
        self.uses_text, self.uses_vector = "query_text" in names, "query_vector" in names
        if not (self.uses_text or self.uses_vector):
            raise ValueError(
                "the request does not contain the query — put {query_text} or {query_vector} into "
                "http.body, http.params or http.url"
            )
        is_in_list = _count_query_lists(self._body) == 1 and not any(map(_has_query, outside))
        if batch_size > 1 and not is_in_list:
            raise ValueError(
                "a batch requires one list in http.body whose only item contains {query_text}, and "
                "no query elsewhere — write such a body, or omit http.batch_size"
            )

    def fill(
        self, mode: str, queries: Sequence[Query], top_k: int, vectors: Mapping[str, list[float]]
    ) -> dict[str, Any]:
        """Return the URL and body for some queries, as arguments for httpx.

        Args:
            mode: The value of ``{mode}``.
            queries: The queries.
            top_k: The number of results.
            vectors: The vector of each query, by its id; empty if the request has none.

        Raises:
            httpx.InvalidURL: If the URL is not valid, for example too long.
        """
        import httpx

        values = [
            {
                "mode": mode,
                "top_k": top_k,
                "query_id": query.query_id,
                "query_text": query.text,
                "query_vector": vectors.get(query.query_id),
            }
            for query in queries
        ]
        first = values[0]
        url = _PLACEHOLDER.sub(lambda match: quote(_insert(match, first), safe=""), self._url)
        params = {
            _insert_all(name, first): _as_text(_fill(text, values))
            for name, text in self._params.items()
        }
        # httpx's argument ``params`` would replace the query string of the URL.
        request: dict[str, Any] = {"url": httpx.URL(url).copy_merge_params(params)}
        return request if self._body is None else {**request, "json": _fill(self._body, values)}


def _fill(part: Any, values: Sequence[Values]) -> Any:
    """Replace all placeholders in a part of the template, but not those in inserted texts."""
    if isinstance(part, str):
        placeholder = _PLACEHOLDER.fullmatch(part)
        if placeholder and placeholder[2] is None:
            return values[0][placeholder[1]]
        return _insert_all(part, values[0])
    if isinstance(part, dict):
        return {_insert_all(key, values[0]): _fill(value, values) for key, value in part.items()}
    if isinstance(part, list):
        if _is_per_query(part):
            return [_fill(part[0], [value]) for value in values]
        return [_fill(item, values) for item in part]
    return part


def _insert_all(text: str, values: Values) -> str:
    return _PLACEHOLDER.sub(lambda match: _insert(match, values), text)


def _insert(match: re.Match[str], values: Values) -> str:
    """Return the text that replaces a placeholder inside a longer text.

    Directly between quotes, the text is escaped for these quotes unless the placeholder names
    another way to escape it.
    """
    text = _as_text(values[match[1]])
    before, after = match.string[: match.start()][-1:], match.string[match.end() :][:1]
    escape = ESCAPES.get(match[2]) or (_QUOTED.get(before) if before == after else None)
    return text if escape is None else escape(text)


def _refuse_unknown(text: str) -> None:
    for match in _LIKE_PLACEHOLDER.finditer(text):
        if not _PLACEHOLDER.fullmatch(match[0]):
            known = ", ".join(f"{{{name}}}" for name in _NAMES)
            raise ValueError(
                f"unknown placeholder {match[0]} — the placeholders are {known}, each also with "
                f"{', '.join(f'|{name}' for name in ESCAPES)}; for braces that are sent as they "
                "are, write a space after the first one"
            )


def refuse_placeholders(text: str) -> None:
    """Refuse placeholders in a header, which is sent as it is.

    Raises:
        ValueError: If there is one.
    """
    if match := _LIKE_PLACEHOLDER.search(text):
        raise ValueError(
            f"a header contains {match[0]}, but headers have no placeholders — put it into "
            "http.body, http.params or http.url"
        )


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _has_query(text: str) -> bool:
    return any(match[1].startswith("query_") for match in _PLACEHOLDER.finditer(text))


def _is_per_query(part: list[Any]) -> bool:
    return len(part) == 1 and _has_query(json.dumps(part[0]))


def _count_query_lists(part: Any) -> int:
    """Count the lists that get an item for each query."""
    if isinstance(part, list) and _is_per_query(part):
        return 1
    parts = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return sum(map(_count_query_lists, parts))
