"""Verdicts: the tagged union, the signed statement, signatures and offline verification."""
