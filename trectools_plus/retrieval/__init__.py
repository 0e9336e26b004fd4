"""Retrieval: lexical, vector and hybrid search, index cache, fusion, and fetching runs."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(
    __name__,
    {
        "retrieval.index.parts": ["TextParts"],
        "retrieval.index.vector": ["MultiVectorRetriever"],
        "retrieval.settings": ["RetrievalSettings"],
        "retrieval.source": ["Backend", "Query", "Retriever"],
    },
    internal={
        "retrieval.backends.embedded": ["BuiltIndex", "build_indexes", "build_retrievers"],
        "retrieval.backends.modes": [
            "check_modes",
            "expand_modes",
            "language_note",
            "unused_settings",
            "uses_builtin_embeddings",
            "uses_vectors",
        ],
        "retrieval.backends.selection": ["BackendSettings", "EMBEDDED", "default_modes"],
        "retrieval.fetch": ["FetchRequest"],
        "retrieval.fusion": ["Fusion", "fuse"],
        "retrieval.hpo.answers": ["TextAnswer", "TextSearcher"],
        "retrieval.hpo.ontology_terms": ["open_terms"],
        "retrieval.index.models": ["has_cuda"],
        "retrieval.run_files": ["FetchedFile", "fetch_to_dir"],
        "retrieval.setting_types": ["make_model"],
        "retrieval.source": ["Failure", "FetchOptions", "Hits", "Ranking", "Source"],
    },
)
