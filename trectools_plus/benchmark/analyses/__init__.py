"""Analyses of a whole report: judgments, difficulty of queries, measures."""
