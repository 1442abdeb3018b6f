"""The records of known launches, which Python writes and compiled code reads."""

from __future__ import annotations

from typing import Final

from ep.common.native.fields import Fields, address, pointer, word, words
from ep.common.native.objects import ArrayObject, Object
from ep.common.native.record import Record

MAX_ARGUMENTS: Final = 24
MAX_ARRAYS: Final = 8
MAX_PARAMETERS: Final = 96


class LaunchedObject(Object):
    """A primitive: see `known.Launched`."""

    known = word()
    seen = word()
    words = pointer(ArrayObject)


class SharedWords(Record):
    """What all primitives share: objects, and from `launch_kernel` on functions of the driver.

    adapters: the dict of the types of other libraries' arrays. any_array: the object that represents an array in keys.
    """

    stream_type = address()
    buffer_type = address()
    array_type = address()
    tuple_type = address()
    int_type = address()
    float_type = address()
    none = address()
    true = address()
    adapters = address()
    any_array = address()
    launch_kernel = address()
    is_capturing = address()
    get_context = address()
    push_context = address()
    pop_context = address()
    pointer_attribute = address()


class PrimitiveWords(Record):
    """The words of a primitive. written: its Launch in Python; shared: 0 until compiled code may do launches."""

    written = address()
    shared = pointer(SharedWords)


class Addresses(Fields):
    """The addresses that parameters of kernels are relative to. nothing: 0, for a parameter that is a number."""

    nothing = word()
    scratch = word()
    operands = words(MAX_ARRAYS)


class KnownOperand(Record):
    """An operand of a known launch. array: its place among the arrays of the call; count: the least number of elements;
    mask, low_bits: of its address."""

    array = word()
    dtype = address()
    count = word()
    is_written = word()
    mask = word()
    low_bits = word()


class KnownPair(Record):
    """Two operands, one of which is written: their numbers and bytes, and whether they may be the same memory."""

    first = word()
    first_bytes = word()
    second = word()
    second_bytes = word()
    may_be_same = word()


class Parameter(Record):
    """A parameter of a kernel: a number, and the word of `Addresses` that is added to it."""

    base = word()
    number = word()


class KnownKernel(Record):
    """A kernel: the arguments of cuLaunchKernel. Its parameters follow."""

    function = address()
    grid = words(3)
    block = words(3)
    shared_bytes = word()
    num_parameters = word()


class KnownLaunch(Record):
    """A known launch. Its operands, pairs and kernels follow."""

    context = address()
    device = word()
    scratch_bytes = word()
    num_operands = word()
    num_pairs = word()
    num_kernels = word()
