"""This machine: its processor and caches, measurements of them, and its kernels on disk."""
