"""What kernels of several primitives have in common on CUDA: one file for each way to go over data."""
