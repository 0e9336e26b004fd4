"""Definitions of measures: their base class, the built-in ones, the table of trec_eval's."""
