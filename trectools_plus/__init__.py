"""Validate, fetch, score and compare TREC runs."""

__version__ = "0.1.0"
