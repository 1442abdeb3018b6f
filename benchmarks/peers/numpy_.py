"""NumPy: ufuncs, take and copyto with `out=`; elementwise work stays on one thread."""

from __future__ import annotations

import numpy as np

from benchmarks.peers import Contender
from ep.bench.case import Array, Arrays, Case


class Adapter:
    name = "numpy"
    version = np.__version__
    note = "one thread: NumPy has no more for this work"

    def __init__(self, threads: int) -> None:
        pass

    def prepare(self, case: Case, inputs: Arrays, out: Array) -> Contender | None:
        return Contender(case.numpy(inputs, out), lambda: out) if case.numpy_has_it else None
