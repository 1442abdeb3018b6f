"""The elementary functions of processors without AVX-512, which have no tables in registers, at launches."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ep.cpu.vector_math.lookup import has_register_tables

ACCURACY = Path(__file__).with_name("test_accuracy.py")


@pytest.mark.skipif(not has_register_tables(), reason="the other tests have run on such a processor")
def test_the_bounds_hold_with_avx2_alone():
    """In a process of its own: for what kernels are compiled is decided once."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(ACCURACY), "-k", "test_bounds"],
        env={**os.environ, "NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": ""},
        cwd=ACCURACY.parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
