"""Elementary functions that LLVM vectorises: free of branches, in float64."""
