"""The engines of CUDA, each for several primitives: one file for each way to traverse data."""
