"""Measurements of scripts/bench."""
