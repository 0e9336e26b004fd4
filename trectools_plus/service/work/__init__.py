"""The work of requests, in processes with a time limit."""
