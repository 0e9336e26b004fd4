"""The backend ``embedded``: the built-in modes, which search indexes in this process."""
