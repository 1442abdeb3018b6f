"""Operators on CUDA: arrays of any library on a GPU. Imported for the first operand that is one."""
