"""Presets of the HTTP mapping for search engines: requests, paths of ids, and completeness.

A preset is a value: settings of :class:`~.mapping.HttpSettings` that all modes of an engine have,
and those of each mode. It follows the engine's documentation of its HTTP interface.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, quote, unquote, urlsplit, urlunsplit

LEXICAL, VECTOR, HYBRID = "lexical", "vector", "hybrid"
NAMES = ("index", "text_fields", "vector_field", "id_field", "rank_profile")
"""Settings that describe the user's index."""

_NAME = re.compile(r"\{([a-z_]+)(!?)\}")


@dataclass(frozen=True, slots=True)
class Engine:
    """The mapping of a search engine.

    Placeholders like ``{index}`` are replaced by the settings in :data:`NAMES`, before those of a
    query like ``{query_text}``. With ``!``, the setting is required. Otherwise, a member with a
    missing value is left out, and inside a text, the value is empty.

    ``{text_field}`` is the only text field; ``{fields_spaced}`` and ``{fields_commas}`` are the
    text fields in one text. ``{id_fields}`` is a list with the field of the id, or false;
    ``{id_path}`` is the end of its path. ``{targets}`` names the vector field for Weaviate.

    Attributes:
        common: Settings of all modes. ``path`` is the path of the URL, and ``field_ids`` the path
            of the ids if the setting ``id_field`` is given.
        modes: Settings of each mode; ``body`` is a JSON value.
        batch: Settings of a batch, if the engine has batches; ``{body}`` is the body of a query.
        defaults: Values of settings in :data:`NAMES`.
    """

    common: Mapping[str, Any]
    modes: Mapping[str, Mapping[str, Any]]
    batch: Mapping[str, Any] | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)


_MULTI_MATCH = {"multi_match": {"query": "{query_text}", "fields": "{text_fields}"}}
_HITS = {
    "path": "/{index!}/_search",
    "results": None,
    "ids": "$.hits.hits[*]._id",
    "field_ids": "$.hits.hits[*]._source{id_path}",
    "scores": "$.hits.hits[*]._score",
    "total": "$.hits.total.value",
    "incomplete": [
        "$.terminated_early",
        "$._shards.failures",
        "$._shards.failed",
        "$._clusters.skipped",
        "$._clusters.partial",
    ],
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
_ELASTIC_RRF = {
    "retrievers": [
        {"standard": {"query": _MULTI_MATCH}},
        {"knn": {**_ELASTIC_KNN, "num_candidates": "{top_k}"}},
    ],
    "rank_window_size": "{top_k}",
}
_OPENSEARCH_KNN = {"knn": {"{vector_field!}": {"vector": "{query_vector}", "k": "{top_k}"}}}
_MEAN_OF_SCALED = {
    "normalization-processor": {
        "normalization": {"technique": "min_max"},
        "combination": {"technique": "arithmetic_mean"},
    }
}

_EDISMAX = {"defType": "edismax", "qf": "{fields_spaced}", "q.op": "OR"}
_SOLR_KNN = "{!knn f={vector_field!} topK={top_k}}{query_vector}"
_SOLR = {"limit": "{top_k}", "fields": ["{id_field!}", "score"]}
_SOLR_BOTH = {
    "lexical": "{!edismax v=$text qf=$fields q.op=OR}",
    "text": "{query_text|lucene}",
    "fields": "{fields_spaced!}",
    "vector": _SOLR_KNN,
}

_SOURCES = "select * from sources * where "
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
_VESPA_VECTOR = {"input.query(q)": "{query_vector}"}

_QDRANT = {"limit": "{top_k}", "with_payload": "{id_fields}"}
_QDRANT_TEXT = {
    "query": {"text": "{query_text}", "model": "qdrant/bm25"},
    "using": "{text_field!}",
}
_QDRANT_VECTOR = {"query": "{query_vector}", "using": "{vector_field}"}

_GET = "{ Get { {index!}(limit: {top_k}, "
_FOUND = ") { _additional { id %s } {id_field} } } }"
_BY_TEXT = 'query: "{query_text|json}", '

_TYPESENSE = {"collection": "{index!}", "per_page": "{top_k}", "include_fields": "{id_field!}"}
_TYPESENSE_TEXT = {"q": "{query_text}", "query_by": "{fields_commas!}"}
_TYPESENSE_VECTOR = {"vector_query": "{vector_field!}:({query_vector}, k:{top_k})"}

_MILVUS = {"collectionName": "{index!}", "limit": "{top_k}", "outputFields": ["{id_field!}"]}
_MILVUS_TEXT = {"data": ["{query_text}"], "annsField": "{text_field!}"}
_MILVUS_VECTOR = {"data": ["{query_vector}"], "annsField": "{vector_field!}"}
_MILVUS_BOTH = [{**_MILVUS_TEXT, "limit": "{top_k}"}, {**_MILVUS_VECTOR, "limit": "{top_k}"}]

ENGINES: Mapping[str, Engine] = {
    "elasticsearch": Engine(
        _HITS,
        {
            LEXICAL: {"body": {**_SIZE, "query": _MULTI_MATCH}},
            VECTOR: {"body": {**_SIZE, "knn": _ELASTIC_KNN}},
            HYBRID: {"body": {**_SIZE, "retriever": {"rrf": _ELASTIC_RRF}}},
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
                    "search_pipeline": {"phase_results_processors": [_MEAN_OF_SCALED]},
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
            "incomplete": [
                "$.responseHeader.status",
                "$.responseHeader.partialResults",
            ],
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
                    "params": _SOLR_BOTH,
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
            "incomplete": [
                "$.root.errors",
                "$.root.coverage.degraded",
                "!$.root.coverage.full",
            ],
            "key_header": "Authorization",
            "key_prefix": "Bearer ",
        },
        {
            LEXICAL: {"body": {"yql": f"{_SOURCES}userQuery()", **_TOKENIZED, **_VESPA}},
            VECTOR: {"body": {"yql": _SOURCES + _NEAREST, **_VESPA_VECTOR, **_VESPA}},
            HYBRID: {
                "body": {
                    "yql": f"{_SOURCES}userQuery() or {_NEAREST}",
                    **_TOKENIZED,
                    **_VESPA_VECTOR,
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
            "incomplete": ["$.status"],
            "key_header": "api-key",
        },
        {
            LEXICAL: {"body": {**_QDRANT, **_QDRANT_TEXT}},
            VECTOR: {"body": {**_QDRANT, **_QDRANT_VECTOR}},
            HYBRID: {
                "body": {
                    **_QDRANT,
                    "prefetch": [
                        {**_QDRANT_TEXT, "limit": "{top_k}"},
                        {**_QDRANT_VECTOR, "limit": "{top_k}"},
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
            "key_header": "Authorization",
            "key_prefix": "Bearer ",
        },
        {
            LEXICAL: {
                "body": {
                    "query": _GET
                    + f"bm25: {{{_BY_TEXT}properties: {{text_fields!}}}}"
                    + _FOUND % "score"
                }
            },
            VECTOR: {
                "body": {
                    "query": f"{_GET}nearVector: {{vector: {{query_vector}}{{targets}}}}"
                    + _FOUND % "distance"
                },
                "scores": "$.data.Get['{index!}'][*]._additional.distance",
                "higher_is_better": False,
            },
            HYBRID: {
                "body": {
                    "query": f"{_GET}hybrid: {{{_BY_TEXT}vector: {{query_vector}}, "
                    "properties: {text_fields!}{targets}}" + _FOUND % "score"
                }
            },
        },
    ),
    "typesense": Engine(
        {
            "path": "/multi_search",
            "results": "$.results[*]",
            "query_id": None,
            "ids": "$.hits[*].document{id_path}",
            "scores": None,  # a text_match has more digits than a score
            "total": "$.found",
            "incomplete": ["$.code", "$.search_cutoff"],
            "key_header": "X-TYPESENSE-API-KEY",
        },
        {
            LEXICAL: {"body": {"searches": [{**_TYPESENSE, **_TYPESENSE_TEXT}]}},
            VECTOR: {
                "body": {"searches": [{**_TYPESENSE, "q": "*", **_TYPESENSE_VECTOR}]},
                "scores": "$.hits[*].vector_distance",
                "higher_is_better": False,
            },
            HYBRID: {
                "body": {"searches": [{**_TYPESENSE, **_TYPESENSE_TEXT, **_TYPESENSE_VECTOR}]}
            },
        },
        {},
        defaults={"id_field": "id"},
    ),
    "milvus": Engine(
        {
            "path": "/v2/vectordb/entities/search",
            "results": None,
            "ids": "$.data[*]{id_path}",
            "scores": "$.data[*].distance",
            "incomplete": ["$.code"],
            "key_header": "Authorization",
            "key_prefix": "Bearer ",
        },
        {
            LEXICAL: {"body": {**_MILVUS, **_MILVUS_TEXT}},
            VECTOR: {"body": {**_MILVUS, **_MILVUS_VECTOR}},
            HYBRID: {
                "path": "/v2/vectordb/entities/hybrid_search",
                "body": {
                    **_MILVUS,
                    "search": _MILVUS_BOTH,
                    "rerank": {"strategy": "rrf", "params": {"k": 60}},
                },
            },
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
        Settings of :class:`~.mapping.HttpSettings`, without those of the user except the URL,
        and the body.

    Raises:
        ValueError: If a setting that the mode needs is missing, the body of the user is not JSON,
            or the engine has no batches.
    """
    engine = ENGINES[name]
    preset = {**engine.common, **engine.modes.get(mode, {})}
    own, is_batch = given.get("body"), str(given.get("batch_size", 1)) not in ("0", "1")
    if is_batch and engine.batch is None:
        raise ValueError(f"the engine {name} has no batches — omit http.batch_size")
    url, index = _join_url(str(given["url"]), preset["path"], given.get("index"))
    values = _values({**engine.defaults, **given, "index": index})
    where = f"the engine {name} needs it for the mode {mode}"
    quoted = {**values, "index": None if index is None else quote(index, safe=",*")}
    batch = engine.batch if is_batch and engine.batch is not None else {}
    path = _fill(batch.get("path", preset.pop("path")), quoted, where)
    body = preset.pop("body", None)
    if own is None:
        body = _fill(body, values, where)
    elif is_batch and isinstance(own, str):
        body = json.loads(own)
    preset |= {name: value for name, value in batch.items() if name not in ("path", "body")}
    body = _fill(batch.get("body", "{body}"), {"body": body}, where)
    field_ids = preset.pop("field_ids", None)
    if field_ids is not None and given.get("id_field") is not None:
        preset["ids"] = field_ids
    settings: dict[str, Any] = _fill(preset, values, where)
    settings["url"] = urlunsplit(url._replace(path=url.path + path, fragment=""))
    settings["body"] = own
    if body is not None and (own is None or (is_batch and isinstance(own, str))):
        lines = body if settings.get("body_format") == "ndjson" else [body]
        settings["body"] = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    return settings


def _join_url(url: str, path: str, index: Any) -> tuple[SplitResult, str | None]:
    """Return the URL without the path of a request, or the first part of it, and the index.

    The index may be in the URL.
    """
    parts = urlsplit(url)
    segments = parts.path.strip("/").split("/") if parts.path.strip("/") else []
    name = None if index is None else str(index)
    pattern = path.strip("/").split("/")
    for size in range(min(len(segments), len(pattern)), 0, -1):
        pairs = list(zip(segments[-size:], pattern, strict=False))
        names = [unquote(segment) for segment, step in pairs if "{" in step]
        fits = all("{" in step or segment == step for segment, step in pairs)
        if fits and (name is None or set(names) <= {name}):
            segments, name = segments[:-size], name or next(iter(names), None)
            break
    return parts._replace(path="".join(f"/{segment}" for segment in segments)), name


def _values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the placeholders of presets."""
    values: dict[str, Any] = {
        name: None if given.get(name) is None else str(given[name]) for name in NAMES
    }
    names = given.get("text_fields") or ()
    names = names.split(",") if isinstance(names, str) else names
    fields = [str(name).strip() for name in names]
    values["text_fields"] = fields or None
    values["text_field"] = fields[0] if fields else None
    values["fields_spaced"] = " ".join(fields) or None
    values["fields_commas"] = ",".join(fields) or None
    id_field, vector = values["id_field"], values["vector_field"]
    values["id_fields"] = False if id_field is None else [id_field]
    steps = [] if id_field is None else id_field.split(".")
    quoted = [step.replace("\\", "\\\\").replace("'", "\\'") for step in steps]
    values["id_path"] = "".join(f"['{step}']" for step in quoted)
    values["targets"] = None if vector is None else f', targetVectors: ["{vector}"]'
    return values


_SETTINGS = dict.fromkeys(("text_field", "fields_spaced", "fields_commas"), "text_fields")


def _fill(part: Any, values: Mapping[str, Any], where: str) -> Any:
    """Replace the placeholders of the user's index in a part of a preset."""

    def value_of(match: re.Match[str]) -> Any:
        name, mark = match.groups()
        if mark and values[name] is None:
            setting = _SETTINGS.get(name, name)
            raise ValueError(
                f"http.{setting} is missing: {where} — give http.{setting}, or "
                f"--http {setting}=NAME"
            )
        return values[name]

    def text_of(match: re.Match[str]) -> str:
        value = value_of(match) if match[1] in values else match[0]
        value = "" if value is None else value
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    if isinstance(part, str):
        whole = _NAME.fullmatch(part)
        return value_of(whole) if whole and whole[1] in values else _NAME.sub(text_of, part)
    if isinstance(part, Mapping):
        items = [
            (_fill(key, values, where), item, _fill(item, values, where))
            for key, item in part.items()
        ]
        return {key: filled for key, item, filled in items if filled is not None or item is None}
    if isinstance(part, list):
        return [_fill(item, values, where) for item in part]
    return part
