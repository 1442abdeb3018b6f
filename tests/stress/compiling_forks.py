"""Forks while other threads compile kernels that are not on disk, and while other code compiles with Numba.

The child launches, and ends. Its kernels are on disk, in the folder that the process used before.
"""

import os
import tempfile

import numpy as np

from ep.common.environment import CACHE_DIR
from tests.stress.draw import pick
from tests.stress.forks import compile_all, forks_while, have_kernels_on_disk, launch

FRESH, SECONDS, DEVICES = True, 360, ("cpu",)


def compile_with_numba(rng, tag):
    """Compile functions that do not belong to the package."""
    from numba import njit

    for number in range(int(rng.integers(1, 12))):
        names = {}
        exec(f"def f(x):\n    s = 0.0\n    for i in range(x.size):\n        s += x[i] * {number}\n    return s", names)
        assert njit(names["f"])(np.ones(3)) == 3 * number


def trial(rng, tag):
    have_kernels_on_disk(tag)
    compile_with_numba(rng, tag)  # this imports modules; a child forked during an import would wait for it
    usual = os.environ.get(CACHE_DIR.name)

    def in_the_usual_folder():
        if usual is None:
            del os.environ[CACHE_DIR.name]
        else:
            os.environ[CACHE_DIR.name] = usual

    with tempfile.TemporaryDirectory(prefix="ep-stress-cache-") as folder:
        os.environ[CACHE_DIR.name] = folder
        works = [pick(rng, (compile_all, launch, compile_with_numba)) for _ in range(int(rng.integers(1, 4)))]
        forks_while(rng, tag, [compile_with_numba, *works], in_the_usual_folder)
