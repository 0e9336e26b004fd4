"""Requests with placeholders, which are filled for each query."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from trectools_plus.retrieval.source import Query

Values = Mapping[str, Any]

# Characters and words with a meaning in the syntax of Lucene, Solr and query_string.
_LUCENE = re.compile(r'([+\-=&|!(){}\[\]^"~*?:\\/])|\b(AND|OR|NOT|TO)\b')


def escape_lucene(text: str) -> str:
    r"""Escape a text for the query syntax of Lucene, so that each of its words is a plain term.

    ``<`` and ``>`` cannot be escaped and become spaces, like line breaks.
    """
    words = " ".join(re.sub(r"[<>\x00-\x1f\x7f]", " ", text).split())
    return _LUCENE.sub(r"\\\g<0>", words) or '""'


def escape_json(text: str) -> str:
    """Escape a text for a string in double quotes of JSON, GraphQL or YQL."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def escape_odata(text: str) -> str:
    """Escape a text for a string in single quotes of OData or SQL."""
    return text.replace("'", "''")


ESCAPES: Mapping[str, Callable[[str], str]] = {
    "json": escape_json,
    "lucene": escape_lucene,
    "odata": escape_odata,
}
"""Functions that escape a text for a nested language, by the name after ``|``."""

_ESCAPE_NAMES = "|".join(ESCAPES)
_NAMES = ("mode", "query_id", "query_text", "query_vector", "top_k")
_PLACEHOLDER = re.compile(rf"\{{({'|'.join(_NAMES)})(?:\|({_ESCAPE_NAMES}))?\}}")
_OF_QUERY = re.compile(rf"\{{query_(?:id|text|vector)(?:\|(?:{_ESCAPE_NAMES}))?\}}")
_LIKE_PLACEHOLDER = re.compile(r"(?<!\{)\{[A-Za-z_][\w.-]*(?:\|\w*)?\}(?!\})")
_QUOTED = {'"': escape_json, "'": escape_odata}


def parse_body(body: str, body_format: str | None) -> list[Any]:
    """Return the JSON values of a body.

    Raises:
        json.JSONDecodeError: If it is not JSON.
    """
    if body_format != "ndjson":
        return [json.loads(body)]
    return [json.loads(line) for line in body.split("\n") if line.strip()]


class Template:
    """A request with placeholders for mode, query and depth.

    Args:
        url: The URL.
        params: The query string.
        body: The body as JSON text; ``None`` for none.
        body_format: ``ndjson`` if each line of the body is JSON.
        batch_size: The number of queries in a request.
        mode: The value of ``{mode}``; ``None`` for the name of the mode.

    Raises:
        ValueError: If a placeholder is unknown, if there is none for the query's text or vector, or
            no list for the queries of a batch.
    """

    def __init__(
        self,
        url: str,
        params: Mapping[str, str],
        body: str | None,
        body_format: str,
        batch_size: int,
        mode: str | None,
    ) -> None:
        self._url, self._params, self._mode = url, params, mode
        self._is_ndjson = body_format == "ndjson"
        self._documents = [] if body is None else parse_body(body, body_format)
        outside = [url, *params.values()]
        everywhere = [*outside, *params, json.dumps(self._documents)]
        for text in everywhere:
            _refuse_unknown(text)
        names = [match[1] for text in everywhere for match in _PLACEHOLDER.finditer(text)]
        self.uses_text, self.uses_vector = "query_text" in names, "query_vector" in names
        if not (self.uses_text or self.uses_vector):
            raise ValueError(
                "the request does not contain the query — put {query_text} or {query_vector} into "
                "http.body, http.params or http.url"
            )
        lists = 1 if self._is_ndjson else sum(map(_count_query_lists, self._documents))
        if batch_size > 1 and (lists != 1 or any(map(_OF_QUERY.search, outside))):
            raise ValueError(
                "a batch requires one list in http.body whose only item contains {query_text}, or "
                "http.body_format: ndjson, and no query elsewhere — write such a body, or omit "
                "http.batch_size"
            )

    def fill(
        self,
        mode: str,
        queries: Sequence[Query],
        top_k: int,
        vectors: Mapping[str, list[float]] | None = None,
    ) -> dict[str, Any]:
        """Return the URL and body for some queries, as arguments for httpx.

        Args:
            mode: The name of the mode.
            queries: The queries.
            top_k: The number of results.
            vectors: The vector of each query, by its id.

        Raises:
            httpx.InvalidURL: If the URL is not valid, for example too long.
        """
        import httpx

        values: list[Values] = [
            {
                "mode": self._mode or mode,
                "top_k": top_k,
                "query_id": query.query_id,
                "query_text": query.text,
                "query_vector": (vectors or {}).get(query.query_id),
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
        if self._is_ndjson:
            lines = [_fill(line, [value]) for value in values for line in self._documents]
            content = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
            request["content"] = content.encode("utf-8")
            request["headers"] = {"content-type": "application/x-ndjson"}
        elif self._documents:
            request["json"] = _fill(self._documents[0], values)
        return request


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
            return [_fill(part[0], [one]) for one in values]
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
    if match[2] is not None:
        return ESCAPES[match[2]](text)
    before, after = match.string[: match.start()][-1:], match.string[match.end() :][:1]
    escape = _QUOTED.get(before) if before == after else None
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


def refuse_placeholders(texts: Mapping[str, str]) -> None:
    """Refuse placeholders in headers, which are sent as they are.

    Raises:
        ValueError: If there is one.
    """
    for name, text in texts.items():
        if match := _LIKE_PLACEHOLDER.search(text):
            raise ValueError(
                f"the header {name} contains {match[0]}, but headers have no placeholders — put it "
                "into http.body, http.params or http.url"
            )


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _is_per_query(part: list[Any]) -> bool:
    return len(part) == 1 and _OF_QUERY.search(json.dumps(part[0])) is not None


def _count_query_lists(part: Any) -> int:
    """Count the lists that get an item for each query."""
    if isinstance(part, dict):
        return sum(map(_count_query_lists, part.values()))
    if isinstance(part, list):
        return 1 if _is_per_query(part) else sum(map(_count_query_lists, part))
    return 0
