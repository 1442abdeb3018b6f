"""Rows of bytes, writes with non-temporal stores, and the probe that chooses between them."""
