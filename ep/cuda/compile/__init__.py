"""The compiler of CUDA kernels, and the functions that all kernels share."""
