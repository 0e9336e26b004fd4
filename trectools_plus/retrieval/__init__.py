"""Retrieval: lexical, vector and hybrid search, index cache, fusion, and fetching runs."""
