"""The variables that one block alone uses and assigns, once: those that Numba finds, and Numba as before afterwards."""

from importlib import import_module
from types import SimpleNamespace

import pytest

from ep.common.native.assigned_once import assigned_once_in_one_pass
from ep.cuda.driver.packages import why_no_kernels
from tests.restored import check_restored


@pytest.fixture
def lowering():
    if why := why_no_kernels():
        pytest.skip(why)
    import_module("ep.cuda.compile.numba_cuda")
    return import_module("numba.cuda.lowering")


def several_blocks(n, step):
    total = 0
    for i in range(n):
        part = i * step
        part = part - n
        more = part + step
        if part > 7:
            total += more
        elif more < 3:
            step = step - 1
    twice = total + total
    return twice * step


def one_block(a, b):
    a = a + b
    c = a * b
    c, d = c + 1, c - 1
    return c * d


def found(lowering, function):
    function_ir = import_module("numba.cuda.compiler").run_frontend(function)
    lower = SimpleNamespace(func_ir=function_ir, blocks=function_ir.blocks)
    lowering.Lower._find_singly_assigned_variable(lower)
    assert lower._blk_local_varmap == {}
    assignments = (one for block in function_ir.blocks.values() for one in block.find_insts(lowering.ir.Assign))
    return lower._singly_assigned_vars, {one.target.name for one in assignments}


@pytest.mark.parametrize(("function", "are_all"), [(several_blocks, False), (one_block, True), (found, False)])
def test_they_are_those_that_numba_finds(lowering, function, are_all):
    once, assigned = found(lowering, function)
    assert once <= assigned
    assert (once == assigned) == are_all
    with assigned_once_in_one_pass(lowering):
        assert found(lowering, function) == (once, assigned)


def test_numba_is_left_as_it_was(lowering):
    check_restored(lambda: [lowering.Lower._find_singly_assigned_variable], lambda: assigned_once_in_one_pass(lowering))
