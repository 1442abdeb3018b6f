"""Operators: functions on arrays that compute with primitives and nothing else."""
