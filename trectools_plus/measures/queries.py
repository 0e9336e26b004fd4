"""The grade from which a document counts as relevant."""

RELEVANT = 1
"""A query has a relevant document if it has one of this grade or more; the same for all measures,
whatever their relevance level."""
