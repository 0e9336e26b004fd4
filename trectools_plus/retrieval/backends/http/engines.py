"""Presets of the HTTP mapping for search engines, from the table ``engines.yaml``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import yaml

from trectools_plus.text import split_list

ENGINES = (
    *("elasticsearch", "opensearch", "solr", "vespa", "qdrant", "weaviate", "typesense"),
    "milvus",
)
"""Engines with a preset."""
_PLACEHOLDER = re.compile(r"\{([a-z_]+)(!?)\}")
_SETTINGS = {"fields_spaced": "text_fields", "fields_commas": "text_fields"}


@lru_cache(maxsize=1)
def load_presets() -> dict[str, dict[str, Any]]:
    """Return the preset of each engine: settings of all modes, and ``modes`` with those of each."""
    table = files(__package__) / "engines.yaml"
    presets: dict[str, dict[str, Any]] = yaml.safe_load(table.read_text("utf-8"))
    return presets


def resolve_preset(engine: str, mode: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of an engine's mode for the user's index.

    Args:
        engine: A name of :data:`ENGINES`.
        mode: The mode; one that the engine lacks gets only the settings of all modes.
        given: The settings of the user. The URL, the body and those that describe the index are
            used.

    Returns:
        Settings of :class:`~.mapping.HttpSettings`, with the complete URL and the body.

    Raises:
        ValueError: If a setting that the mode needs is missing.
    """
    preset = {**load_presets()[engine]}
    preset |= preset.pop("modes").get(mode, {})
    batch, body = {**preset.pop("batch", {})}, preset.pop("body", None)
    if batch and str(given.get("batch_size", 1)) not in ("0", "1"):
        body = _fill(batch.pop("body"), {"body": body}, "")
        preset |= batch
    given = {name: value for name, value in given.items() if value is not None}
    url = urlsplit(str(given["url"]))
    base, name = url.path.rstrip("/"), None
    if "index" not in given and "{index" in preset["path"]:
        base, _, name = base.rpartition("/")
    defaults = {"id_field": preset.pop("id_field", None), "index": unquote(name or "") or None}
    values = _values({**defaults, **given})
    where = f"the engine {engine} needs it for the mode {mode}"
    index = values["index"]
    quoted = {**values, "index": None if index is None else quote(index, safe=",*")}
    path = base + _fill(preset.pop("path"), quoted, where)
    if (field_ids := preset.pop("field_ids", None)) is not None and "id_field" in given:
        preset["ids"] = field_ids
    settings: dict[str, Any] = _fill(preset, values, where)
    settings["url"] = urlunsplit(url._replace(path=path, fragment=""))
    settings["body"] = given.get("body")
    if settings["body"] is None and body is not None:
        settings["body"] = json.dumps(_fill(body, values, where), ensure_ascii=False)
    return settings


def _values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the placeholders."""
    names = ("index", "vector_field", "id_field", "rank_profile")
    values: dict[str, Any] = {
        name: None if given.get(name) is None else str(given[name]) for name in names
    }
    fields = given.get("text_fields") or ()
    fields = split_list(fields) if isinstance(fields, str) else [str(name) for name in fields]
    values["text_fields"] = fields or None
    values["fields_spaced"] = " ".join(fields) or None
    values["fields_commas"] = ",".join(fields) or None
    values["id_fields"] = [values["id_field"]] if values["id_field"] else False
    return values


def _fill(part: Any, values: Mapping[str, Any], where: str) -> Any:
    """Replace the placeholders of the user's index in a part of a preset."""

    def value_of(match: re.Match[str]) -> Any:
        name = match[1]
        if match[2] and values[name] is None:
            setting = _SETTINGS.get(name, name)
            raise ValueError(f"http.{setting} is missing: {where} — give http.{setting}")
        return values[name]

    def text_of(match: re.Match[str]) -> str:
        value = value_of(match) if match[1] in values else match[0]
        if isinstance(value, list):
            return json.dumps(value, ensure_ascii=False)
        return value or ""

    if isinstance(part, str):
        whole = _PLACEHOLDER.fullmatch(part)
        return value_of(whole) if whole and whole[1] in values else _PLACEHOLDER.sub(text_of, part)
    if isinstance(part, Mapping):
        filled = {
            _fill(key, values, where): _fill(item, values, where) for key, item in part.items()
        }
        return {key: item for key, item in filled.items() if item is not None}
    if isinstance(part, list):
        return [_fill(item, values, where) for item in part]
    return part
