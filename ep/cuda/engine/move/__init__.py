"""Kernels of CUDA that move elements, and their plans."""
