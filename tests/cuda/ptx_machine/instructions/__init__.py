"""The instructions that the machine knows: emitters, each of which writes LLVM's code for one PTX instruction."""

from tests.cuda.ptx_machine.instructions import (
    approximations,
    atomics,
    bits,
    comparisons,
    control,
    conversions,
    floats,
    integers,
    meetings,
    memory,
)
from tests.cuda.ptx_machine.instructions.registry import EMITTERS, MEETINGS

__all__ = [
    "EMITTERS",
    "MEETINGS",
    "approximations",
    "atomics",
    "bits",
    "comparisons",
    "control",
    "conversions",
    "floats",
    "integers",
    "meetings",
    "memory",
]
