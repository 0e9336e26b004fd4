"""Definitions of measures: base classes, built-in measures, the table of trec_eval's measures."""
