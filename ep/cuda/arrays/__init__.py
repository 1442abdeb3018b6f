"""Arrays on CUDA: those that operators return, and those of any library, which one module reads."""
