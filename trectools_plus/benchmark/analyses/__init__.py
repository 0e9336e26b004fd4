"""Analyses of a whole report: judgments, difficulty of queries, similarity of runs, measures."""
