"""`python -m benchmarks`: compares the primitives with NumPy, PyTorch, numexpr, JAX and ONNX Runtime, if installed."""

import sys

from benchmarks.instructions import hold
from benchmarks.options import parse, set_threads

if __name__ == "__main__":
    arguments = parse()
    set_threads(arguments.threads)  # before any library with threads is imported
    hold(arguments.isa)

    from benchmarks.run import run

    sys.exit(run(arguments))
