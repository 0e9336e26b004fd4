"""Presets of the HTTP mapping for search engines: requests, paths of ids, and completeness.

A preset is a value: settings of :class:`~.settings.HttpSettings` that all modes of an engine have,
and those of each mode. It follows the engine's documentation of its HTTP interface.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit, urlunsplit

LEXICAL, VECTOR, HYBRID = "lexical", "vector", "hybrid"
NAMES = ("index", "text_fields", "vector_field", "id_field", "rank_profile")
"""Settings that describe the user's index."""

_NAME = re.compile(r"\{([a-z_]+)([!?]?)\}")
_MISSING = object()


@dataclass(frozen=True, slots=True)
class Engine:
    """The mapping of a search engine.

    Placeholders like ``{index}`` are replaced by the settings in :data:`NAMES`, before those of a
    query like ``{query_text}``. With ``!``, the setting is required. With ``?``, the text is empty
    if the setting is missing. Otherwise, a member with a missing value is left out.

    ``{text_field}`` is the only text field, and ``{fields_spaced}`` and ``{fields_commas}`` are
    the text fields in one text. ``{id_fields}`` is a list with the field of the id, or false;
    ``{id_field_list}`` is that list or missing. ``{id_path}`` is the end of its JSONPath.

    Attributes:
        common: Settings of all modes. ``path`` is the path of the URL, and ``field_ids`` the path
            of the ids if the setting ``id_field`` is given.
        modes: Settings of each mode; ``body`` is a JSON value.
        batch: Settings of a batch, if the engine has batches; ``{body}`` is the body of a query.
        defaults: Values of settings in :data:`NAMES`.
        clauses: Additional placeholders, each with a setting and the text if it is given.
    """

    common: Mapping[str, Any]
    modes: Mapping[str, Mapping[str, Any]]
    batch: Mapping[str, Any] | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    clauses: Mapping[str, tuple[str, str]] = field(default_factory=dict)


_MULTI_MATCH = {"multi_match": {"query": "{query_text}", "fields": "{text_fields}"}}
_HITS = {
    "path": "/{index!}/_search",
    "results": None,
    "ids": "$.hits.hits[*]._id",
    "field_ids": "$.hits.hits[*]._source{id_path}",
    "scores": "$.hits.hits[*]._score",
    "total": "$.hits.total.value",
    "incomplete": [
        "$.timed_out",
        "$.terminated_early",
        "$._shards.failed",
        "$._clusters.skipped",
    ],
    "diagnostics": "$.took",
    "key_header": "Authorization",
    "key_prefix": "ApiKey ",
}
_MSEARCH = {
    "path": "/{index!}/_msearch",
    "body_format": "ndjson",
    "body": [{}, "{body}"],
    "results": "$.responses[*]",
    "query_id": None,
}
_SIZE = {"size": "{top_k}", "_source": "{id_fields}"}
_ELASTIC_KNN = {"field": "{vector_field!}", "query_vector": "{query_vector}", "k": "{top_k}"}
_OPENSEARCH_KNN = {"knn": {"{vector_field!}": {"vector": "{query_vector}", "k": "{top_k}"}}}

_EDISMAX = {"defType": "edismax", "qf": "{fields_spaced}", "q.op": "OR"}
_SOLR_KNN = "{!knn f={vector_field!} topK={top_k}}{query_vector}"
_SOLR = {"limit": "{top_k}", "fields": ["{id_field!}", "score"]}

_NEAREST = "({targetHits:{top_k}}nearestNeighbor({vector_field!},q))"
_VESPA = {
    "hits": "{top_k}",
    "ranking.profile": "{rank_profile}",
    "model.restrict": "{index}",
}
_TOKENIZED = {
    "query": "{query_text}",
    "model.type": "tokenize",
    "model.defaultIndex": "{text_field}",
}

_QDRANT = {"limit": "{top_k}", "with_payload": "{id_fields}"}
_BM25 = {"text": "{query_text}", "model": "qdrant/bm25"}

_WEAVIATE_IDS = "_additional { id %s }{id_property?} } } }"
_AZURE = {"top": "{top_k}", "select": "{id_field!}"}
_AZURE_SEARCH = {
    "search": "{query_text|lucene}",
    "queryType": "full",
    "searchFields": "{fields_commas}",
}
_AZURE_VECTOR = {
    "kind": "vector",
    "vector": "{query_vector}",
    "fields": "{vector_field!}",
    "k": "{top_k}",
}

ENGINES: Mapping[str, Engine] = {
    "elasticsearch": Engine(
        _HITS,
        {
            LEXICAL: {"body": {**_SIZE, "query": _MULTI_MATCH}},
            VECTOR: {"body": {**_SIZE, "knn": _ELASTIC_KNN}},
            HYBRID: {
                "body": {
                    **_SIZE,
                    "retriever": {
                        "rrf": {
                            "retrievers": [
                                {"standard": {"query": _MULTI_MATCH}},
                                {"knn": {**_ELASTIC_KNN, "num_candidates": "{top_k}"}},
                            ],
                            "rank_window_size": "{top_k}",
                        }
                    },
                }
            },
        },
        _MSEARCH,
    ),
    "opensearch": Engine(
        {**_HITS, "key_prefix": "Basic "},
        {
            LEXICAL: {"body": {**_SIZE, "query": _MULTI_MATCH}},
            VECTOR: {"body": {**_SIZE, "query": _OPENSEARCH_KNN}},
            HYBRID: {
                "body": {
                    **_SIZE,
                    "query": {"hybrid": {"queries": [_MULTI_MATCH, _OPENSEARCH_KNN]}},
                    "search_pipeline": {
                        "phase_results_processors": [
                            {
                                "normalization-processor": {
                                    "normalization": {"technique": "min_max"},
                                    "combination": {"technique": "arithmetic_mean"},
                                }
                            }
                        ]
                    },
                }
            },
        },
        _MSEARCH,
    ),
    "solr": Engine(
        {
            "path": "/solr/{index!}/select",
            "results": None,
            "ids": "$.response.docs[*]{id_path}",
            "scores": "$.response.docs[*].score",
            "total": "$.response.numFound",
            "incomplete": ["$.responseHeader.status", "$.responseHeader.partialResults"],
            "diagnostics": "$.responseHeader.QTime",
            "key_header": "Authorization",
            "key_prefix": "Basic ",
        },
        {
            LEXICAL: {"body": {**_SOLR, "query": "{query_text|lucene}", "params": _EDISMAX}},
            VECTOR: {"body": {**_SOLR, "query": _SOLR_KNN}},
            HYBRID: {
                "body": {
                    **_SOLR,
                    "query": "{!bool should=$lexical should=$vector}",
                    "params": {
                        "lexical": "{!edismax v=$text qf=$fields q.op=OR}",
                        "text": "{query_text|lucene}",
                        "fields": "{fields_spaced!}",
                        "vector": _SOLR_KNN,
                    },
                }
            },
        },
        defaults={"id_field": "id"},
    ),
    "vespa": Engine(
        {
            "path": "/search/",
            "results": None,
            "ids": "$.root.children[*].id",
            "field_ids": "$.root.children[*].fields{id_path}",
            "scores": "$.root.children[*].relevance",
            "total": "$.root.fields.totalCount",
            "list_required": False,
            "incomplete": ["$.root.errors", "$.root[?@.full == false]"],
            "diagnostics": "$.root.coverage",
            "key_header": "Authorization",
            "key_prefix": "Bearer ",
        },
        {
            LEXICAL: {
                "body": {
                    "yql": "select * from sources * where userQuery()",
                    **_TOKENIZED,
                    **_VESPA,
                }
            },
            VECTOR: {
                "body": {
                    "yql": f"select * from sources * where {_NEAREST}",
                    "input.query(q)": "{query_vector}",
                    **_VESPA,
                }
            },
            HYBRID: {
                "body": {
                    "yql": f"select * from sources * where userQuery() or {_NEAREST}",
                    **_TOKENIZED,
                    "input.query(q)": "{query_vector}",
                    **_VESPA,
                }
            },
        },
    ),
    "qdrant": Engine(
        {
            "path": "/collections/{index!}/points/query",
            "results": None,
            "ids": "$.result.points[*].id",
            "field_ids": "$.result.points[*].payload{id_path}",
            "scores": "$.result.points[*].score",
            "diagnostics": "$.time",
            "key_header": "api-key",
        },
        {
            LEXICAL: {"body": {**_QDRANT, "query": _BM25, "using": "{text_field!}"}},
            VECTOR: {"body": {**_QDRANT, "query": "{query_vector}", "using": "{vector_field}"}},
            HYBRID: {
                "body": {
                    **_QDRANT,
                    "prefetch": [
                        {"query": _BM25, "using": "{text_field!}", "limit": "{top_k}"},
                        {
                            "query": "{query_vector}",
                            "using": "{vector_field}",
                            "limit": "{top_k}",
                        },
                    ],
                    "query": {"fusion": "rrf"},
                }
            },
        },
        {
            "path": "/collections/{index!}/points/query/batch",
            "body": {"searches": ["{body}"]},
            "results": "$.result[*]",
            "query_id": None,
            "ids": "$.points[*].id",
            "field_ids": "$.points[*].payload{id_path}",
            "scores": "$.points[*].score",
        },
    ),
    "weaviate": Engine(
        {
            "path": "/v1/graphql",
            "results": None,
            "ids": "$.data.Get['{index!}'][*]._additional.id",
            "field_ids": "$.data.Get['{index!}'][*]{id_path}",
            "scores": "$.data.Get['{index!}'][*]._additional.score",
            "incomplete": ["$.errors"],
            "key_header": "Authorization",
            "key_prefix": "Bearer ",
        },
        {
            LEXICAL: {
                "body": {
                    "query": '{ Get { {index!}(limit: {top_k}, bm25: {query: "{query_text|json}", '
                    "properties: {text_fields!}}) { " + _WEAVIATE_IDS % "score"
                }
            },
            VECTOR: {
                "body": {
                    "query": "{ Get { {index!}(limit: {top_k}, nearVector: {vector: {query_vector}"
                    "{target?}}) { " + _WEAVIATE_IDS % "distance"
                },
                "scores": "$.data.Get['{index!}'][*]._additional.distance",
                "higher_is_better": False,
            },
            HYBRID: {
                "body": {
                    "query": "{ Get { {index!}(limit: {top_k}, hybrid: "
                    '{query: "{query_text|json}", vector: {query_vector}, '
                    "properties: {text_fields!}{target?}}) { " + _WEAVIATE_IDS % "score"
                }
            },
        },
        clauses={
            "target": ("vector_field", ', targetVectors: ["{vector_field}"]'),
            "id_property": ("id_field", " {id_field}"),
        },
    ),
    "pinecone": Engine(
        {
            "results": None,
            "key_header": "Api-Key",
            "headers": {"X-Pinecone-Api-Version": "2025-04"},
            "diagnostics": "$.usage",
        },
        {
            LEXICAL: {
                "path": "/records/namespaces/{index!}/search",
                "body": {
                    "query": {"inputs": {"text": "{query_text}"}, "top_k": "{top_k}"},
                    "fields": "{id_field_list}",
                },
                "ids": "$.result.hits[*]._id",
                "field_ids": "$.result.hits[*].fields{id_path}",
                "scores": "$.result.hits[*]._score",
            },
            VECTOR: {
                "path": "/query",
                "body": {
                    "namespace": "{index}",
                    "topK": "{top_k}",
                    "vector": "{query_vector}",
                    "includeMetadata": "{has_id_field}",
                },
                "ids": "$.matches[*].id",
                "field_ids": "$.matches[*].metadata{id_path}",
                "scores": "$.matches[*].score",
            },
        },
    ),
    "azure": Engine(
        {
            "path": "/indexes/{index!}/docs/search",
            "params": {"api-version": "2024-07-01"},
            "results": None,
            "ids": "$.value[*]{id_path}",
            "scores": "$.value[*]['@search.score']",
            "incomplete": [
                "$['@search.semanticPartialResponseReason']",
                "$['@search.nextPageParameters']",
                "$['@odata.nextLink']",
            ],
            "key_header": "api-key",
        },
        {
            LEXICAL: {"body": {**_AZURE, **_AZURE_SEARCH}},
            VECTOR: {"body": {**_AZURE, "vectorQueries": [_AZURE_VECTOR]}},
            HYBRID: {"body": {**_AZURE, **_AZURE_SEARCH, "vectorQueries": [_AZURE_VECTOR]}},
        },
        defaults={"id_field": "id"},
    ),
}
"""Engines by name."""


def resolve_preset(name: str, mode: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of an engine's mode for the user's index.

    Args:
        name: The name of the engine.
        mode: The mode; one that the engine lacks gets only the settings of all modes.
        given: The settings of the user. Those in :data:`NAMES`, ``url``, ``body`` and
            ``batch_size`` are used.

    Returns:
        Settings of :class:`~.settings.HttpSettings`, without those of the user except the URL,
        and the body of a batch.

    Raises:
        ValueError: If a setting that the mode needs is missing, or the engine has no batches.
    """
    engine = ENGINES[name]
    preset = {**engine.common, **engine.modes.get(mode, {})}
    batch = str(given.get("batch_size", 1)).strip() not in ("0", "1")
    if batch and engine.batch is None:
        raise ValueError(f"the engine {name} has no batches — omit http.batch_size")
    own = given.get("body")
    body = preset.get("body") if own is None else _parse(own)
    if batch and engine.batch is not None:
        preset |= engine.batch
        body = body if body is _MISSING else _embed(preset["body"], body)
    index = None if given.get("index") is None else str(given["index"])
    url, index = _join_url(engine, str(given["url"]), index)
    values = _values({**engine.defaults, **given, "index": index})
    for clause, (setting, text) in engine.clauses.items():
        values[clause] = None if values[setting] is None else _replace(text, values, "")
    where = f"the engine {name} needs it for the mode {mode}"
    path = preset.pop("path", None)
    field_ids = preset.pop("field_ids", None)
    if field_ids is not None and given.get("id_field") is not None:
        preset["ids"] = field_ids
    settings: dict[str, Any] = {
        key: _replace(value, values, where) for key, value in preset.items() if key != "body"
    }
    if path is not None:
        quoted = {**values, "index": None if index is None else quote(index, safe=",*")}
        settings["url"] = _add_path(url, _replace(path, quoted, where))
    asked = {name.lower() for name, _ in parse_qsl(urlsplit(url).query, keep_blank_values=True)}
    if "params" in settings:  # those in the user's URL have precedence
        params = settings["params"].items()
        settings["params"] = {name: text for name, text in params if name.lower() not in asked}
    if body is not _MISSING and body is not None and (own is None or batch):
        filled = body if own is not None else _replace(body, values, where)
        lines = filled if settings.get("body_format") == "ndjson" else [filled]
        settings["body"] = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    return settings


def _parse(body: Any) -> Any:
    """Return the JSON value of a user's body; ``_MISSING`` if it is not valid: reported later."""
    try:
        return json.loads(body)
    except (TypeError, ValueError):
        return _MISSING


def _values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the placeholders of presets."""
    values: dict[str, Any] = {name: given.get(name) for name in NAMES}
    for name in set(NAMES) - {"text_fields"}:
        values[name] = None if values[name] is None else str(values[name])
    fields = values["text_fields"]
    fields = fields.split(",") if isinstance(fields, str) else fields
    is_list = isinstance(fields, list | tuple)
    fields = [str(one).strip() for one in fields] if is_list else []  # others are refused later
    values["text_fields"] = fields or None
    values["text_field"] = fields[0] if fields else None
    values["fields_spaced"] = " ".join(fields) if fields else None
    values["fields_commas"] = ",".join(fields) if fields else None
    id_field = values["id_field"]
    values["has_id_field"] = id_field is not None
    values["id_field_list"] = None if id_field is None else [id_field]
    values["id_fields"] = values["id_field_list"] or False
    steps = [] if id_field is None else id_field.split(".")
    quoted = [step.replace("\\", "\\\\").replace("'", "\\'") for step in steps]
    values["id_path"] = "".join(f"['{step}']" for step in quoted)
    return values


def _replace(part: Any, values: Mapping[str, Any], where: str) -> Any:
    """Replace the placeholders of the user's index in a part of a preset."""
    if isinstance(part, str):
        whole = _NAME.fullmatch(part)
        if whole and whole[1] in values:
            return _value(whole, values, where) if whole[2] else values[whole[1]]
        return _NAME.sub(
            lambda match: (
                _as_text(_value(match, values, where)) if match[1] in values else match[0]
            ),
            part,
        )
    if isinstance(part, Mapping):
        items = [
            (_replace(key, values, where), _replace(item, values, where))
            for key, item in part.items()
        ]
        return {key: item for key, item in items if item is not None}
    if isinstance(part, list):
        return [_replace(item, values, where) for item in part]
    return part


def _value(match: re.Match[str], values: Mapping[str, Any], where: str) -> Any:
    name, mark = match.groups()
    if values[name] is not None or mark == "?":
        return "" if values[name] is None else values[name]
    setting = "text_fields" if name in ("text_field", "fields_spaced", "fields_commas") else name
    raise ValueError(
        f"http.{setting} is missing: {where} — give http.{setting}, or --http {setting}=NAME"
    )


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _embed(batch: Any, body: Any) -> Any:
    """Replace ``{body}`` in the body of a batch."""
    if batch == "{body}":
        return body
    if isinstance(batch, dict):
        return {key: _embed(value, body) for key, value in batch.items()}
    return [_embed(item, body) for item in batch] if isinstance(batch, list) else batch


def _join_url(engine: Engine, url: str, index: str | None) -> tuple[str, str | None]:
    """Return the URL without the path of a request, and the index if the URL contains it.

    The URL can end with the whole path of a request, or with the first part of it.
    """
    parts = urlsplit(url)
    segments = [part for part in parts.path.split("/") if part]
    paths = [
        one["path"].strip("/").split("/")
        for one in (engine.common, *engine.modes.values(), engine.batch or {})
        if "path" in one
    ]
    found, name = 0, index
    for path in paths:
        for size in range(min(len(segments), len(path)), found, -1):
            match = _match_path(segments[len(segments) - size :], path[:size], index)
            if match is not None:
                found, name = size, match or index
                break
    rest = "/".join(segments[: len(segments) - found])
    base = urlunsplit(parts._replace(path=f"/{rest}" if rest else "", fragment=""))
    return base, name


def _match_path(segments: Sequence[str], path: Sequence[str], index: str | None) -> str | None:
    """Return the index in the segments, or an empty text; ``None`` if they do not match."""
    name = ""
    for segment, pattern in zip(segments, path, strict=True):
        if "{" in pattern:
            name = unquote(segment)
            if index is not None and name != index:
                return None
        elif segment != pattern:
            return None
    return name


def _add_path(url: str, path: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=parts.path + path))
