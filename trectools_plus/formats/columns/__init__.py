"""Lines split into columns: the lexer, its result as a table, numbers, errors of readers."""
