"""What measures mean: their base class, the built-in ones, and the table of trec_eval's."""
