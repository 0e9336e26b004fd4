"""Backends: ``selection`` lists them, and reads their configuration."""
