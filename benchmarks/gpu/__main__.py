"""`python -m benchmarks.gpu`."""

import sys

from benchmarks.gpu.options import parse

if __name__ == "__main__":
    arguments = parse()

    from benchmarks.gpu.run import run

    sys.exit(run(arguments))
