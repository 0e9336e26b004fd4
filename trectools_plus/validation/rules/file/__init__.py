"""Rules for files of any kind."""
