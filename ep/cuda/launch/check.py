"""The compiled check of a call against a known launch."""

from __future__ import annotations

from ep.common.native.jit import jit
from ep.common.native.object_layout import TUPLE_ITEMS, TUPLE_LENGTH
from ep.common.native.python_calls import as_int64, clear_error, error_occurred
from ep.common.native.words import load_int, load_word, stack_words, store_word
from ep.cuda.device.slots import HANDLE, IS_OWNED
from ep.cuda.driver.interface import LEGACY_STREAM
from ep.cuda.launch.code import call_attribute, call_driver_with_two
from ep.cuda.launch.layout import (
    ARRAY,
    COUNT,
    DEVICE,
    DTYPE,
    FIRST,
    FIRST_OPERAND,
    IS_CAPTURING,
    IS_WRITTEN,
    LOW_BITS,
    MASK,
    MAY_BE_SAME,
    NONE,
    NUM_OPERANDS,
    NUM_PAIRS,
    ONE,
    ONE_BYTES,
    OPERAND_WORDS,
    OTHER,
    OTHER_BYTES,
    PAIR_WORDS,
    POINTER_ATTRIBUTE,
    TRUE,
)

_ADDRESS, _COUNT, _DTYPE, _MAY_WRITE, _IS_CONTIGUOUS, _DEVICE, _PRODUCER, _NUM_ITEMS = range(8)
"""The items of an array's memory: see `ep.cuda.device.buffer.Memory`."""


_DEVICE_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL


@jit
def _is_int(given, number):
    """Return whether an object, which is an int, is a number that fits a word."""
    value = as_int64(given)
    if value == -1 and error_occurred() != 0:
        clear_error()
        return False
    return value == number


@jit
def is_not_captured(stream, shared):
    """Return whether a stream is not being captured. stream: its handle."""
    status = stack_words(1)
    store_word(status, 0, 0)
    return call_driver_with_two(load_word(shared, IS_CAPTURING), stream, status) == 0 and load_int(status) == 0


@jit
def _needs_no_wait(producer, stream_state, shared):
    """Return whether work on a stream is in order with that of the stream whose handle is the object `producer`."""
    if producer == load_word(shared, NONE):
        return True
    handle = as_int64(producer)
    if handle == -1 and error_occurred() != 0:
        clear_error()
        return False
    if handle == 0:
        handle = LEGACY_STREAM
    if handle == load_word(stream_state, HANDLE):
        return True
    return handle == LEGACY_STREAM and load_word(stream_state, IS_OWNED) != 0


@jit
def _is_on_device(device, address, record, shared):
    """Return whether memory is on the device of a launch. device: its index; None if CUDA must be asked."""
    wanted = load_word(record, DEVICE)
    if device != load_word(shared, NONE):
        return _is_int(device, wanted)
    index = stack_words(1)
    store_word(index, 0, -1)
    known = call_attribute(load_word(shared, POINTER_ATTRIBUTE), index, _DEVICE_ORDINAL, address) == 0
    return known and load_int(index) == wanted


@jit
def _address(memory, operand, record, stream_state, shared):
    """Return the address of an array's memory; 0 if it is not as the operand must be."""
    if memory == load_word(shared, NONE) or load_word(memory + TUPLE_LENGTH, 0) != _NUM_ITEMS:
        return 0
    items, true = memory + TUPLE_ITEMS, load_word(shared, TRUE)
    if load_word(items, _DTYPE) != load_word(operand, DTYPE) or load_word(items, _IS_CONTIGUOUS) != true:
        return 0
    if load_word(operand, IS_WRITTEN) != 0 and load_word(items, _MAY_WRITE) != true:
        return 0
    if not _needs_no_wait(load_word(items, _PRODUCER), stream_state, shared):
        return 0
    count, address = as_int64(load_word(items, _COUNT)), as_int64(load_word(items, _ADDRESS))
    if error_occurred() != 0:
        clear_error()
        return 0
    if count < load_word(operand, COUNT) or address & load_word(operand, MASK) != load_word(operand, LOW_BITS):
        return 0
    if address <= 0 or not _is_on_device(load_word(items, _DEVICE), address, record, shared):
        return 0
    return address


@jit
def find_addresses(record, memories, stream_state, shared, addresses):
    """Write the addresses of the operands of a known launch; return the first word after operands and pairs.

    memories: the addresses of the objects that describe the memory of the arrays of the call. It returns 0 if an array
    is not as it must be, or if arrays overlap.
    """
    place = record + 8 * FIRST
    for operand in range(load_word(record, NUM_OPERANDS)):
        memory = load_word(memories, load_word(place, ARRAY))
        address = _address(memory, place, record, stream_state, shared)
        if address == 0:
            return 0
        store_word(addresses, FIRST_OPERAND + operand, address)
        place += 8 * OPERAND_WORDS
    for _ in range(load_word(record, NUM_PAIRS)):
        one = load_word(addresses, FIRST_OPERAND + load_word(place, ONE))
        other = load_word(addresses, FIRST_OPERAND + load_word(place, OTHER))
        overlap = one < other + load_word(place, OTHER_BYTES) and other < one + load_word(place, ONE_BYTES)
        if overlap and (one != other or load_word(place, MAY_BE_SAME) == 0):
            return 0
        place += 8 * PAIR_WORDS
    return place
