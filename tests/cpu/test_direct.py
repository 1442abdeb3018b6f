"""Functions that become LLVM's code from their syntax trees: they compute what Python does, in the bits of Numba."""

import ctypes
import itertools

import numpy as np
import pytest

from ep.common.native.words import load_float64, load_word, stack_words, store_word
from ep.common.source import function_of
from ep.cpu.compile import lowering
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import inlined, jit, separate
from ep.cpu.compile.memory import loader, storer
from ep.cpu.compile.syntax import Unsupported
from ep.cpu.machine.kernel_cache import CACHE
from ep.include import DataType

FACTOR, SCALE, TABLE = 3, np.float64(0.75), (5, 7)

_NUMBERS = itertools.count()  # every kernel has a name of its own


def count_down(a, b):
    total = 0
    for i in range(a, -b, -2):
        if i % 5 == 0:
            continue
        if i < -30:
            break
        total = 2 * total + i
    return total


def search(a, b):
    low, high = 0, 1000
    while low < high and not low > 900:
        middle = (low + high) // 2
        if middle * middle < abs(a):
            low = middle + 1
        else:
            high = middle
    return low + b


def endless(a, b):
    while True:
        a += 7
        if a > b:
            return a
        a += 1 if a % 2 else 2


def compared(a, b):
    inside = 0 <= a < b
    outside = not inside or a == 3
    return (1 if inside else 2) + (10 if outside else 20) + min(a, b) * max(a, 4)


def signs(a, b):
    return a // 7 + (a % 7) * 100 - (-a) // 7 + (~b & 0xFF | 3 ^ 5) + (b << 2) - (a >> 1)


def by_constants(a, b):
    if FACTOR > 2:
        a *= FACTOR + TABLE[1]
    else:
        a = "never compiled"
    return a if FACTOR == 2 or TABLE is None else b - a


def known_choices(a, b):
    either = a * (FACTOR or 5) + (not FACTOR or TABLE[1])
    both = b * (FACTOR and TABLE[0]) + (TABLE is not None and FACTOR > 2 and (0 or FACTOR))
    return 10 * either + both + ((FACTOR == 3 or a > 0) + (FACTOR < 3 and b))


def nested(a, b):
    count = 0
    for i in range(abs(a) % 9):
        for j in range(i, b):
            if j == 5:
                break
            count += i * j
    return count


def swapped(a, b):
    a, b = (b, a) if a < b else (a, b)
    a, b, c = b, a, a + b
    return 100 * a + 10 * b + c


INTEGERS = [count_down, search, endless, compared, signs, by_constants, known_choices, nested, swapped]


def product_in_a_variable(x, y, z):
    product = x * y
    return product + z


def product_of_two_sums(x, y, z):
    product = x * y
    return (product + z) * (product - z)


def product_for_another_section(x, y, z):
    product = x * y
    first = product + z
    if x > y:
        first = first * SCALE - product
    return first


def product_before_a_choice(x, y, z):
    return x * y + (z if x > y else -z)


def variable_assigned_again(x, y, z):
    x = x * y
    x = x + z
    if x > z:
        x = x * x - y
    return x


def sum_of_products(x, y, z):
    total = 0.0
    for _ in range(3):
        total = total + x * y
        y -= x * -0.0
    return -(z * z) - total


def product_and_a_known_choice(x, y, z):
    product = x * y
    if FACTOR == 3:
        product = product + z
    return product if SCALE > 1.0 else product - x * z


REALS = [
    *(product_in_a_variable, product_of_two_sums, product_for_another_section, product_before_a_choice),
    *(variable_assigned_again, sum_of_products, product_and_a_known_choice),
]


@pytest.fixture
def by_numba(monkeypatch):
    """Yield a list of the functions that Numba has compiled, by name."""
    left, directly = [], lowering.lowered

    def lowered(function, *args):
        try:
            return directly(function, *args)
        except lowering.NOT_WRITTEN:
            left.append(function.__name__)
            raise

    monkeypatch.setattr(lowering, "lowered", lowered)
    return left


@pytest.fixture
def with_numba_alone(monkeypatch):
    """Yield a function that makes Numba compile all functions that follow."""

    def lowered(*args):
        raise Unsupported

    return lambda: monkeypatch.setattr(lowering, "lowered", lowered)


@pytest.fixture
def compiled(monkeypatch):
    """Yield a function that returns a task as a C function of words, compiled anew."""
    monkeypatch.setattr(CACHE, "read", lambda *args: None)
    monkeypatch.setattr(CACHE, "write", lambda *args: None)

    def compile_anew(task):
        count = task.__code__.co_argcount
        return ctypes.CFUNCTYPE(None, *(ctypes.c_int64,) * count)(
            compile_task(f"test.direct.{next(_NUMBERS)}", task, count)
        )

    return compile_anew


@pytest.mark.parametrize("decorate", [inlined, jit, separate])
@pytest.mark.parametrize("function", INTEGERS, ids=lambda function: function.__name__)
def test_functions_of_integers_compute_what_python_does(rng, by_numba, compiled, function, decorate):
    inner = decorate(function)

    def task(out, a, b):
        store_word(out, 0, inner(a, b))

    out, run = np.zeros(1, np.int64), compiled(task)
    for a, b in [(0, 0), (1, 1), (-1, 7), *rng.integers(-99, 99, (200, 2)).tolist()]:
        run(out.ctypes.data, a, b)
        assert out[0] == function(a, b), (a, b)
    assert by_numba == []


def of_reals(function, compiled):
    """Return a function that computes `function` for rows of three numbers."""
    inner, load, store = jit(function).make(function), loader(DataType.kDouble), storer(DataType.kDouble)

    def task(out, src, count):
        for i in range(count):
            store(out, i, inner(load(src, 3 * i), load(src, 3 * i + 1), load(src, 3 * i + 2)))

    run = compiled(task)

    def call(rows):
        out = np.empty(len(rows), rows.dtype)
        run(out.ctypes.data, rows.ctypes.data, len(rows))
        return out

    return call


@pytest.mark.parametrize("function", REALS, ids=lambda function: function.__name__)
def test_functions_of_reals_have_the_bits_of_numba(rng, by_numba, with_numba_alone, compiled, function):
    rows = np.concatenate([rng.normal(size=(2003, 3)), [[0.0, -0.0, 0.0], [-0.0, 1.0, -0.0], [np.inf, 0.0, 1.0]]])
    directly = of_reals(function, compiled)
    assert by_numba == []
    with_numba_alone()
    numba = of_reals(function, compiled)
    np.testing.assert_array_equal(directly(rows).view(np.int64), numba(rows).view(np.int64))


def test_a_choice_of_two_types_is_left_to_numba(by_numba, compiled):
    @jit
    def chosen(a, x):
        return a if a > 0 else x

    def task(out, src, a):
        store_word(out, 0, np.int64(2.0 * chosen(a, load_float64(src, 0))))

    out, src, run = np.zeros(1, np.int64), np.array([2.5]), compiled(task)
    found = []
    for a in (3, -3):
        run(out.ctypes.data, src.ctypes.data, a)
        found.append(out[0])
    assert found == [6, 5]
    assert by_numba == ["chosen"]


def test_a_function_whose_source_is_another_one_is_left_to_numba(by_numba, compiled):
    text = "def task(out, a):\n    store_word(out, 0, a + {})\n"
    functions = []
    for number in (1001, 1002):  # smaller ones are part of the instructions of Python 3.14
        function = function_of(text.format(number), "task", __name__, {"store_word": store_word})
        functions.append(function)
    other = type(functions[0])(functions[0].__code__.replace(co_consts=functions[1].__code__.co_consts), globals())
    out, run = np.zeros(1, np.int64), compiled(other)
    run(out.ctypes.data, 40)
    assert out[0] == 1042
    assert by_numba == ["task"]


def test_an_argument_of_an_intrinsic_may_be_an_expression_of_constants(by_numba, compiled):
    def task(out, a):
        words = stack_words(2 * FACTOR + 2)
        for k in range(2 * FACTOR + 2):
            store_word(words, k, a + k)
        store_word(out, 0, load_word(words, 7))

    out, run = np.zeros(1, np.int64), compiled(task)
    run(out.ctypes.data, 35)
    assert out[0] == 42
    assert by_numba == []


@pytest.mark.ep_long
def test_numba_compiles_no_function_of_these_launches(run_forked, tmp_path):
    code = """
import numpy as np
import ep
from ep.cpu.compile import lowering

left, directly = set(), lowering.lowered


def lowered(function, *args):
    try:
        return directly(function, *args)
    except lowering.NOT_WRITTEN:
        left.add(function.__qualname__)
        raise


lowering.lowered = lowered
x = np.arange(600, dtype=np.float32).reshape(20, 30)
ep.ops.add(x, x[:1].copy())
ep.ops.sum(x, (1,))
ep.ops.sum(x)
ep.ops.broadcast_to(x[:5, 0].copy(), (20, 5))
ep.ops.matmul(x[:1].astype(np.complex64), x.T.astype(np.complex64))
ep.fuse(lambda x: ep.ops.tanh(x) * 2.0 - ep.ops.mean(x, (1,), keepdims=True))(x)
print(sorted(left))
"""
    assert run_forked(code, EP_CACHE_DIR=str(tmp_path)).strip() == "[]"
