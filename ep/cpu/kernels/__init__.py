"""The kernels of ops: their functors in the arithmetic that they have on the CPU, as row kernels."""

from ep.common.environment import check_compiler

check_compiler()
