"""The backend ``milvus``: a local ``.db``, or a server."""
