"""Functions of other packages, whose sources are not part of a kernel's key."""

import textwrap
from functools import cache, partial
from types import MethodType, ModuleType

import numpy as np
import pytest

from ep.common.deferred import Deferred
from ep.common.kernel_cache.origins import are_known

MAKER = """
def functor(x):
    return x

def make(functor, default=None, *, last=None):
    def kernel(x, y=default, *, z=last):
        return functor(x), y, z
    return kernel

def recursive():
    def even(n):
        return n == 0 or odd(n - 1)
    def odd(n):
        return n != 0 and even(n - 1)
    return even

def unfinished():
    def kernel(x):
        return later(x)
    return kernel
    later = 1
"""


def module(name):
    """Return a new module with the functions of MAKER."""
    made = ModuleType(name)
    exec(MAKER, made.__dict__)
    return made


OURS = module("ep.cpu.made")
OTHERS = [module(name) for name in ("other", "ep.ops.made", "ep_more", "__main__")]
KNOWN = frozenset(("ep.common", "ep.cpu"))


class Compiled:
    """A wrapper around a function, of the form of compiled functions and intrinsics."""

    def __init__(self, name, function):
        setattr(self, name, function)


def test_functions_of_the_package_of_python_and_of_the_tools_are_known():
    for function in (
        OURS.functor,
        OURS.make(OURS.functor, 1),
        OURS.make(np.floor, np.linalg.norm, last=textwrap.dedent),
        OURS.recursive(),
        OURS.unfinished(),
        (OURS.functor, OURS.make(None)),
        None,
    ):
        assert are_known(function, KNOWN)


@pytest.mark.parametrize("other", OTHERS, ids=[other.__name__ for other in OTHERS])
@pytest.mark.parametrize(
    "wrap",
    [
        lambda function: function,
        lambda function: (1, (function,)),
        lambda function: partial(function, 1),
        lambda function: partial(OURS.functor, function),
        lambda function: partial(OURS.functor, x=function),
        lambda function: MethodType(function, 1),
        cache,
        lambda function: Deferred(function, None),
        lambda function: Compiled("py_func", function),
        lambda function: Compiled("_defn", function),
    ],
)
def test_functions_of_other_packages_are_found(other, wrap):
    for function in (other.functor, other.make(OURS.functor)):
        wrapped = wrap(function)
        assert not are_known(wrapped, KNOWN)
        assert not are_known(OURS.make(wrapped), KNOWN)
        assert not are_known(OURS.make(OURS.make(None, wrapped)), KNOWN)
        assert not are_known((OURS.functor, OURS.make(None, last=wrapped)), KNOWN)
