"""Values with their lines: one node model, and a parser for each syntax."""
