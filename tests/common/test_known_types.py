"""The types of calls that earlier kernels have found: the same as Numba's, and used only while a kernel compiles."""

import operator
from importlib import import_module

import pytest
from numba import njit
from numba.core import errors, types
from numba.core.registry import cpu_target
from numba.core.types.functions import BaseFunction, Dispatcher

from ep.common.native.known_types import known_call_types
from ep.cuda.driver.packages import why_no_kernels
from tests.restored import check_restored

OPERATORS = operator.add, operator.floordiv, operator.truediv, operator.lt, operator.and_, operator.ne
NUMBERS = types.int64, types.uint8, types.float32, types.boolean, types.literal(3)
OF_TUPLES = operator.add, operator.getitem
PAIR, TRIPLE = types.UniTuple(types.int64, 2), types.Tuple((types.int64, types.float32, types.float32))
OTHERS = PAIR, TRIPLE, types.UniTuple(types.float64, 2), types.Array(types.float32, 1, "C"), types.int32


def cuda_context():
    if why := why_no_kernels():
        pytest.skip(why)
    import_module("ep.cuda.compile.numba_cuda")
    return import_module("numba.cuda.descriptor").cuda_target.typing_context


CONTEXTS = {"cpu": lambda: cpu_target.typing_context, "cuda": cuda_context}


@pytest.fixture(params=CONTEXTS)
def context(request):
    """Return the typing context of a compiler, with its declarations."""
    context = CONTEXTS[request.param]()
    context.refresh()
    return context


def found(context, function, args):
    try:
        return context.resolve_value_type(function).get_call_type(context, args, {})
    except errors.TypingError:
        return None


def test_the_types_are_those_that_numba_finds(context):
    triples = [(context, function, (one, other)) for function in OPERATORS for one in NUMBERS for other in NUMBERS]
    triples += [(context, function, (one, other)) for function in OF_TUPLES for one in OTHERS for other in OTHERS]
    expected = [found(*triple) for triple in triples]
    for _ in range(2):  # found first, and known the second time
        with known_call_types():
            assert [found(*triple) for triple in triples] == expected
    assert any(one is None for one in expected)  # for example float32 & int64


def test_a_compiled_function_is_asked_once_for_operands_of_the_same_types(monkeypatch):
    compiled, asked = njit(lambda a, b: (a, b)), []
    numbas = type(compiled).get_call_template
    monkeypatch.setattr(type(compiled), "get_call_template", lambda *given: asked.append(given) or numbas(*given))
    pairs = [(types.int64, types.float32), (types.float32, types.int64), (types.int64, types.int64)]
    with known_call_types():
        for pair in pairs * 3:
            found_type = compiled._numba_type_.get_call_type(cpu_target.typing_context, pair, {}).return_type
            assert found_type == types.BaseTuple.from_types(pair)
    assert len(asked) == len(pairs)


def test_numba_is_left_as_it_was():
    check_restored(lambda: [BaseFunction.get_call_type, Dispatcher.get_call_type], known_call_types)
