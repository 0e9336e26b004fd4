"""Jobs: their states, their storage, and the processes that do the work."""
