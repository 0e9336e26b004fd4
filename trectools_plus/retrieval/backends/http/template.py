"""Requests with placeholders, which are filled for each query."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from trectools_plus.retrieval.source import Query

Values = Mapping[str, Any]
"""The values of placeholders, by name."""

# Characters and words with a meaning in the syntax of Lucene, Solr and query_string.
_LUCENE = re.compile(r'([+\-=&|!(){}\[\]^"~*?:\\/])|\b(AND|OR|NOT|TO)\b')


def escape_lucene(text: str) -> str:
    r"""Escape a text for the query syntax of Lucene, so that each of its words is a plain term.

    ``<`` and ``>`` cannot be escaped and become spaces, like line breaks.
    """
    words = " ".join(re.sub(r"[<>\x00-\x1f\x7f]", " ", text).split())
    return _LUCENE.sub(r"\\\g<0>", words) or '""'


ESCAPES: Mapping[str, Callable[[str], str]] = {
    "json": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "lucene": escape_lucene,
}
"""Functions that escape a text for a nested language, by the name after ``|``."""
_NAMES = ("mode", "query_id", "query_text", "query_vector", "top_k")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)(!|\|\w+)?\}")
LIKE_PLACEHOLDER = re.compile(r"(?<!\{)\{[A-Za-z_][\w.-]*(?:\|\w*)?\}(?!\})")
_KNOWN = re.compile(rf"\{{({'|'.join(_NAMES)})(\|({'|'.join(ESCAPES)}))?\}}")


class Template:
    """A request with placeholders for mode, query and depth.

    Args:
        url: The URL.
        body: The body as JSON text; ``None`` for a GET request.
        batch_size: The number of queries in a request.

    Attributes:
        uses_text: Whether the request contains the texts of queries.
        uses_vector: Whether it contains their vectors.

    Raises:
        ValueError: If a placeholder is unknown, if there is none for the query's text or vector, or
            no list for the queries of a batch.
    """

    def __init__(self, url: str, body: str | None, batch_size: int) -> None:
        self._url, self._body = url, json.loads(body or "null")
        whole = f"{url} {json.dumps(self._body)}"
        for match in LIKE_PLACEHOLDER.finditer(whole):
            if not _KNOWN.fullmatch(match[0]):
                raise ValueError(
                    f"unknown placeholder {match[0]} — use {', '.join(_NAMES)} in braces, each "
                    f"also with {', '.join(f'|{name}' for name in ESCAPES)}; for braces that are "
                    "sent as they are, write a space after the first one"
                )
        names = {match[1] for match in _KNOWN.finditer(whole)}
        self.uses_text, self.uses_vector = "query_text" in names, "query_vector" in names
        if not (self.uses_text or self.uses_vector):
            raise ValueError(
                "the request does not contain the query — put {query_text} or {query_vector} into "
                "http.body or http.url"
            )
        if batch_size > 1 and ("{query_" in url or not _repeats(self._body)):
            raise ValueError(
                "a batch requires a list in http.body whose only item contains {query_text}, and "
                "no query in the URL — write such a body, or omit http.batch_size"
            )

    def fill(
        self, mode: str, queries: Sequence[Query], top_k: int, vectors: Mapping[str, list[float]]
    ) -> dict[str, Any]:
        """Return a request for some queries, as arguments for httpx.

        Args:
            mode: The value of ``{mode}``.
            queries: The queries.
            top_k: The number of results.
            vectors: The vector of each query, by its id; empty if the request has none.
        """
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
        url = _PLACEHOLDER.sub(lambda match: quote(_text_of(match, values[0]), safe=""), self._url)
        if self._body is None:
            return {"method": "GET", "url": url}
        return {"method": "POST", "url": url, "json": fill(self._body, *values)}


def _repeats(part: Any) -> bool:
    """Return whether a JSON value contains a list that gets an item for each query."""
    if isinstance(part, list) and len(part) == 1 and "{query_" in json.dumps(part):
        return True
    parts = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return any(map(_repeats, parts))


def fill(part: Any, *each: Values) -> Any:
    """Replace placeholders in a JSON value, but not those in inserted texts.

    A text that is only a placeholder becomes its value. Placeholders without a value remain.

    Args:
        part: The JSON value.
        each: The values, of several queries if a list with a single item gets an item for each.

    Raises:
        ValueError: If a value with ``!`` is missing.
    """
    if isinstance(part, str):
        whole = _PLACEHOLDER.fullmatch(part)
        if whole and whole[1] in each[0] and whole[2] in (None, "!"):
            return _value_of(whole, each[0])
        return _PLACEHOLDER.sub(lambda match: _text_of(match, each[0]), part)
    if isinstance(part, dict):
        return {fill(key, *each): fill(value, *each) for key, value in part.items()}
    if isinstance(part, list):
        if len(each) > 1 and len(part) == 1 and "{query_" in json.dumps(part):
            return [fill(part[0], values) for values in each]
        return [fill(item, *each) for item in part]
    return part


def _value_of(match: re.Match[str], values: Values) -> Any:
    if match[2] == "!" and values[match[1]] is None:
        name = re.sub("^fields_.*", "text_fields", match[1])
        raise ValueError(f"http.{name} is missing: this mode needs it — give http.{name}")
    return values[match[1]]


def _text_of(match: re.Match[str], values: Values) -> str:
    """Return the text that replaces a placeholder inside a longer text."""
    if match[1] not in values:
        return match[0]
    value = _value_of(match, values)
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value)
    return ESCAPES[match[2][1:]](text) if (match[2] or "!") != "!" else text
