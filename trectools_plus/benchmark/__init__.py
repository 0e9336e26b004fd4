"""Comparing modes of retrieval on one set of queries: config, dataset, runner, report."""
