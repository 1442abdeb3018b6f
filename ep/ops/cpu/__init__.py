"""Operators on the CPU: NumPy's arrays."""
