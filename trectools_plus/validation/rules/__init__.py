"""The rules, one package for each kind of file."""
