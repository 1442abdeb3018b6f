"""The global names that the code of functions loads."""

from __future__ import annotations

import dis
import functools
from collections.abc import Iterator
from types import CodeType

_GLOBAL, _NAME, _EXTENDED = (dis.opmap[name] for name in ("LOAD_GLOBAL", "LOAD_NAME", "EXTENDED_ARG"))


@functools.cache
def names_in(code: CodeType) -> frozenset[str]:
    """Return all global names that `code` and the functions in it load.

    The bytes are read here, two for each instruction: Python's `dis` takes twenty times as long.
    """
    known, names = code.co_names, set[str]()
    if known:
        instructions = code.co_code
        ops, arguments = instructions[::2], instructions[1::2]
        # the lowest bit of a global's number says whether a call follows
        names.update(known[number >> 1] for number in _numbers(ops, arguments, _GLOBAL))
        names.update(known[number] for number in _numbers(ops, arguments, _NAME))
    return frozenset(names).union(*(names_in(const) for const in code.co_consts if isinstance(const, CodeType)))


def _numbers(ops: bytes, arguments: bytes, op: int) -> Iterator[int]:
    """Yield the arguments of all instructions `op`: bytes of higher value are in instructions before it."""
    place = ops.find(op)
    while place >= 0:
        number, shift, before = arguments[place], 8, place - 1
        while before >= 0 and ops[before] == _EXTENDED:
            number |= arguments[before] << shift
            shift, before = shift + 8, before - 1
        yield number
        place = ops.find(op, place + 1)
