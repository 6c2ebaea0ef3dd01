"""Inputs that cost their reader far more than their writer, for tests of every reader."""
