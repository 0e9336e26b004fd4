"""Providers of measures: pytrec_eval, ir_measures, this package, and users' code."""
