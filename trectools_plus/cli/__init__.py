"""The command line: every command parses its options, calls one function and prints."""
