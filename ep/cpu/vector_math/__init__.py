"""Elementary functions that LLVM vectorises: free of branches, in float64."""

import ep.cpu.compile  # noqa: F401  first: it checks what Numba would read of the environment
