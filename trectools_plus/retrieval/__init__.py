"""Retrieval: lexical, vector and hybrid search, index cache, fusion, and fetching runs."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(
    __name__,
    {
        "retrieval.backends.embedded.backend": ["build_indexes", "build_retrievers"],
        "retrieval.index.parts": ["TextParts"],
        "retrieval.index.vector": ["MultiVectorRetriever"],
        "retrieval.hpo.ontology_terms": ["corpus_of"],
        "retrieval.settings": ["RetrievalSettings"],
        "retrieval.source": [
            "Backend",
            "Failure",
            "Hits",
            "Query",
            "Ranking",
            "Retriever",
            "Source",
        ],
    },
    internal={
        "retrieval.hpo.answers": ["TextAnswer", "TextSearcher"],
        "retrieval.backends.embedded.backend": ["BuiltIndex"],
        "retrieval.backends.embedded.modes": [
            "check_modes",
            "expand_modes",
            "unused_settings",
            "uses_builtin_embeddings",
            "uses_vectors",
        ],
        "retrieval.backends.selection": ["BackendSettings", "EMBEDDED", "default_modes"],
        "retrieval.fetch.fetch": ["FetchRequest"],
        "retrieval.fetch.run_files": ["FetchedFile", "fetch_to_dir"],
        "retrieval.fusion": ["Fusion", "fuse"],
        "retrieval.index.models": ["has_cuda"],
        "retrieval.languages": ["language_note"],
        "retrieval.hpo.ontology_terms": ["find_named"],
        "retrieval.settings": ["make_settings"],
        "retrieval.source": ["FetchOptions"],
    },
)
