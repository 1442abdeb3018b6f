"""Launches that are known: compiled code checks their arguments and queues their kernels."""
