"""The REST service: evaluation, validation, scoring, and metrics for Prometheus."""
