"""Rows of bytes, non-temporal stores, and the probe that decides when they are used."""
