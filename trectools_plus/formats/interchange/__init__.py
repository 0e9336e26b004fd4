"""Runs, qrels, topics and test sets that are not in TREC form: CSV, TSV, JSON and others."""
