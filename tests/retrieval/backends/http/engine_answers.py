"""Answers of search engines, in the form that the documentation of each engine shows.

For each engine: an answer with the documents ``d1`` and ``d2``, one without documents, errors with
status 200, and answers that lack documents. For each mode of which the answer differs, the key is
the engine and the mode.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Answers:
    """Answers of an engine.

    Attributes:
        found: Two documents, ``d1`` and ``d2``.
        scores: Their scores, higher is better; ``None`` if only the order is read.
        nothing: An answer without documents.
        errors: Errors with status 200, by a text that the message must show.
        partial: Answers that lack documents, by a text that the message must show.
    """

    found: Any
    scores: list[float] | None
    nothing: Any
    errors: dict[str, Any] = field(default_factory=dict)
    partial: dict[str, Any] = field(default_factory=dict)


SHARDS = {"total": 5, "successful": 5, "skipped": 0, "failed": 0}
FAILED_SHARDS = {
    "total": 5,
    "successful": 4,
    "skipped": 0,
    "failed": 1,
    "failures": [
        {"shard": 3, "index": "articles", "reason": {"type": "circuit_breaking_exception"}}
    ],
}


def hits(ids: list[str], **more: Any) -> dict[str, Any]:
    found = [{"_index": "articles", "_id": one, "_score": 2.5 - row} for row, one in enumerate(ids)]
    top = 2.5 if ids else None
    total = {"value": len(ids), "relation": "eq"}
    return {
        "took": 5,
        "timed_out": False,
        "_shards": SHARDS,
        "hits": {"total": total, "max_score": top, "hits": found},
    } | more


PARSING = {
    "error": {
        "root_cause": [{"type": "parsing_exception", "reason": "unknown query [matc]"}],
        "type": "parsing_exception",
        "reason": "unknown query [matc]",
    },
    "status": 400,
}
ELASTIC = Answers(
    found=hits(["d1", "d2"]),
    scores=[2.5, 1.5],
    nothing=hits([]),
    errors={
        "parsing_exception": PARSING,
        "no list": {"took": 5, "timed_out": False, "_shards": SHARDS},
        "rejected execution": {"error": "EsRejectedExecutionException[rejected execution]"},
    },
    partial={
        "timed_out": hits(["d1"], timed_out=True),
        "circuit_breaking": hits(["d1"], _shards=FAILED_SHARDS),
        "failed": hits([], _shards={"total": 5, "successful": 4, "skipped": 0, "failed": 1}),
        "terminated_early": hits(["d1"], terminated_early=True),
        "skipped": hits(["d1"], _clusters={"total": 2, "successful": 1, "skipped": 1}),
        "(http.total) is 3": {
            **hits([]),
            "hits": {"total": {"value": 3, "relation": "eq"}, "hits": []},
        },
    },
)


def solr(docs: list[dict[str, Any]], **header: Any) -> dict[str, Any]:
    return {
        "responseHeader": {"status": 0, "QTime": 3, **header},
        "response": {
            "numFound": len(docs),
            "start": 0,
            "maxScore": 2.5,
            "numFoundExact": True,
            "docs": docs,
        },
    }


SOLR = Answers(
    found=solr([{"id": "d1", "score": 2.5}, {"id": "d2", "score": 1.5}]),
    scores=[2.5, 1.5],
    nothing=solr([]),
    errors={
        "undefined field": {
            "responseHeader": {"status": 400, "QTime": 1},
            "error": {"msg": "undefined field titel", "code": 400},
        },
        "no list": {"responseHeader": {"status": 0, "QTime": 1}},
        "500": solr([], status=500),
    },
    partial={
        "partialResults": solr([{"id": "d1", "score": 2.5}], partialResults=True),
        "omitted": solr([], partialResults="omitted"),
    },
)

COVERAGE = {
    "coverage": 100,
    "documents": 775,
    "full": True,
    "nodes": 1,
    "results": 1,
    "resultsFull": 1,
}


def vespa(children: list[dict[str, Any]], total: int, **more: Any) -> dict[str, Any]:
    root = {
        "id": "toplevel",
        "relevance": 1.0,
        "fields": {"totalCount": total},
        "coverage": COVERAGE,
    }
    return {"root": root | ({"children": children} if children else {}) | more}


def vespa_hit(name: str, relevance: float) -> dict[str, Any]:
    return {
        "id": name,
        "relevance": relevance,
        "source": "articles",
        "fields": {"sddocname": "articles", "documentid": f"id:a:articles::{name}"},
    }


VESPA = Answers(
    found=vespa([vespa_hit("d1", 2.5), vespa_hit("d2", 1.5)], 12),
    scores=[2.5, 1.5],
    nothing=vespa([], 0),
    errors={
        "Timed out": {
            "root": {
                "id": "toplevel",
                "relevance": 1.0,
                "fields": {"totalCount": 0},
                "errors": [
                    {
                        "code": 12,
                        "summary": "Timed out",
                        "message": "Could not complete within 10ms",
                    }
                ],
            }
        },
        "no list": {"root": {"id": "toplevel", "relevance": 1.0}},
        '{"totalCount": 12}': vespa([], 12),
    },
    partial={
        '"degraded": {': vespa(
            [vespa_hit("d1", 2.5)],
            1,
            coverage={
                **COVERAGE,
                "coverage": 60,
                "full": False,
                "degraded": {"match-phase": False, "timeout": True},
            },
        ),
        '"full": false': vespa([], 0, coverage={**COVERAGE, "coverage": 0, "full": False}),
    },
)


def qdrant(points: list[dict[str, Any]]) -> dict[str, Any]:
    return {"result": {"points": points}, "status": "ok", "time": 0.001}


QDRANT = Answers(
    found=qdrant(
        [{"id": "d1", "version": 3, "score": 0.75}, {"id": "d2", "version": 0, "score": 0.5}]
    ),
    scores=[0.75, 0.5],
    nothing=qdrant([]),
    errors={
        "Vector dimension error": {
            "status": {"error": "Wrong input: Vector dimension error: expected dim: 4, got 3"},
            "time": 0.0001,
        },
        "no list": {"result": None, "status": "ok", "time": 0.001},
        "error": {"result": {"points": []}, "status": "error", "time": 0.001},
    },
)


def weaviate(objects: Any, **more: Any) -> dict[str, Any]:
    return {"data": {"Get": {"Article": objects}}} | more


GRAPHQL_ERROR = [
    {
        "locations": [{"column": 7, "line": 1}],
        "message": "explorer: vector search: object search at index article: timeout exceeded",
        "path": ["Get", "Article"],
    }
]
WEAVIATE = Answers(
    # Scores of bm25 and hybrid are texts.
    found=weaviate(
        [
            {"_additional": {"id": "d1", "score": "2.5"}},
            {"_additional": {"id": "d2", "score": "0.016393442"}},
        ]
    ),
    scores=[2.5, 0.016393442],
    nothing=weaviate([]),
    errors={
        "timeout exceeded": weaviate(None, errors=GRAPHQL_ERROR),
        "no list": {"data": {"Get": {"Article": None}}},
        "Cannot query field": {
            "data": None,
            "errors": [{"message": 'Cannot query field "Articel" on type "GetObjectsObj".'}],
        },
        '{"data": null}': {"data": None},
    },
    partial={
        "object search": weaviate(
            [{"_additional": {"id": "d1", "score": "2.5"}}], errors=GRAPHQL_ERROR
        )
    },
)
WEAVIATE_VECTOR = Answers(
    found=weaviate(
        [
            {"_additional": {"id": "d1", "distance": 0.25}},
            {"_additional": {"id": "d2", "distance": 0.5}},
        ]
    ),
    scores=[-0.25, -0.5],
    nothing=weaviate([]),
    errors=WEAVIATE.errors,
)


def typesense(hits: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    found = {"found": len(hits), "hits": hits, "search_cutoff": False, "search_time_ms": 1, **more}
    return {"results": [found]}


TYPESENSE = Answers(
    found=typesense(
        [
            {"document": {"id": "d1"}, "text_match": 578730123365711993, "vector_distance": 0.25},
            {"document": {"id": "d2"}, "text_match": 578730123365187705, "vector_distance": 0.5},
        ]
    ),
    scores=None,
    nothing=typesense([]),
    errors={
        "Could not find a field": {
            "results": [{"code": 404, "error": "Could not find a field named `titel`."}]
        },
        "Forbidden": {"results": [{"code": 401, "error": "Forbidden - a valid key is needed."}]},
    },
    partial={"search_cutoff": typesense([{"document": {"id": "d1"}}], search_cutoff=True)},
)
TYPESENSE_VECTOR = replace(TYPESENSE, scores=[-0.25, -0.5])


def milvus(hits: list[dict[str, Any]]) -> dict[str, Any]:
    return {"code": 0, "cost": 6, "data": hits}


MILVUS = Answers(
    found=milvus([{"id": "d1", "distance": 0.75}, {"id": "d2", "distance": 0.5}]),
    scores=[0.75, 0.5],
    nothing=milvus([]),
    errors={
        "find collection": {"code": 100, "message": "can't find collection[articles]"},
        "65535": {"code": 65535, "message": "internal", "data": []},
        "no list": {"code": 0, "cost": 0},
    },
)

ANSWERS: dict[str | tuple[str, str], Answers] = {
    "elasticsearch": ELASTIC,
    "opensearch": ELASTIC,
    "solr": SOLR,
    "vespa": VESPA,
    "qdrant": QDRANT,
    "weaviate": WEAVIATE,
    ("weaviate", "vector"): WEAVIATE_VECTOR,
    "typesense": TYPESENSE,
    ("typesense", "vector"): TYPESENSE_VECTOR,
    "milvus": MILVUS,
}


def answers_of(engine: str, mode: str) -> Answers:
    """Return the answers of an engine in a mode."""
    return ANSWERS.get((engine, mode), ANSWERS[engine])
