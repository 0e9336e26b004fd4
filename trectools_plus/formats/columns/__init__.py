"""Split lines into columns: the lexer, its result as a table, numbers, and errors of readers."""
