"""The engines of CUDA, each of which serves several primitives: one file for each way to go over data."""
