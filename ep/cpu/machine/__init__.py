"""The machine at hand: its processor and caches, what was measured of them, and its kernels on disk."""
