"""Entries: what Launch of every primitive is, compiled once for all. A form says what is expected of a primitive's.

There are two methods around one check. `Launch` takes the arguments of Launch, finds the plan of its dims, and leaves
to Python what is not as expected. `_enter` takes a plan, or sizes, and operands, and says whether they are refused.
"""

from __future__ import annotations

import inspect
from functools import cache
from types import FunctionType
from typing import Any

from ep.cpu.compile.compiler import compile_function
from ep.cpu.compile.integers import multiply_sizes
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import allocate, load_word, release, stack_words, store_word, store_words
from ep.cpu.compile.ndarray import are_equal, array_data, array_of_bytes
from ep.cpu.compile.python_calls import (
    add_reference,
    as_bool,
    as_tuple,
    as_word,
    bad_argument,
    call,
    clear_error,
    drop_reference,
    look_up,
    new_tuple,
    no_memory,
)
from ep.cpu.compile.python_function import python_method
from ep.cpu.engine.form import ARRAY, FORM, MAX_ARGUMENTS, MAX_NUMBERS, NUMBER, OF_BYTES, OF_PLAN, OPERAND, Launcher
from ep.cpu.engine.launchable import KEPT, RECENT, WORDS, Launchable
from ep.cpu.shared.context import CONTEXT, CONTEXT_WORDS, MAX_SOURCES, NONE, SOURCE_WORDS
from ep.cpu.shared.object_layout import DATA, TUPLE_ITEMS, TUPLE_LENGTH, TYPE
from ep.cpu.shared.state import STATE
from ep.cpu.threads.parallel import call_launcher

_OPERANDS = MAX_SOURCES + 1
_FEW = 32  # arguments that are handed on without memory of the heap
_OPERAND_BYTES = 8 * OPERAND.num_words
_SOURCE_BYTES = 8 * SOURCE_WORDS


@cache
def launcher(name: str, launch: Any, plan: Any = None, many: bool = False) -> Launcher:
    """Compile `launch`, whose context is filled in: dst is the written operand, and the sources are all others.

    name: for the cache.
    """
    return Launcher(_launcher(name, launch), plan, many)


@cache
def _launcher(name: str, launch: Any) -> int:
    def launcher(context, num_bytes, in_place, sizes):
        return launch(context, num_bytes, in_place != 0, sizes)

    return compile_function(f"launch.{name}", launcher, 4)


@jit
def clash(dst, dst_count, dst_size, other, other_count, other_size, in_place):
    """Whether a written operand lies on another one in a way that is not allowed."""
    same = dst == other and dst_count == other_count and dst_size == other_size
    return other < dst + dst_count * dst_size and dst < other + other_count * other_size and not (same and in_place)


@jit
def _count(block, sizes):
    """How many elements an operand must have, or bytes."""
    count = 1
    for factor in range(load_word(block, OPERAND.num_factors)):
        count = multiply_sizes(count, load_word(sizes, load_word(block, OPERAND.factors + factor)))
    return count


@jit
def _data(array, block, state, plan, count):
    """The address of an operand's data, 0 where it is not as expected, and the bytes of an element."""
    ndarray_type, kind, flags = (
        load_word(state, STATE.ndarray_type),
        load_word(block, OPERAND.kind),
        load_word(block, OPERAND.flags),
    )
    if kind == OF_BYTES:
        return array_of_bytes(array, ndarray_type, load_word(state, STATE.known_types), count, flags), 1
    types = (plan if kind == OF_PLAN else state) + 8 * load_word(block, OPERAND.type)
    return array_data(array, ndarray_type, load_word(types, 0), count, flags), load_word(types, 1)


@jit
def _check_many(state, form, numbers, operands, context):
    """Check a tuple of operands, all alike, and what is written; returns bytes, or -1, and whether one is dst."""
    srcs, count = load_word(operands, 0), load_word(numbers, 0)
    if load_word(srcs + TYPE, 0) != load_word(state, STATE.tuple_type):
        return -1, False
    block, number = form + 8 * FORM.operands, load_word(srcs + TUPLE_LENGTH, 0)
    dst, size = _data(load_word(operands, 1), block + _OPERAND_BYTES, state, 0, count)
    if dst == 0 or number == 0:
        return -1, False
    same = False
    for k in range(number):
        src, _ = _data(load_word(srcs + TUPLE_ITEMS, k), block, state, 0, count)
        if src == 0 or clash(dst, count, size, src, count, size, True):
            return -1, False
        same |= src == dst
        if k < MAX_SOURCES:
            store_words(context + 8 * CONTEXT.sources + _SOURCE_BYTES * k, src, count, size)
    store_words(context, dst, state, srcs, NONE, count, size, min(number, MAX_SOURCES))
    return (number + 1) * count * size, same


@jit
def _check_each(state, form, plan, numbers, operands, context):
    """Check the operands one by one; returns as `_check_many`."""
    planned, sizes, in_place = load_word(form, FORM.planned) != 0, numbers, load_word(form, FORM.in_place) != 0
    if planned:
        sizes = plan + 8 * load_word(form, FORM.plan_sizes)
        in_place &= load_word(plan, load_word(form, FORM.plan_in_place)) != 0
    num_operands, written = load_word(form, FORM.num_operands), load_word(form, FORM.written)
    block, first = form + 8 * FORM.operands, context + 8 * CONTEXT.sources
    dst, dst_count, dst_size, moved, place = 0, 0, 0, 0, first
    for k in range(num_operands):
        count = _count(block, sizes)
        data, size = _data(load_word(operands, k), block, state, plan, count)
        if data == 0:
            return -1, False
        # an array that is as expected has no more elements than memory holds: nothing overflows from here on
        moved += count * size
        if k == written:
            dst, dst_count, dst_size = data, count, size
        else:
            store_words(place, data, count, size)
            place += _SOURCE_BYTES
        block += _OPERAND_BYTES
    same = False
    if load_word(form, FORM.whole) != 0:
        while place > first:
            place -= _SOURCE_BYTES
            other = load_word(place, 0)
            if clash(dst, dst_count, dst_size, other, load_word(place, 1), load_word(place, 2), in_place):
                return -1, False
            same |= other == dst
    same &= load_word(form, FORM.in_place) != 0
    store_words(context, dst, state, plan, NONE, dst_count, dst_size, num_operands - 1)
    return moved, same


@jit
def _launch(state, form, plan, numbers, operands):
    """Check a launch and do it; 0 where it was done. Otherwise nothing has been written."""
    for size in range(load_word(form, FORM.num_sizes) if load_word(form, FORM.planned) == 0 else 0):
        if load_word(numbers, size) <= 0:
            return 1
    context = stack_words(CONTEXT_WORDS)
    if load_word(form, FORM.many) != 0:
        moved, same = _check_many(state, form, numbers, operands, context)
    else:
        moved, same = _check_each(state, form, plan, numbers, operands, context)
    if moved < 0:
        return 1
    return call_launcher(load_word(state, STATE.launcher), context, moved, 1 if same else 0, numbers)


def _enter(primitive, args, num_args, names):
    words = load_word(primitive + WORDS, 0)
    if words == 0 or names != 0 or num_args == 0:
        return as_bool(1)
    state = load_word(words + DATA, 0)
    form = load_word(state, STATE.form)
    if form == 0:
        return as_bool(1)
    num_numbers, plan = load_word(form, FORM.num_numbers), load_word(args, 0)
    if num_args != 1 + num_numbers + load_word(form, FORM.num_operands):
        return as_bool(1)
    numbers = stack_words(MAX_NUMBERS)
    for number in range(num_numbers):
        store_word(numbers, number, as_word(load_word(args, 1 + number)))
    plan = 0 if plan == load_word(state, STATE.none) else load_word(plan + DATA, 0)
    return as_bool(_launch(state, form, plan, numbers, args + 8 * (1 + num_numbers)))


@jit
def _launch_several(state, form, numbers, operands):
    """`_launch`, where the first operand is a tuple or a list of operands."""
    given = load_word(operands, 0)
    if load_word(given + TYPE, 0) != load_word(state, STATE.list_type):
        return _launch(state, form, 0, numbers, operands)
    several = as_tuple(given)  # which no other thread can change meanwhile
    if several == 0:
        clear_error()  # for want of memory
        return 1
    store_word(operands, 0, several)
    refused = _launch(state, form, 0, numbers, operands)
    drop_reference(several)
    return refused


@jit
def _key(args, form, key, state):
    """An argument that is a key; the type ndarray for any array."""
    given, ndarray_type = load_word(args, load_word(form, FORM.keys + key)), load_word(state, STATE.ndarray_type)
    return ndarray_type if load_word(given + TYPE, 0) == ndarray_type else given


@jit
def _has_keys(kept, state, form, args):
    """Whether a tuple of what is kept has the keys of a launch."""
    for key in range(load_word(form, FORM.num_keys)):
        if not are_equal(_key(args, form, key, state), load_word(kept + TUPLE_ITEMS, key), state):
            return False
    return True


@jit
def _recent(primitive, state, form, args):
    """The tuple of what is recent that has the keys of a launch, from now on the first; 0 where there is none."""
    recent = load_word(primitive + RECENT, 0)
    if recent == 0:
        return 0
    for position in range(load_word(recent + TUPLE_LENGTH, 0)):
        kept = load_word(recent + TUPLE_ITEMS, position)
        if _has_keys(kept, state, form, args):
            store_word(recent + TUPLE_ITEMS, position, load_word(recent + TUPLE_ITEMS, 0))
            store_word(recent + TUPLE_ITEMS, 0, kept)
            return kept
    return 0


@jit
def _put_first(primitive, kept):
    """Let a tuple be the first of what is recent, in the place of the last one."""
    recent = load_word(primitive + RECENT, 0)
    last = load_word(recent + TUPLE_LENGTH, 0) - 1 if recent != 0 else -1
    if last >= 0:
        add_reference(kept)
        gone = load_word(recent + TUPLE_ITEMS, last)
        store_word(recent + TUPLE_ITEMS, last, load_word(recent + TUPLE_ITEMS, 0))
        store_word(recent + TUPLE_ITEMS, 0, kept)
        drop_reference(gone)


@jit
def _kept(primitive, state, form, args):
    """The tuple of what is kept that has the keys of a launch, which the caller must drop; 0 where there is none."""
    kept = _recent(primitive, state, form, args)
    if kept != 0:
        add_reference(kept)  # other threads may launch meanwhile, and replace what is recent
        return kept
    cache, num_keys = load_word(primitive + KEPT, 0), load_word(form, FORM.num_keys)
    if cache == 0:
        return 0
    keys = new_tuple(num_keys)
    if keys == 0:
        clear_error()
        return 0
    for key in range(num_keys):
        given = _key(args, form, key, state)
        add_reference(given)
        store_word(keys + TUPLE_ITEMS, key, given)
    add_reference(cache)  # hashing and comparing may run any code
    kept = look_up(cache, keys)
    if kept == 0:
        clear_error()  # what has no hash
    else:
        add_reference(kept)
    drop_reference(cache)
    drop_reference(keys)
    if kept == 0:
        return 0
    if not _has_keys(kept, state, form, args):  # 1.0 and True are found by 1
        drop_reference(kept)
        return 0
    _put_first(primitive, kept)
    return kept


@jit
def _put_in_order(form, args, num_args, names, ordered):
    """Write the arguments of a call in the order of Launch, with defaults; whether they are as expected."""
    num_arguments, num_names = load_word(form, FORM.num_arguments), 0
    if names != 0:
        num_names = load_word(names + TUPLE_LENGTH, 0)
    if num_args + num_names > num_arguments:
        return False
    for argument in range(num_arguments):
        store_word(ordered, argument, load_word(args, argument) if argument < num_args else 0)
    for number in range(num_names):
        name, argument = load_word(names + TUPLE_ITEMS, number), num_args
        while argument < num_arguments and load_word(form, FORM.names + argument) != name:
            argument += 1
        if argument == num_arguments or load_word(ordered, argument) != 0:
            return False
        store_word(ordered, argument, load_word(args, num_args + number))
    for argument in range(num_args, num_arguments):
        if load_word(ordered, argument) == 0:
            store_word(ordered, argument, load_word(form, FORM.defaults + argument))
            if load_word(ordered, argument) == 0:
                return False
    return True


@jit
def _is_done(primitive, state, args, num_args, names):
    """Whether a launch was as expected, and so has been done."""
    form = load_word(state, STATE.form)
    num_arguments, ordered = load_word(form, FORM.num_arguments), stack_words(MAX_ARGUMENTS)
    if num_args != num_arguments or names != 0:
        if not _put_in_order(form, args, num_args, names, ordered):
            return False
        args = ordered
    if load_word(load_word(args, 0) + TYPE, 0) != load_word(state, STATE.stream_type):
        return False
    numbers, operands, num_numbers = stack_words(MAX_NUMBERS), stack_words(_OPERANDS), load_word(form, FORM.num_numbers)
    for number in range(num_numbers):
        store_word(numbers, number, load_word(form, FORM.numbers + number))
    for argument in range(1, num_arguments):
        role, place = load_word(form, FORM.roles + 2 * argument), load_word(form, FORM.roles + 2 * argument + 1)
        if role == ARRAY:
            store_word(operands, place, load_word(args, argument))
        elif role == NUMBER:
            store_word(numbers, place, as_word(load_word(args, argument)))
    # only now, since what turns objects into integers may run any code
    num_keys, plan = load_word(form, FORM.num_keys), 0
    if load_word(form, FORM.many) != 0:
        return _launch_several(state, form, numbers, operands) == 0
    if num_keys == 0:
        return _launch(state, form, 0, numbers, operands) == 0
    kept = _kept(primitive, state, form, args)
    if kept == 0:
        return False
    if load_word(form, FORM.planned) != 0:
        plan = load_word(load_word(kept + TUPLE_ITEMS, num_keys) + DATA, 0)
    for value in range(load_word(form, FORM.num_values)):
        array = load_word(kept + TUPLE_ITEMS, num_keys + 2 + value)
        if array != load_word(state, STATE.none):
            store_word(operands, load_word(form, FORM.values + value), array)
    refused = _launch(state, form, plan, numbers, operands)
    drop_reference(kept)
    return refused == 0


@jit
def _call_written(written, primitive, args, num_args, names):
    """Call Launch as it is written in Python."""
    number = 1 + num_args
    if names != 0:
        number += load_word(names + TUPLE_LENGTH, 0)
    few, memory = stack_words(_FEW), 0
    if number > _FEW:
        memory = allocate(8 * number)
        if memory == 0:
            return no_memory()
    arguments = few if memory == 0 else memory
    store_word(arguments, 0, primitive)
    for argument in range(1, number):
        store_word(arguments, argument, load_word(args, argument - 1))
    result = call(written, arguments, 1 + num_args, names)
    if memory != 0:
        release(memory)
    return result


def _method(primitive, args, num_args, names):
    words = load_word(primitive + WORDS, 0)
    if words == 0:
        bad_argument()  # somebody has deleted them
        return 0
    add_reference(words)  # what turns objects into integers may replace them, and other threads
    state = load_word(words + DATA, 0)
    written, none = load_word(state, STATE.written), load_word(state, STATE.none)
    done = load_word(state, STATE.form) != 0 and _is_done(primitive, state, args, num_args, names)
    drop_reference(words)
    if done:
        add_reference(none)
        return none
    return _call_written(written, primitive, args, num_args, names)


def install(of: type[Any]) -> None:
    """Put compiled methods in the place of `_enter`, and of each Launch of a class that `launched` has marked."""
    if isinstance(Launchable.__dict__["_enter"], FunctionType):
        _put(Launchable, "_enter", _entering(), "")
    for one in of.__mro__:
        forward = getattr(one.__dict__.get("Launch"), "forward", None)
        if forward is not None:
            forward.to = _put(one, "Launch", _launching(), _doc(forward.written))


def _put(of: type[Any], name: str, address: int, doc: str) -> Any:
    method = python_method(of, name, address, doc)
    setattr(of, name, method)
    return method


def _doc(written: Any) -> str:
    """The signature of a function as CPython has it of methods in C, and what the function says of itself."""
    signature = inspect.signature(written)
    parameters = [one.replace(annotation=one.empty) for one in signature.parameters.values()]
    plain = str(inspect.Signature(parameters)).replace("(self", "($self", 1)
    return f"{written.__name__}{plain}\n--\n\n{written.__doc__ or ''}"


@cache
def _entering() -> int:
    return compile_function("enter", _enter, 4)


@cache
def _launching() -> int:
    return compile_function("launch", _method, 4)
