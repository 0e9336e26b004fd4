"""Requests with placeholders, which are filled for each query, and presets for search engines.

The presets of the HTTP mapping are in the table ``engines.yaml``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from trectools_plus.choices import MODE_ALIASES
from trectools_plus.retrieval.source import Query
from trectools_plus.text import split_list

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


Engine = Literal[
    "elasticsearch", "opensearch", "solr", "vespa", "qdrant", "weaviate", "typesense", "milvus"
]
"""An engine with a preset."""
ENGINES: tuple[Engine, ...] = get_args(Engine)
_OF_INDEX = ("index", "vector_field", "id_field", "rank_profile")


@cache
def load_presets() -> dict[str, dict[str, Any]]:
    """Return the preset of each engine: settings of all modes, and ``modes`` with those of each."""
    import yaml

    table = files(__package__) / "engines.yaml"
    presets: dict[str, dict[str, Any]] = yaml.safe_load(table.read_text("utf-8"))
    return presets


def resolve_preset(engine: str, mode: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of an engine's mode for the user's index.

    Args:
        engine: A name of :data:`ENGINES`.
        mode: The mode; one that the engine lacks needs a body.
        given: The settings of the user, which replace those of the preset.

    Returns:
        Settings of :class:`~.mapping.HttpSettings`, with the complete URL and the body.

    Raises:
        ValueError: If there is no such mode, or a setting that it needs is missing.
    """
    preset = {**load_presets()[engine]}
    modes = preset.pop("modes")
    kind, has_body = MODE_ALIASES.get(mode, mode), given.get("body") is not None
    if kind not in modes and not has_body:
        raise ValueError(
            f"unknown mode '{mode}' — the engine {engine} has {', '.join(modes)}; a mode with "
            "another name needs its own mode (one of these) or body in http.modes"
        )
    if not given.get("url"):
        raise ValueError("the engine's URL is missing — give http.url, or --http-url")
    preset |= modes.get(kind, {})
    url = urlsplit(str(given["url"]))
    base, name = url.path.rstrip("/"), ""
    if given.get("index") is None and "{index" in preset["path"]:
        base, _, name = base.rpartition("/")
    of_ids = preset.pop("field_ids", preset["ids"])
    if given.get("id_field"):
        preset["ids"] = of_ids
    usual = {"id_field": preset.pop("id_field", None), "index": unquote(name) or None}
    known = {**usual, **{key: value for key, value in given.items() if value is not None}}
    values = _values_of(known)
    index = values["index"] and quote(values["index"], safe=",*")
    path = base + fill(preset.pop("path"), {**values, "index": index})
    body = None if has_body else fill(preset.pop("body"), values)
    settings = {**fill({**preset, "body": None}, values), **given}
    settings["url"] = urlunsplit(url._replace(path=path, fragment=""))
    settings["body"] = given["body"] if has_body else json.dumps(_prune(body), ensure_ascii=False)
    return settings


def _values_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the placeholders of an index."""
    fields = settings.get("text_fields") or ()
    fields = split_list(fields) if isinstance(fields, str) else [*map(str, fields)]
    id_field = settings.get("id_field")
    return {
        **{name: settings.get(name) and str(settings[name]) for name in _OF_INDEX},
        "text_fields": fields or None,
        "fields_spaced": " ".join(fields) or None,
        "fields_commas": ",".join(fields) or None,
        "id_fields": [id_field] if id_field else False,
    }


def _prune(part: Any) -> Any:
    """Leave out the members of a body whose value is missing."""
    if isinstance(part, dict):
        return {key: _prune(value) for key, value in part.items() if value is not None}
    return [*map(_prune, part)] if isinstance(part, list) else part
