"""The compiled entries: Launch of every primitive, compiled once for all; a form describes each primitive's arguments.

Three methods share one check. `Launch` receives the arguments of Launch and finds the plan of its dims; if something is
not as expected, it calls the Python Launch. `_enter` receives a plan, or sizes, and operands, and returns whether it
refuses them. `_note` receives the same, and launches nothing: it writes down what `_enter` would hand to the launcher.
"""

from __future__ import annotations

from functools import cache
from types import FunctionType
from typing import Any

from llvmlite import ir

from ep.common.native.emitted import emitted
from ep.common.native.forward import call_method
from ep.common.native.object_layout import DATA, TUPLE_ITEMS, TUPLE_LENGTH, TYPE
from ep.common.native.python_calls import (
    add_reference,
    as_bool,
    as_tuple,
    bad_argument,
    clear_error,
    drop_reference,
    error_occurred,
    no_memory,
    set_error,
)
from ep.common.native.python_function import doc_of_method, python_method
from ep.common.native.words import load_word, stack_words, store_word
from ep.cpu.compile.compiler import compile_function
from ep.cpu.compile.integers import as_word
from ep.cpu.compile.jit import jit
from ep.cpu.compile.vectors import BYTE, WORD
from ep.cpu.engine.check import launch_checked
from ep.cpu.engine.form import ARRAY, FORM, MAX_ARGUMENTS, NUMBER, Launcher
from ep.cpu.engine.kept import find_kept
from ep.cpu.engine.launchable import WORDS, Launchable
from ep.cpu.shared.context import MAX_SOURCES, NO_MEMORY, NO_MEMORY_TEXT
from ep.cpu.shared.listed import MAX_NUMBERS
from ep.cpu.shared.state import STATE

_OPERANDS = MAX_SOURCES + 1


@cache
def launcher(name: str, launch: Any, plan: Any = None, many: bool = False) -> Launcher:
    """Compile `launch`. The check fills in its context: dst is the written operand, the sources are all others.

    name: for the kernel cache.
    """
    return Launcher(_launcher(name, launch), plan, many)


@cache
def _launcher(name: str, launch: Any) -> int:
    def launcher(context, num_bytes, in_place, sizes):
        return launch(context, num_bytes, in_place != 0, sizes)

    return compile_function(f"launch.{name}", launcher, 4)


@jit
def _entered(primitive, args, num_args, noted):
    """Run `_enter`, or with an address `noted` write what it hands to the launcher there.

    Returns as `launch_checked` does.
    """
    words = load_word(primitive + WORDS, 0)
    if words == 0 or num_args == 0:
        return 1
    state = load_word(words + DATA, 0)
    form = load_word(state, STATE.form)
    if form == 0:
        return 1
    num_numbers, plan = load_word(form, FORM.num_numbers), load_word(args, 0)
    if num_args != 1 + num_numbers + load_word(form, FORM.num_operands):
        return 1
    add_reference(words)  # as in `_method`
    numbers = stack_words(MAX_NUMBERS)
    for number in range(num_numbers):
        store_word(numbers, number, as_word(load_word(args, 1 + number)))
    plan = 0 if plan == load_word(state, STATE.none) else load_word(plan + DATA, 0)
    refused = launch_checked(state, form, plan, numbers, args + 8 * (1 + num_numbers), noted)
    drop_reference(words)
    return refused


@emitted("int64")
def _no_memory_text(builder: Any) -> Any:
    """Return the address of the text of the MemoryError."""
    text = bytearray(NO_MEMORY_TEXT.encode() + b"\0")
    name = "ep.no_memory_text"
    stored = builder.module.globals.get(name)
    if stored is None:
        constant = ir.Constant(ir.ArrayType(BYTE, len(text)), text)
        stored = ir.GlobalVariable(builder.module, constant.type, name)
        stored.global_constant, stored.linkage, stored.initializer = True, "linkonce_odr", constant
    return builder.ptrtoint(stored, WORD)


@jit
def _raise_no_memory():
    """Raise MemoryError, whose address only `no_memory` knows in any process."""
    no_memory()
    error = error_occurred()
    clear_error()
    set_error(error, _no_memory_text())


def _enter(primitive, args, num_args, names):
    refused = 1 if names != 0 else _entered(primitive, args, num_args, 0)
    if refused == NO_MEMORY:
        _raise_no_memory()
        return 0
    return as_bool(refused)


def _note(primitive, args, num_args, names):
    if names != 0 or num_args == 0:
        return as_bool(1)
    return as_bool(_entered(primitive, args + 8, num_args - 1, load_word(load_word(args, 0) + DATA, 0)))


@jit
def _launch_several(state, form, numbers, operands):
    """Run `launch_checked`, with the first operand a tuple or a list of operands. Return the same."""
    given = load_word(operands, 0)
    if load_word(given + TYPE, 0) != load_word(state, STATE.list_type):
        return launch_checked(state, form, 0, numbers, operands, 0)
    several = as_tuple(given)  # no other thread can change the tuple meanwhile
    if several == 0:
        clear_error()  # out of memory
        return 1
    store_word(operands, 0, several)
    refused = launch_checked(state, form, 0, numbers, operands, 0)
    drop_reference(several)
    return refused


@jit
def _put_in_order(form, args, num_args, names, ordered):
    """Write the arguments of a call in the order of Launch, with defaults; return whether they are as expected."""
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
def _launched(primitive, state, args, num_args, names):
    """Run a launch if it is as expected. Return as `launch_checked` does."""
    form = load_word(state, STATE.form)
    num_arguments, ordered = load_word(form, FORM.num_arguments), stack_words(MAX_ARGUMENTS)
    if num_args != num_arguments or names != 0:
        if not _put_in_order(form, args, num_args, names, ordered):
            return 1
        args = ordered
    if load_word(load_word(args, 0) + TYPE, 0) != load_word(state, STATE.stream_type):
        return 1
    numbers, operands, num_numbers = stack_words(MAX_NUMBERS), stack_words(_OPERANDS), load_word(form, FORM.num_numbers)
    for number in range(num_numbers):
        store_word(numbers, number, load_word(form, FORM.numbers + number))
    for argument in range(1, num_arguments):
        role, place = load_word(form, FORM.roles + 2 * argument), load_word(form, FORM.roles + 2 * argument + 1)
        if role == ARRAY:
            store_word(operands, place, load_word(args, argument))
        elif role == NUMBER:
            store_word(numbers, place, as_word(load_word(args, argument)))
    # after the conversion of objects to integers, which may run any code
    num_keys, plan = load_word(form, FORM.num_keys), 0
    if load_word(form, FORM.many) != 0:
        return _launch_several(state, form, numbers, operands)
    if num_keys == 0:
        return launch_checked(state, form, 0, numbers, operands, 0)
    kept = find_kept(primitive, state, form, args)
    if kept == 0:
        return 1
    if load_word(form, FORM.planned) != 0:
        plan = load_word(load_word(kept + TUPLE_ITEMS, num_keys) + DATA, 0)
    for value in range(load_word(form, FORM.num_values)):
        array = load_word(kept + TUPLE_ITEMS, num_keys + 2 + value)
        if array != load_word(state, STATE.none):
            store_word(operands, load_word(form, FORM.values + value), array)
    refused = launch_checked(state, form, plan, numbers, operands, 0)
    drop_reference(kept)
    return refused


def _method(primitive, args, num_args, names):
    words = load_word(primitive + WORDS, 0)
    if words == 0:
        bad_argument()  # the slot has been deleted
        return 0
    add_reference(words)  # a conversion of objects to integers, or another thread, may replace the words
    state = load_word(words + DATA, 0)
    written, none = load_word(state, STATE.written), load_word(state, STATE.none)
    refused = 1 if load_word(state, STATE.form) == 0 else _launched(primitive, state, args, num_args, names)
    drop_reference(words)
    if refused == 0:
        add_reference(none)
        return none
    if refused == NO_MEMORY:
        _raise_no_memory()
        return 0
    return call_method(written, primitive, args, num_args, names)


def install(of: type[Any]) -> None:
    """Replace `_enter`, and each Launch of a class that `launched` has marked, by compiled methods."""
    if isinstance(Launchable.__dict__["_enter"], FunctionType):
        _put(Launchable, "_enter", _entering(), "")
    for one in of.__mro__:
        forward = getattr(one.__dict__.get("Launch"), "forward", None)
        if forward is not None:
            forward.to = _put(one, "Launch", _launching(), doc_of_method("Launch", forward.written))


def install_noting() -> None:
    """Replace `_note` by a compiled method, which only recordings need."""
    if isinstance(Launchable.__dict__["_note"], FunctionType):
        _put(Launchable, "_note", _noting(), "")


def _put(of: type[Any], name: str, address: int, doc: str) -> Any:
    method = python_method(of, name, address, doc)
    setattr(of, name, method)
    return method


@cache
def _entering() -> int:
    return compile_function("enter", _enter, 4)


@cache
def _noting() -> int:
    return compile_function("note", _note, 4)


@cache
def _launching() -> int:
    return compile_function("launch", _method, 4)
