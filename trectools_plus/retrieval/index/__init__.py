"""Indexes of documents: built once, cached on disk, searched by the embedded modes."""
