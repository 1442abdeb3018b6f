"""What kernels of CUDA are compiled by, and the functions that all of them share."""
