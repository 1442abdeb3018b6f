"""Elementary functions that LLVM vectorises: free of branches, in float64."""

from ep.common.environment import check_compiler

check_compiler()
