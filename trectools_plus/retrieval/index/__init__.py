"""Indexes of documents for the embedded modes, built once and cached on disk."""
