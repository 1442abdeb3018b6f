"""The call of a method in Python, from the compiled method that replaces it."""

from __future__ import annotations

from ep.common.native.fields import Int64
from ep.common.native.jit import jit
from ep.common.native.objects import TupleObject
from ep.common.native.python_calls import allocate, call, no_memory, release

_FEW = 32  # the most arguments that are passed on without heap memory


@jit
def call_method(function: int, of: int, args: Int64, num_args: int, names: TupleObject) -> int:
    """Return the result of a Python function for the arguments of a method: the address of a new reference, or 0.

    of: the object of the method. args, num_args, names: as a method of `python_method` gets them.
    """
    number = 1 + num_args
    if names != 0:
        number += names.length
    arguments, memory = Int64.array_on_stack(_FEW), 0
    if number > _FEW:
        memory = allocate(8 * number)
        if memory == 0:
            return no_memory()
        arguments = Int64.at(memory)
    arguments[0] = of
    for argument in range(1, number):
        arguments[argument] = args[argument - 1]
    result = call(function, arguments, 1 + num_args, names)
    if memory != 0:
        release(memory)
    return result
