"""The types of calls that earlier kernels have found: the same as Numba's, and used only while a kernel compiles."""

import operator

import pytest
from numba.core import errors, types
from numba.core.registry import cpu_target
from numba.core.types.functions import BaseFunction

from ep.cpu.compile.known_types import known_call_types

OPERATORS = operator.add, operator.floordiv, operator.truediv, operator.lt, operator.and_, operator.ne
NUMBERS = types.int64, types.uint8, types.float32, types.boolean, types.literal(3)


def found(function, args):
    context = cpu_target.typing_context
    try:
        return context.resolve_value_type(function).get_call_type(context, args, {})
    except errors.TypingError:
        return None


@pytest.fixture(autouse=True, scope="module")
def _declarations():
    cpu_target.typing_context.refresh()


def test_the_types_are_those_that_numba_finds():
    pairs = [(function, (one, other)) for function in OPERATORS for one in NUMBERS for other in NUMBERS]
    expected = [found(*pair) for pair in pairs]
    for _ in range(2):  # found first, and known the second time
        with known_call_types():
            assert [found(*pair) for pair in pairs] == expected
    assert any(one is None for one in expected)  # for example float32 & int64


def test_numba_is_left_as_it_was():
    numbas, changed = BaseFunction.get_call_type, []

    def fail():
        with known_call_types():
            changed.append(BaseFunction.get_call_type is not numbas)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert changed == [True]
    assert BaseFunction.get_call_type is numbas
