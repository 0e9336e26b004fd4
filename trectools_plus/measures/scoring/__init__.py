"""Scoring of rankings and run files, in this process or on workers."""
