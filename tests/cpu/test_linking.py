"""Functions of a kernel that only some of its other functions still call after LLVM has simplified them."""

import ctypes

import pytest

from ep.cpu.compile.compiler import compile_function
from ep.cpu.compile.jit import jit
from ep.cpu.machine.kernel_cache import CACHE


@jit
def shared(x):
    return 3 * x + 1


@jit
def called_no_more(x):
    if x - x == 1:  # LLVM removes this branch, and with it the call
        return shared(x)
    return x + 1


@jit
def caller(x):
    return shared(x) + 2


def first_no_more(x):
    return called_no_more(x) - caller(x)


def first_the_caller(x):
    return caller(x) - called_no_more(x)


@pytest.mark.parametrize(("kernel", "expected"), [(first_no_more, 6 - 18), (first_the_caller, 18 - 6)])
def test_a_function_that_one_of_two_others_calls_no_more(kernel, expected, monkeypatch):
    monkeypatch.setattr(CACHE, "read", lambda name, form: None)
    monkeypatch.setattr(CACHE, "write", lambda name, contents: None)
    address = compile_function(f"test.linking.{kernel.__name__}", kernel, 1)
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(5) == expected
