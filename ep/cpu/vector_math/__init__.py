"""Branch-free elementary functions in float64 that LLVM vectorises."""

from ep.common.environment import check_compiler

check_compiler()
