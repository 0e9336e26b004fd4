"""The REST service: evaluation, validation and scoring over HTTP, and figures for Prometheus."""
