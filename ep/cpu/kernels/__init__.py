"""What is compiled for ops: their functors in the arithmetic that they have on the CPU, as row kernels."""

import ep.cpu.compile  # noqa: F401  first: it checks what Numba would read of the environment
