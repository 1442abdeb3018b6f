"""Loops that are written out before a compiler sees them.

Numba has no loop over a tuple of different types, and makes an array for a loop over a tuple of numbers. So such a loop
is written like any other, marked, and unrolled:

    @written_out(device_function)
    def sums(packs, i):
        total = zero
        for k, load in unrolled(enumerate(loads)):
            total = add(total, load(packs[k], i))
        return total, tuple(packs[k] for k in unrolled(range(2)))

becomes, where `loads` has two functions, and before `device_function` compiles it,

    def sums(packs, i):
        total = zero
        total = add(total, load_0(packs[0], i))
        total = add(total, load_1(packs[1], i))
        return (total, (packs[0], packs[1]))

`marker` has the mark. `written_out` has the decorator, which unrolls when a compiler first asks for the function.
`writer` makes the new function from the syntax tree that `definition` finds. Without the decorator, the function
computes the same.
"""

from ep.common.loops.marker import unrolled
from ep.common.loops.written_out import written_out

__all__ = ["unrolled", "written_out"]
