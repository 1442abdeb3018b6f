"""`python -m benchmarks`: the primitives beside NumPy, PyTorch, numexpr, JAX and ONNX Runtime, as far as installed."""

import sys

from benchmarks.instructions import hold
from benchmarks.options import parse, set_threads

if __name__ == "__main__":
    arguments = parse()
    set_threads(arguments.threads)  # before anything with threads is imported
    hold(arguments.isa)

    from benchmarks.run import run

    sys.exit(run(arguments))
