"""What is served over HTTP: evaluation, validation, scoring, metrics, and a review page."""
