"""Elementwise kernels of CUDA: their plans, operands and functors."""
