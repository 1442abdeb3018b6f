"""Add: a functor for few operands, and a kernel for up to `MANY`, whose number it is told at the launch."""

from __future__ import annotations

from functools import cache
from typing import Any

from ep.common.functor.lookup import functor_maker
from ep.common.functor.math_library import Function, Maker, MathLibrary, Scalar
from ep.common.loops import unrolled, written_out
from ep.cuda.compile.arithmetic import storage_arithmetic
from ep.cuda.compile.compiler import Kernel
from ep.cuda.compile.memory import loader, storer
from ep.cuda.compile.numba_cuda import device_function, next_index, num_threads, thread_index
from ep.cuda.engine.map.functor import Functor, over_packs
from ep.cuda.engine.map.many import GROUP, MANY
from ep.include.data_type import DataType
from ep.include.number_kind import number_kind
from ep.include.primitive.binary_op import BinaryOp


def functor(data_type: DataType, num_operands: int) -> Functor:
    """The sum of so many operands from the left, rounded once."""
    return Functor(
        f"sum{num_operands}",
        _sum(_plus(data_type), num_operands),
        (data_type,) * num_operands,
        data_type,
        storage_arithmetic(data_type),
    )


def _plus(data_type: DataType) -> Maker:
    return functor_maker(BinaryOp.kAdd, number_kind(data_type))


@cache
def _sum(plus: Maker, num_operands: int) -> Maker:
    """The maker of the sum of so many arguments."""
    if num_operands == 2:
        return plus

    def maker(m: MathLibrary) -> Function:
        add, rest = m.use(plus), m.use(_sum(plus, num_operands - 1))

        def f(*values: Scalar) -> Scalar:
            return add(rest(*values[:-1]), values[-1])

        return f

    return maker


@cache
def many_kernel(first_type: DataType, data_type: DataType, dst_type: DataType, elements: int) -> Kernel:
    """The kernel dst[n] = the sum of all operands at n, of which the first is of `first_type`, for n < count.

    Its words, a tuple: dst, packs, count, the number of operands, and `MANY` addresses, those that are left over of any
    operand. `packs` is 0 where not all addresses are aligned to packs of `elements`.
    """
    total, total_one = _total(first_type, data_type, elements, True), _total(first_type, data_type, 1, False)
    store, store_one = storer(dst_type, elements), storer(dst_type, 1, aligned=False)

    def add_many(words):
        dst, packs, count, number, addresses = words[0], words[1], words[2], words[3], words[4:]
        first, step = thread_index(), num_threads()
        i = first
        while i < packs:
            store(dst, i, total(addresses, number, i))
            i = next_index(i, step)
        i = packs * elements + first
        while i < count:
            store_one(dst, i, total_one(addresses, number, i))
            i = next_index(i, step)

    name = f"add_many.{first_type.name}.{data_type.name}.{dst_type.name}.{elements}"
    return Kernel(name, add_many, 0, 4 + MANY)


def _total(first_type: DataType, data_type: DataType, elements: int, aligned: bool) -> Any:
    """(addresses, number, i) -> the sum of pack i of so many operands, in the type of arithmetic."""
    load, load_first = loader(data_type, elements, aligned), loader(first_type, elements, aligned)
    step = _step(data_type, elements)
    loads, fold = _loads(load, GROUP), _fold(step, GROUP)
    rest_of_first, fold_first = _loads(load, GROUP - 1), _fold(step, GROUP - 1)

    @written_out(device_function)
    def total(addresses, number, i):
        state, packs = load_first(addresses[0], i), rest_of_first(addresses[1:GROUP], i)
        state = fold_first(state, packs, number - 1)
        for first in unrolled(range(GROUP, MANY, GROUP)):
            if number <= first:
                return state
            state = fold(state, loads(addresses[first : first + GROUP], i), number - first)
        return state

    return total


@cache
def _loads(load: Any, count: int) -> Any:
    """(addresses, i) -> pack i of the first `count` operands."""

    @written_out(device_function)
    def loads(addresses, i):
        return tuple(load(addresses[k], i) for k in unrolled(range(count)))

    return loads


@cache
def _fold(step: Any, count: int) -> Any:
    """(state, packs, number) -> the state with the first `number` of `count` packs added, one after the other."""

    @written_out(device_function)
    def fold(state, packs, number):
        for k in unrolled(range(count)):
            state = step((state, packs[k]), (number > k,))
        return state

    return fold


def _step(data_type: DataType, elements: int) -> Any:
    """(packs, (counts,)) -> the first pack, plus the second one if it counts."""
    plus = _plus(data_type)

    def maker(m: MathLibrary) -> Function:
        add = m.use(plus)

        def f(a: Scalar, b: Scalar, counts: bool) -> Scalar:
            return add(a, b) if counts else a

        return f

    functor = Functor("step", maker, (data_type,) * 2, data_type, storage_arithmetic(data_type), num_attributes=1)
    step, _ = over_packs(functor, elements)
    return step
