"""Backends. ``registry`` lists the built-in ones; ``settings`` reads their configuration."""
