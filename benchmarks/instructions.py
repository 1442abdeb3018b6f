"""The instructions that the libraries may use: all of the machine, or only those of an older processor.

So AVX2 kernels can be measured on every machine. PyTorch's products of int64 take AVX-512 all the same where they find
it: no variable limits the library that computes them. Like `options`, this module imports neither NumPy nor a peer,
since libraries choose their instructions when they are imported.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Final

HOST: Final = "host"
ISAS: Final = (HOST, "avx2")

_VARIABLES: Final[Mapping[str, Mapping[str, str]]] = {
    "avx2": {
        "NUMBA_CPU_NAME": "haswell",
        "NUMBA_CPU_FEATURES": "",
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
    }
}

NOT_HELD: Final = {
    "onnxruntime": "it takes all instructions that it finds, and has no switch for that",
    "openvino": "its own kernels take all instructions that they find, whatever oneDNN's variable says",
    "jax": "its products take all instructions that they find, whatever XLA's flag says",
}
"""The peers whose instructions no environment variable limits, and the reasons."""

_NEWER: Final = """
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
print(*(name for name in __cpu_dispatch__ if __cpu_features__[name] and name.startswith(("X86_V4", "AVX512"))))
"""


def hold(isa: str) -> None:
    """Limit the instructions of every library that is imported later."""
    if isa == HOST:
        return
    os.environ.update(_VARIABLES[isa])
    # NumPy accepts names of features that it was built for and that the processor has, and warns of all others
    command = [sys.executable, "-c", _NEWER]
    newer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    os.environ["NPY_DISABLE_CPU_FEATURES"] = newer.strip()
