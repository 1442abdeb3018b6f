"""Products of matrices on CUDA."""
