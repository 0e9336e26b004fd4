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

    Attributes:
        uses_text: Whether the request contains the texts of queries.
        uses_vector: Whether it contains their vectors.

    Raises:
        ValueError: If a placeholder is unknown, or there is none for the query's text or vector.
    """

    def __init__(self, url: str, body: str | None) -> None:
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

    def fill(self, mode: str, query: Query, top_k: int, vector: Sequence[float]) -> dict[str, Any]:
        """Return a request for a query, as arguments for httpx.

        Args:
            mode: The value of ``{mode}``.
            query: The query.
            top_k: The number of results.
            vector: The vector of the query; empty if the request has none.
        """
        values = {
            "mode": mode,
            "top_k": top_k,
            "query_id": query.query_id,
            "query_text": query.text,
            "query_vector": vector,
        }
        url = _PLACEHOLDER.sub(lambda match: quote(_text_of(match, values), safe=""), self._url)
        if self._body is None:
            return {"method": "GET", "url": url}
        return {"method": "POST", "url": url, "json": fill(self._body, values)}


def fill(part: Any, values: Values) -> Any:
    """Replace placeholders in a JSON value, but not those in inserted texts.

    A text that is only a placeholder becomes its value. Placeholders without a value remain.

    Raises:
        ValueError: If a value with ``!`` is missing.
    """
    if isinstance(part, str):
        whole = _PLACEHOLDER.fullmatch(part)
        if whole and whole[1] in values and whole[2] in (None, "!"):
            return _value_of(whole, values)
        return _PLACEHOLDER.sub(lambda match: _text_of(match, values), part)
    if isinstance(part, dict):
        return {fill(key, values): fill(value, values) for key, value in part.items()}
    return [fill(item, values) for item in part] if isinstance(part, list) else part


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
