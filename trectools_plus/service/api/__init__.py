"""The REST service: evaluation, validation, scoring, jobs, and metrics for Prometheus."""
