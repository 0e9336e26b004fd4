"""Scoring rankings and run files with any measures, wherever they are read."""
