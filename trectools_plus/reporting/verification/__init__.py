"""Verification of reports: every file is made again and compared."""
