"""Topics in files: the readers of lines, tables, JSON, YAML, SGML and XML, and their fields."""
