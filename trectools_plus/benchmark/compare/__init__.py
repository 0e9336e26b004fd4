"""Comparisons of modes, of groups of queries and of two reports."""
