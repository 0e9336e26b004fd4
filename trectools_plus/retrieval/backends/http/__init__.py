"""The backend ``http``: a JSON retrieval service."""
