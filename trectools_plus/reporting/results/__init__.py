"""Paragraph, Markdown and HTML of each kind of result."""
