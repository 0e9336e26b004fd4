"""Rendering a benchmark's report: JSON, Markdown, console. Nothing here computes a figure."""
