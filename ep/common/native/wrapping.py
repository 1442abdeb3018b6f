"""Integers of operands wrap: Numba promises LLVM that sums, differences and products of signed ones do not overflow.

LLVM would then compute `x + 1 > x` as true, once a fused kernel has both.
"""

from typing import Any, Final

_PROMISE: Final = "nsw"


def wrap(function: Any) -> None:
    """Remove this promise from all instructions of a function."""
    for block in function.blocks:
        for instruction in block.instructions:
            if _PROMISE in getattr(instruction, "flags", ()):
                instruction.flags = tuple(flag for flag in instruction.flags if flag != _PROMISE)
