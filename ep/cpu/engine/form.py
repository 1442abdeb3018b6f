"""Forms: words that describe a primitive to the compiled check of launches, made from its signature and its Launch."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.native.fields import records, word, words
from ep.common.native.object_layout import READABLE, WRITABLE
from ep.common.native.record import Record
from ep.common.primitive.signature import Signature
from ep.cpu.engine.loop_nest import plan_record
from ep.cpu.shared.context import MAX_SOURCES
from ep.cpu.shared.listed import MAX_NUMBERS
from ep.cpu.shared.state import ElementType

MAX_ARGUMENTS: Final = 16
_MAX_FACTORS: Final = 5


class FormOperand(Record):
    kind = word()  # the source of its data type: OF_STATE, OF_PLAN, or OF_BYTES for any type
    type = word()  # the first word of the data type
    flags = word()  # the flags that the array must have
    num_factors = word()
    factors = words(_MAX_FACTORS)  # the sizes whose product is its number of elements


OF_STATE, OF_PLAN, OF_BYTES = range(3)


class CheckForm(Record):
    num_operands = word()
    written = word()  # the index of the written operand
    whole = word()  # as in the signature
    in_place = word()  # whether the written operand may be the storage of another operand
    many = word()  # whether the first operand is a tuple of any number of operands
    planned = word()  # whether there is a plan; without one, the sizes are arguments
    plan_sizes = word()  # the place of the sizes in the plan
    plan_in_place = word()
    num_sizes = word()
    num_numbers = word()  # sizes and other integers
    num_keys = word()  # the number of arguments by which remembered launches are found
    # the number of operands that may be numbers in Launch; remembered launches have arrays for them
    num_values = word()
    num_arguments = word()  # of Launch, including the stream; 0 if compiled code cannot run Launch
    names = words(MAX_ARGUMENTS)  # the addresses of their names
    defaults = words(MAX_ARGUMENTS)  # the addresses of their defaults; 0 if an argument is required
    numbers = words(MAX_NUMBERS)  # defaults of the numbers that Launch does not take
    keys = words(MAX_ARGUMENTS)  # the indices of the key arguments
    values = words(MAX_ARGUMENTS)  # the indices of the operands
    roles = words(2 * MAX_ARGUMENTS)  # two words for each argument: its role, and its index among those of this role
    operands = records(FormOperand, MAX_SOURCES + 1)


KEY, NUMBER, ARRAY = range(3)  # the stream is a KEY, too: it is checked separately


class Launcher(NamedTuple):
    """The function that runs a launch after its check.

    address: that of the C function (context, bytes read and written, whether dst is the storage of another operand,
        address of sizes and other integers). It returns 0, or does nothing and returns 1, or returns NO_MEMORY.
    plan: the class of the records of the engine's plans; None if there are none.
    many: whether the first operand is a tuple of similar operands. The context's plan is then the tuple's address.
    """

    address: int
    plan: Any = None
    many: bool = False


@cache
def check_form(signature: Signature, state: Any, plan: Any, many: bool) -> np.ndarray[Any, Any]:
    """Return the words for the expected operands and integers. state, plan: classes of records; plan may be None."""
    if len(signature.operands) > MAX_SOURCES + 1:
        raise ValueError(f"{len(signature.operands)} operands; a launch has room for {MAX_SOURCES + 1}")
    if len(signature.written) != 1:
        raise ValueError(f"{len(signature.written)} operands are written; compiled checks know one")
    words = np.zeros(CheckForm.num_words, np.int64)
    (written,) = signature.written
    fields = None if plan is None else plan_record(plan, signature)
    values = {
        "num_operands": len(signature.operands),
        "written": written,
        "whole": signature.whole,
        "in_place": signature.operands[written].in_place,
        "many": many,
        "num_sizes": len(signature.sizes),
        "num_numbers": 0 if fields else len(signature.sizes) + len(signature.others),
    }
    if fields is not None:
        values |= {"planned": True, "plan_sizes": fields.sizes, "plan_in_place": fields.in_place}
    for field, value in values.items():
        words[getattr(CheckForm, field)] = value
    for position, operand in enumerate(signature.operands):
        block = words[CheckForm.operands + FormOperand.num_words * position :][: FormOperand.num_words]
        kind, first = OF_STATE, state.num_words
        if operand.any_type:
            kind = OF_BYTES
        elif operand.type_at_launch:
            assert fields is not None
            kind, first = OF_PLAN, fields.types
        factors = [signature.sizes.index(size) for size in operand.count]
        flags = WRITABLE if operand.written else READABLE
        block[: FormOperand.factors] = kind, first + ElementType.num_words * position, flags, len(factors)
        block[FormOperand.factors :][: len(factors)] = factors
    words.flags.writeable = False
    return words


@cache
def launch_form(
    signature: Signature, state: Any, plan: Any, many: bool, launch: Callable[..., None], values: tuple[str, ...]
) -> np.ndarray[Any, Any]:
    """Return the words of `check_form`, with the arguments of Launch.

    An argument with the name of an operand, a size or another integer of the signature is that operand or integer. All
    other arguments are keys: dims and data types.
    launch: the function written in Python. If it has no argument for a size, that size is 1.
    values: the operands that may be numbers in Launch; these are keys, too.
    """
    words = check_form(signature, state, plan, many).copy()
    numbers = () if plan is not None else (*signature.sizes, *signature.others)
    words[CheckForm.numbers :][: len(numbers)] = 1
    operands = [operand.name for operand in signature.operands]
    _, *parameters = inspect.signature(launch).parameters.values()  # without self
    keys, places = [], []
    for position, parameter in enumerate(parameters):
        role, place, name = KEY, 0, parameter.name
        if name in numbers:
            role, place = NUMBER, numbers.index(name)
        elif name in operands:
            role, place = ARRAY, operands.index(name)
        if position > 0 and (role == KEY or name in values):
            keys.append(position)
            places += [place] if name in values else []
        words[CheckForm.roles + 2 * position :][:2] = role, place
        words[CheckForm.names + position] = id(sys.intern(name))  # the same string object as in calls
        if parameter.default is not parameter.empty:
            words[CheckForm.defaults + position] = id(parameter.default)
    words[CheckForm.keys :][: len(keys)] = keys
    words[CheckForm.values :][: len(places)] = places
    words[CheckForm.num_keys], words[CheckForm.num_values] = len(keys), len(places)
    words[CheckForm.num_arguments] = len(parameters)
    words.flags.writeable = False
    return words
