"""Write fixed copies of files: safe fixes by default, others by name."""
