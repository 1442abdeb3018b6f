"""The parts of a function: modules and constants."""

import sys
import textwrap
from enum import Enum
from functools import cache, partial
from types import FunctionType, ModuleType

import numpy as np
import pytest

from ep.common.kernel_cache.reach import reach


def module(name, text, **names):
    """Return a new module that is the result of running `text`."""
    made = ModuleType(name)
    made.__dict__.update(names)
    exec(text, made.__dict__)
    return made


INNER = module("ep_inner", "def functor(x):\n    return x\n")
OTHER = module("ep_other", "def functor(x):\n    return x\n")
MAKER = """
def make(functor, constant=None, default=1):
    def kernel(x, y=default):
        return functor(x), constant
    return kernel

def nested(functor):
    def kernel(x):
        return [GLOBAL(y) for y in x]
    return kernel
"""


def kernel(functor, constant=None, default=1):
    return module("ep_kernel", MAKER).make(functor, constant, default)


class Compiled:
    """A wrapper around a function, of the form of compiled functions and intrinsics."""

    def __init__(self, name, function):
        setattr(self, name, function)


@pytest.mark.parametrize(
    "wrapped",
    [
        INNER.functor,
        partial(INNER.functor, 1),
        cache(INNER.functor),
        Compiled("py_func", INNER.functor),
        Compiled("_defn", INNER.functor),
        (1, (INNER.functor,)),
        {"a": [INNER.functor]},
        frozenset((INNER.functor,)),
        kernel(INNER.functor),
    ],
)
def test_functions_are_found_in_what_a_closure_holds(wrapped):
    assert {"ep_kernel", "ep_inner"} <= reach(kernel(wrapped)).modules
    assert {"ep_kernel", "ep_inner"} <= reach(kernel(None, None, wrapped)).modules
    globals_ = module("ep_kernel", MAKER, GLOBAL=wrapped)
    assert {"ep_kernel", "ep_inner"} <= reach(globals_.nested(None)).modules


def test_python_and_the_tools_are_not_among_the_modules():
    assert reach(kernel(np.floor, (np.float32, sys.intern))).modules == {"ep_kernel"}
    assert reach(kernel(np.linalg.norm)).modules == {"ep_kernel"}


def test_nothing_depends_on_the_version_of_python_or_numpy():
    """The lines of their functions differ, and how NumPy shows its numbers."""

    def moved(lines):
        code = textwrap.dedent.__code__.replace(co_firstlineno=lines)
        return FunctionType(code, vars(textwrap), textwrap.dedent.__name__)

    assert reach(kernel(moved(7))) == reach(kernel(moved(8)))

    def number(shown):
        return type("float64", (float,), {"__repr__": lambda self: shown})(2.5)

    assert reach(kernel(None, number("2.5"))) == reach(kernel(None, number("np.float64(2.5)")))
    assert reach(kernel(None, np.float64(2.5))) != reach(kernel(None, np.float64(2)))


class Colour(Enum):
    RED = 1
    BLUE = 2


DIFFERENT = [
    *(None, 0, 1, True, 1.0, -0.0, 0.0, float("nan"), 1j, "1", b"1", (), (1,), ((1,),), (1, 1), [1], {1}, {1: 1}, ...),
    *(np.float32(1), np.float64(1), np.int32(1), np.zeros(2), np.zeros(3), np.ones(2), np.zeros((1, 2))),
    *(np.dtype("f4"), np.dtype("f8"), np.float32, np.float64, np.floor, np.ceil, len, max, Colour, Colour.RED),
    *(Colour.BLUE, INNER, OTHER, INNER.functor, OTHER.functor, partial(max, 1), partial(max, 2)),
]


def test_constants_of_a_closure_and_defaults_tell_kernels_apart():
    digests = [reach(kernel(max, constant)).digest for constant in DIFFERENT]
    digests += [reach(kernel(max, None, constant)).digest for constant in DIFFERENT if constant is not None]
    assert len(set(digests)) == len(digests) - 1  # a default of 1 is the same as in the first
    assert digests[: len(DIFFERENT)] == [reach(kernel(max, constant)).digest for constant in DIFFERENT]


def test_a_constant_that_is_global_counts():
    digests = {reach(module("ep_kernel", MAKER, GLOBAL=value).nested(None)).digest for value in (1, 2, 1)}
    assert len(digests) == 2


def test_functions_of_one_name_in_one_module_are_told_apart():
    text = (
        "def make(which):\n    if which:\n        f = lambda x: x\n    else:\n        f = lambda x: -x\n    return f\n"
    )
    make = module("ep_kernel", text).make
    assert reach(make(True)).digest != reach(make(False)).digest


def test_circles_end():
    first, second = [], []
    first.append(second)
    second.append(first)
    text = "def even(n):\n    return n == 0 or odd(n - 1)\n\ndef odd(n):\n    return n != 0 and even(n - 1)\n"
    made = module("ep_kernel", text)
    assert reach(kernel(made.even, first)).modules == {"ep_kernel"}
