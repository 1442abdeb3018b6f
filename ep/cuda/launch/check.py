"""The compiled check of a call against a known launch."""

from __future__ import annotations

from ep.common.native.fields import Int32, Int64
from ep.common.native.jit import jit
from ep.common.native.objects import TupleObject
from ep.common.native.python_calls import as_int64, clear_error, error_occurred
from ep.cuda.device.slots import MemoryObject, StreamState
from ep.cuda.driver.interface import LEGACY_STREAM
from ep.cuda.launch.code import call_attribute, call_driver_with_two
from ep.cuda.launch.layout import Addresses, KnownLaunch, KnownOperand, KnownPair, SharedWords

_NUM_ITEMS = MemoryObject.num_words - TupleObject.num_words
_DEVICE_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL


@jit
def _is_int(given: int, number: int) -> bool:
    """Return whether an object, which is an int, is a number that fits a word."""
    value = as_int64(given)
    if value == -1 and error_occurred() != 0:
        clear_error()
        return False
    return value == number


@jit
def is_not_captured(stream: int, shared: SharedWords) -> bool:
    """Return whether a stream is not being captured. stream: its handle."""
    status = Int64.array_on_stack(1)
    status[0] = 0
    return call_driver_with_two(shared.is_capturing, stream, status) == 0 and Int32.at(status)[0] == 0


@jit
def _needs_no_wait(producer: int, stream: StreamState, shared: SharedWords) -> bool:
    """Return whether work on a stream is in order with that of the stream whose handle is the object `producer`."""
    if producer == shared.none:
        return True
    handle = as_int64(producer)
    if handle == -1 and error_occurred() != 0:
        clear_error()
        return False
    if handle == 0:
        handle = LEGACY_STREAM
    if handle == stream.handle:
        return True
    return handle == LEGACY_STREAM and stream.is_owned != 0


@jit
def _is_on_device(device: int, address: int, wanted: int, shared: SharedWords) -> bool:
    """Return whether memory is on the device `wanted`. device: its index, an object; None if CUDA must be asked."""
    if device != shared.none:
        return _is_int(device, wanted)
    index = Int64.array_on_stack(1)
    index[0] = -1
    known = call_attribute(shared.pointer_attribute, index, _DEVICE_ORDINAL, address) == 0
    return known and Int32.at(index)[0] == wanted


@jit
def _address(memory: MemoryObject, operand: KnownOperand, device: int, stream: StreamState, shared: SharedWords) -> int:
    """Return the address of an array's memory; 0 if it is not as the operand must be."""
    if memory == shared.none or memory.length != _NUM_ITEMS:
        return 0
    if memory.dtype != operand.dtype or memory.is_contiguous != shared.true:
        return 0
    if operand.is_written != 0 and memory.may_write != shared.true:
        return 0
    if not _needs_no_wait(memory.producer, stream, shared):
        return 0
    count, address = as_int64(memory.count), as_int64(memory.address)
    if error_occurred() != 0:
        clear_error()
        return 0
    if count < operand.count or address & operand.mask != operand.low_bits:
        return 0
    if address <= 0 or not _is_on_device(memory.device, address, device, shared):
        return 0
    return address


@jit
def find_addresses(
    launch: KnownLaunch, memories: Int64, stream: StreamState, shared: SharedWords, addresses: Addresses
) -> int:
    """Write the addresses of the operands of a known launch; return that of its first kernel.

    memories: the addresses of the objects that describe the memory of the arrays of the call. It returns 0 if an array
    is not as it must be, or if arrays overlap.
    """
    operands, found = KnownOperand.at(launch[1]), addresses.operands
    for number in range(launch.num_operands):
        operand = operands[number]
        address = _address(MemoryObject.at(memories[operand.array]), operand, launch.device, stream, shared)
        if address == 0:
            return 0
        found[number] = address
    pairs = KnownPair.at(operands[launch.num_operands])
    for number in range(launch.num_pairs):
        pair = pairs[number]
        first, second = found[pair.first], found[pair.second]
        overlap = first < second + pair.second_bytes and second < first + pair.first_bytes
        if overlap and (first != second or pair.may_be_same == 0):
            return 0
    return pairs[launch.num_pairs] + 0
