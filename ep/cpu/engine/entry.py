"""The compiled entries: Launch of every primitive, compiled once for all; a form describes each primitive's arguments.

Three methods share one check. `Launch` receives the arguments of Launch and finds the plan of its dims; if something is
not as expected, it calls the Python Launch. `_enter` receives a plan, or sizes, and operands, and returns whether it
refuses them. `_note` receives the same, and launches nothing: it writes down what `_enter` would hand to the launcher.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

from ep.common.native.emitted import emitted
from ep.common.native.fields import Int64
from ep.common.native.forward import call_method
from ep.common.native.objects import ArrayObject, Object, TupleObject
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
from ep.cpu.compile.compiler import compile_function
from ep.cpu.compile.integers import as_word
from ep.cpu.compile.jit import jit
from ep.cpu.compile.vectors import address_of_text
from ep.cpu.engine.check import launch_checked
from ep.cpu.engine.form import ARRAY, MAX_ARGUMENTS, NUMBER, CheckForm, Launcher
from ep.cpu.engine.kept import find_kept
from ep.cpu.engine.launchable import Launchable, LaunchableObject
from ep.cpu.shared.context import MAX_SOURCES, NO_MEMORY, NO_MEMORY_TEXT
from ep.cpu.shared.listed import MAX_NUMBERS, Noted
from ep.cpu.shared.state import State

_OPERANDS = MAX_SOURCES + 1


@cache
def launcher(name: str, launch: Callable[..., int], plan: Any = None, many: bool = False) -> Launcher:
    """Compile `launch`. The check fills in its context: dst is the written operand, the sources are all others.

    name: for the kernel cache.
    """
    return Launcher(_launcher(name, launch), plan, many)


@cache
def _launcher(name: str, launch: Callable[..., int]) -> int:
    def launcher(context: int, num_bytes: int, in_place: int, sizes: int) -> int:
        return launch(context, num_bytes, in_place != 0, sizes)

    return compile_function(f"launch.{name}", launcher, 4)


@jit
def _entered(primitive: LaunchableObject, args: Int64, num_args: int, noted: Noted) -> int:
    """Run `_enter`, or with an address `noted` write what it hands to the launcher there.

    Returns as `launch_checked` does.
    """
    words = primitive.words
    if words == 0 or num_args == 0:
        return 1
    state = State.at(words.data)
    form = CheckForm.at(state.form)
    if form == 0:
        return 1
    num_numbers, given = form.num_numbers, args[0]
    if num_args != 1 + num_numbers + form.num_operands:
        return 1
    add_reference(words)  # as in `_method`
    numbers = Int64.array_on_stack(MAX_NUMBERS)
    for number in range(num_numbers):
        numbers[number] = as_word(args[1 + number])
    plan = Int64.at(0 if given == state.none else ArrayObject.at(given).data)
    operands = Int64.at(args + 8 * (1 + num_numbers))
    refused = launch_checked(state, form, plan, numbers, operands, noted)
    drop_reference(words)
    return refused


@emitted("int64")
def _no_memory_text(builder: Any) -> Any:
    """Return the address of the text of the MemoryError."""
    return address_of_text(builder, "ep.no_memory_text", NO_MEMORY_TEXT)


@jit
def _raise_no_memory() -> None:
    """Raise MemoryError, whose address only `no_memory` knows in any process."""
    no_memory()
    error = error_occurred()
    clear_error()
    set_error(error, _no_memory_text())


def _enter(primitive: LaunchableObject, args: Int64, num_args: int, names: int) -> int:
    refused = 1 if names != 0 else _entered(primitive, args, num_args, Noted.at(0))
    if refused == NO_MEMORY:
        _raise_no_memory()
        return 0
    return as_bool(refused)


def _note(primitive: LaunchableObject, args: Int64, num_args: int, names: int) -> int:
    if names != 0 or num_args == 0:
        return as_bool(1)
    return as_bool(_entered(primitive, Int64.at(args + 8), num_args - 1, Noted.at(ArrayObject.at(args[0]).data)))


@jit
def _launch_several(state: State, form: CheckForm, numbers: Int64, operands: Int64) -> int:
    """Run `launch_checked`, with the first operand a tuple or a list of operands. Return the same."""
    given = operands[0]
    if Object.at(given).type != state.list_type:
        return launch_checked(state, form, Int64.at(0), numbers, operands, Noted.at(0))
    several = as_tuple(given)  # no other thread can change the tuple meanwhile
    if several == 0:
        clear_error()  # out of memory
        return 1
    operands[0] = several
    refused = launch_checked(state, form, Int64.at(0), numbers, operands, Noted.at(0))
    drop_reference(several)
    return refused


@jit
def _put_in_order(form: CheckForm, args: Int64, num_args: int, names: TupleObject, ordered: Int64) -> bool:
    """Write the arguments of a call in the order of Launch, with defaults; return whether they are as expected."""
    num_arguments, num_names = form.num_arguments, 0
    if names != 0:
        num_names = names.length
    if num_args + num_names > num_arguments:
        return False
    for argument in range(num_arguments):
        ordered[argument] = args[argument] if argument < num_args else 0
    for number in range(num_names):
        name, argument = names.items[number], num_args
        while argument < num_arguments and form.names[argument] != name:
            argument += 1
        if argument == num_arguments or ordered[argument] != 0:
            return False
        ordered[argument] = args[num_args + number]
    for argument in range(num_args, num_arguments):
        if ordered[argument] == 0:
            ordered[argument] = form.defaults[argument]
            if ordered[argument] == 0:
                return False
    return True


@jit
def _launched(primitive: LaunchableObject, state: State, args: Int64, num_args: int, names: TupleObject) -> int:
    """Run a launch if it is as expected. Return as `launch_checked` does."""
    form = CheckForm.at(state.form)
    num_arguments, ordered = form.num_arguments, Int64.array_on_stack(MAX_ARGUMENTS)
    if num_args != num_arguments or names != 0:
        if not _put_in_order(form, args, num_args, names, ordered):
            return 1
        args = ordered
    if Object.at(args[0]).type != state.stream_type:
        return 1
    numbers, operands = Int64.array_on_stack(MAX_NUMBERS), Int64.array_on_stack(_OPERANDS)
    for number in range(form.num_numbers):
        numbers[number] = form.numbers[number]
    for argument in range(1, num_arguments):
        role, place = form.roles[2 * argument], form.roles[2 * argument + 1]
        if role == ARRAY:
            operands[place] = args[argument]
        elif role == NUMBER:
            numbers[place] = as_word(args[argument])
    # after the conversion of objects to integers, which may run any code
    num_keys, plan = form.num_keys, Int64.at(0)
    if form.many != 0:
        return _launch_several(state, form, numbers, operands)
    if num_keys == 0:
        return launch_checked(state, form, Int64.at(0), numbers, operands, Noted.at(0))
    kept = TupleObject.at(find_kept(primitive, state, form, args))
    if kept == 0:
        return 1
    if form.planned != 0:
        plan = Int64.at(ArrayObject.at(kept.items[num_keys]).data)
    for value in range(form.num_values):
        array = kept.items[num_keys + 2 + value]
        if array != state.none:
            operands[form.values[value]] = array
    refused = launch_checked(state, form, plan, numbers, operands, Noted.at(0))
    drop_reference(kept)
    return refused


def _method(primitive: LaunchableObject, args: Int64, num_args: int, names: TupleObject) -> int:
    words = primitive.words
    if words == 0:
        bad_argument()  # the slot has been deleted
        return 0
    add_reference(words)  # a conversion of objects to integers, or another thread, may replace the words
    state = State.at(words.data)
    written, none = state.written, state.none
    refused = 1 if state.form == 0 else _launched(primitive, state, args, num_args, names)
    drop_reference(words)
    if refused == 0:
        add_reference(none)
        return none
    if refused == NO_MEMORY:
        _raise_no_memory()
        return 0
    return call_method(written, primitive, args, num_args, names)


def install_entering() -> None:
    """Replace `_enter` by a compiled method."""
    if isinstance(Launchable.__dict__["_enter"], FunctionType):
        _put(Launchable, "_enter", compile_function("enter", _enter, 4), "")


def install_launching(of: type[Any]) -> None:
    """Replace each Launch of a class that `launched` returned by a compiled method, which recordings do not need."""
    for one in of.__mro__:
        forward = getattr(one.__dict__.get("Launch"), "forward", None)
        if forward is not None:
            forward.to = _put(one, "Launch", _launching(), doc_of_method("Launch", forward.written))


def install_noting() -> None:
    """Replace `_note` by a compiled method, which only recordings need."""
    if isinstance(Launchable.__dict__["_note"], FunctionType):
        _put(Launchable, "_note", compile_function("note", _note, 4), "")


def _put(of: type[Any], name: str, address: int, doc: str) -> Any:
    method = python_method(of, name, address, doc)
    setattr(of, name, method)
    return method


@cache
def _launching() -> int:
    return compile_function("launch", _method, 4)
