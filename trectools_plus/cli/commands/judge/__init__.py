"""The commands of ``judge``."""
