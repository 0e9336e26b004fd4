"""Providers of measures: pytrec_eval, ir_measures, this package, and code of users."""
