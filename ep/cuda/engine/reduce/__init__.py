"""Kernels of CUDA that reduce: axes, rows and segments, and their plans."""
