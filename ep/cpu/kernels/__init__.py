"""The compiled kernels of ops: row kernels of their functors in the CPU's arithmetic."""

from ep.common.environment import check_compiler

check_compiler()
