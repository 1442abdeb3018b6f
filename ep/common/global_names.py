"""The global names that the code of functions loads."""

from __future__ import annotations

import dis
import functools
from types import CodeType

_GLOBAL, _NAME, _EXTENDED = (dis.opmap[name] for name in ("LOAD_GLOBAL", "LOAD_NAME", "EXTENDED_ARG"))


@functools.cache
def sorted_names(code: CodeType) -> tuple[str, ...]:
    """Return all global names that `code` and the functions in it load, in alphabetical order."""
    return tuple(sorted(names_in(code)))


@functools.cache
def names_in(code: CodeType) -> frozenset[str]:
    """Return all global names that `code` and the functions in it load.

    The bytes are read here, two for each instruction: Python's `dis` takes twenty times as long.
    """
    names = set[str]()
    extended = 0
    instructions = code.co_code
    for op, low in zip(instructions[::2], instructions[1::2], strict=True):
        number = extended | low
        extended = number << 8 if op == _EXTENDED else 0
        if op == _GLOBAL:
            names.add(code.co_names[number >> 1])  # the lowest bit says whether a call follows
        elif op == _NAME:
            names.add(code.co_names[number])
    return frozenset(names).union(*(names_in(const) for const in code.co_consts if isinstance(const, CodeType)))
