"""Presets of the HTTP mapping for search engines, from the table ``engines.yaml``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import yaml

from trectools_plus.choices import MODE_ALIASES
from trectools_plus.retrieval.backends.http.template import fill
from trectools_plus.text import split_list

Engine = Literal[
    "elasticsearch", "opensearch", "solr", "vespa", "qdrant", "weaviate", "typesense", "milvus"
]
"""An engine with a preset."""
ENGINES: tuple[Engine, ...] = get_args(Engine)
_OF_INDEX = ("index", "vector_field", "id_field", "rank_profile")


@cache
def load_presets() -> dict[str, dict[str, Any]]:
    """Return the preset of each engine: settings of all modes, and ``modes`` with those of each."""
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


def _values_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the placeholders of an index."""
    fields = given.get("text_fields") or ()
    fields = split_list(fields) if isinstance(fields, str) else [*map(str, fields)]
    id_field = given.get("id_field")
    return {
        **{name: given.get(name) and str(given[name]) for name in _OF_INDEX},
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
