"""The machine at hand: its processor and caches, measurements of them, and its kernels on disk."""
