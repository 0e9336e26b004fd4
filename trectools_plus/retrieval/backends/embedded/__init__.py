"""The backend ``embedded``: the modes of this package, over indexes of its own."""
