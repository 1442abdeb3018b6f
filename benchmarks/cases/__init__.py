"""The cases of `python -m benchmarks`, in sets: of any size and data type, or of sizes of their own."""
