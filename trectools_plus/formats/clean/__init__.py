"""Clean runs and qrels, read by one pass over the bytes with NumPy; other files are refused."""
