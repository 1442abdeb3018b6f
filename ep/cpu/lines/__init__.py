"""Rows of bytes, writes past the caches, and the probe that chooses between them."""
