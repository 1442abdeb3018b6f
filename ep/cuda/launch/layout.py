"""The words of a known launch, which Python writes and compiled code reads."""

from __future__ import annotations

from typing import Final

from ep.common.native.object_layout import FIRST_SLOT, THIRD_SLOT

KNOWN, WORDS = FIRST_SLOT, THIRD_SLOT
"""Slots of a primitive: see `known.Launched`."""

WRITTEN, SHARED, NUM_WORDS = range(3)
"""The words of a primitive: its Launch in Python, and the address of the words below."""

# the words that all primitives share
(
    STREAM_TYPE,
    BUFFER_TYPE,
    ARRAY_TYPE,
    TUPLE_TYPE,
    INT_TYPE,
    FLOAT_TYPE,
    NONE,
    TRUE,
    ADAPTERS,  # the dict of the types of other libraries' arrays
    ANY_ARRAY,  # the object that represents an array in keys
    LAUNCH_KERNEL,  # from here on, addresses of functions of the driver
    IS_CAPTURING,
    GET_CONTEXT,
    PUSH_CONTEXT,
    POP_CONTEXT,
    POINTER_ATTRIBUTE,
    NUM_SHARED,
) = range(17)

# the words of a known launch; its operands, pairs and kernels follow
CONTEXT, DEVICE, SCRATCH_BYTES, NUM_OPERANDS, NUM_PAIRS, NUM_KERNELS, FIRST = range(7)

# of an operand: the array among those of the call, its dtype and least count, whether it is written, and the low bits
# of its address
ARRAY, DTYPE, COUNT, IS_WRITTEN, MASK, LOW_BITS, OPERAND_WORDS = range(7)

# of a pair of operands, one of which is written: their numbers and bytes, and whether they may be the same memory
ONE, ONE_BYTES, OTHER, OTHER_BYTES, MAY_BE_SAME, PAIR_WORDS = range(6)

# of a kernel: the arguments of cuLaunchKernel; then, for each parameter, the number of the operand whose address is
# added to the word, and the word
FUNCTION, GRID, BLOCK, SHARED_BYTES, NUM_PARAMETERS, PARAMETERS = 0, 1, 4, 7, 8, 9

NO_OPERAND: Final = 0  # operands are numbered from 2
OF_SCRATCH: Final = 1
FIRST_OPERAND: Final = 2

MAX_ARGUMENTS: Final = 24
MAX_ARRAYS: Final = 8
MAX_PARAMETERS: Final = 96
