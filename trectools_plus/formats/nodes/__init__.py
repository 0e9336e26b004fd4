"""Trees with source positions: one node model, and a parser for each syntax."""
