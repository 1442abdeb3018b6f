"""Compilation of functions by ep's own compiler and by Numba alone, anew for each test."""

import ctypes
import itertools

import pytest

from ep.cpu.compile import lowering
from ep.cpu.compile.compiler import compile_function
from ep.cpu.compile.syntax import Unsupported
from ep.cpu.machine.kernel_cache import CACHE

_NUMBERS = itertools.count()  # every kernel has a name of its own


@pytest.fixture(params=["directly", "by Numba"])
def compiled(request, monkeypatch):
    """Return a function that compiles a function of words anew, from its syntax tree or by Numba alone: its `way`."""

    def refuse(*args):
        raise Unsupported

    monkeypatch.setattr(CACHE, "read", lambda *args: None)
    monkeypatch.setattr(CACHE, "write", lambda *args: None)
    if request.param == "by Numba":
        monkeypatch.setattr(lowering, "lowered", refuse)

    def compile_anew(function, count=None):
        """count: of words; by default, that of the function's arguments."""
        count = function.__code__.co_argcount if count is None else count
        made = compile_function(f"test.compiled.{next(_NUMBERS)}", function, count)
        return ctypes.CFUNCTYPE(ctypes.c_int64, *(ctypes.c_int64,) * count)(made)

    compile_anew.way = request.param
    return compile_anew
