"""The compiled Launch of all primitives.

It looks the call up among the launches that the primitive knows, by the stream and all arguments but arrays; checks the
arrays; and queues the kernels with their addresses. If anything is not as expected, nothing has been queued, or a
kernel was refused by the driver, and Launch in Python does the launch, or raises the error.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ep.common.native.equality import are_equal
from ep.common.native.forward import call_method
from ep.common.native.jit import jit
from ep.common.native.object_layout import DATA, TUPLE_ITEMS, TUPLE_LENGTH, TYPE
from ep.common.native.python_calls import (
    acquire_gil,
    add_reference,
    bad_argument,
    call_with_one,
    clear_error,
    drop_reference,
    look_up,
    new_tuple,
    release_gil,
)
from ep.common.native.python_function import doc_of_method, python_method
from ep.common.native.words import load_word, stack_words, store_word
from ep.cuda.device.slots import (
    HANDLE,
    MEMORY,
    SCRATCH,
    SCRATCH_IN_USE,
    STATE,
    TOKEN,
)
from ep.cuda.device.slots import SCRATCH_BYTES as SCRATCH_THERE
from ep.cuda.launch.check import find_addresses, is_not_captured
from ep.cuda.launch.code import call_driver, call_launch, compile_function
from ep.cuda.launch.layout import (
    ADAPTERS,
    ANY_ARRAY,
    ARRAY_TYPE,
    BUFFER_TYPE,
    CONTEXT,
    FIRST_OPERAND,
    FLOAT_TYPE,
    FUNCTION,
    GET_CONTEXT,
    INT_TYPE,
    KNOWN,
    LAUNCH_KERNEL,
    MAX_ARGUMENTS,
    MAX_ARRAYS,
    MAX_PARAMETERS,
    NO_OPERAND,
    NONE,
    NUM_KERNELS,
    NUM_PARAMETERS,
    OF_SCRATCH,
    PARAMETERS,
    POP_CONTEXT,
    PUSH_CONTEXT,
    SCRATCH_BYTES,
    SHARED,
    STREAM_TYPE,
    TUPLE_TYPE,
    WORDS,
    WRITTEN,
)

_ADDRESSES = FIRST_OPERAND + MAX_ARRAYS
_LAST_DEFAULT_STREAM = 2  # handles up to this one belong to the current context
_REFUSED_CONTEXT = 201  # CUDA_ERROR_INVALID_CONTEXT
_REFUSED_HANDLE = 400


@jit
def _queue(kernels, num_kernels, addresses, stream, shared):
    """Queue the kernels of a launch; return the result of the driver, which is 0 if all were queued."""
    words, pointers = stack_words(MAX_PARAMETERS), stack_words(MAX_PARAMETERS)
    kernel, function = kernels, load_word(shared, LAUNCH_KERNEL)
    for _ in range(num_kernels):
        place, number = kernel + 8 * PARAMETERS, load_word(kernel, NUM_PARAMETERS)
        for parameter in range(number):
            store_word(words, parameter, load_word(addresses, load_word(place, 0)) + load_word(place, 1))
            store_word(pointers, parameter, words + 8 * parameter)
            place += 16
        result = call_launch(function, kernel + 8 * FUNCTION, stream, pointers)
        if result != 0:
            return result
        kernel = place
    return 0


@jit
def _enter(context, shared):
    """Make a context the current one, unless it is; return whether this must be undone, or -1 after an error."""
    current = stack_words(1)
    store_word(current, 0, 0)
    if call_driver(load_word(shared, GET_CONTEXT), current) == 0 and load_word(current, 0) == context:
        return 0
    return 1 if call_driver(load_word(shared, PUSH_CONTEXT), context) == 0 else -1


@jit
def _leave(shared):
    call_driver(load_word(shared, POP_CONTEXT), stack_words(1))


@jit
def _queue_in_context(record, kernels, addresses, stream, shared):
    """Queue the kernels of a launch in its context; return whether all were queued."""
    number, context, needs_scratch = (
        load_word(record, NUM_KERNELS),
        load_word(record, CONTEXT),
        load_word(record, SCRATCH_BYTES) != 0,
    )
    if stream > _LAST_DEFAULT_STREAM and not needs_scratch:
        result = _queue(kernels, number, addresses, stream, shared)
        if result != _REFUSED_CONTEXT and result != _REFUSED_HANDLE:
            return result == 0
    entered = _enter(context, shared)
    if entered < 0:
        return False
    # memory of a graph is not the stream's scratch memory
    done = not needs_scratch or is_not_captured(stream, shared)
    if done:
        done = _queue(kernels, number, addresses, stream, shared) == 0
    if entered == 1:
        _leave(shared)
    return done


@jit
def _launch(record, memories, stream_state, shared):
    """Check the arrays of a call against a known launch, and queue it; return whether it is done."""
    addresses = stack_words(_ADDRESSES)
    kernels = find_addresses(record, memories, stream_state, shared, addresses)
    if kernels == 0:
        return False
    needed, stream = load_word(record, SCRATCH_BYTES), load_word(stream_state, HANDLE)
    if needed != 0:
        if load_word(stream_state, SCRATCH_THERE) < needed or load_word(stream_state, SCRATCH_IN_USE) != 0:
            return False
        store_word(stream_state, SCRATCH_IN_USE, 1)
    store_word(addresses, NO_OPERAND, 0)
    store_word(addresses, OF_SCRATCH, load_word(stream_state, SCRATCH))
    thread = release_gil()  # a full queue waits for the device, and that perhaps for a function of Python
    done = _queue_in_context(record, kernels, addresses, stream, shared)
    acquire_gil(thread)
    if needed != 0:
        store_word(stream_state, SCRATCH_IN_USE, 0)
    return done


@jit
def _is_call_of(keys, args, num_keys, shared):
    """Return whether a known launch has the arguments of a call."""
    any_array, int_type = load_word(shared, ANY_ARRAY), load_word(shared, INT_TYPE)
    float_type, tuple_type = load_word(shared, FLOAT_TYPE), load_word(shared, TUPLE_TYPE)
    for argument in range(1, num_keys):
        given, kept = load_word(args, argument), load_word(keys + TUPLE_ITEMS, argument)
        if kept != any_array and not are_equal(given, kept, float_type, tuple_type, int_type):
            return False
    return True


@jit
def _launch_known(primitive, keys, args, num_keys, memories, stream_state, shared):
    """Look a launch up by its keys, check it and do it; return whether it is done."""
    known = load_word(primitive + KNOWN, 0)
    if known == 0:
        return False
    add_reference(known)  # hashing and comparing may run any code
    found = look_up(known, keys)
    if found == 0:
        clear_error()  # an unhashable argument
        drop_reference(known)
        return False
    add_reference(found)
    drop_reference(known)
    done, number = False, load_word(found + TUPLE_LENGTH, 0)
    for place in range(number):
        if not done:
            launch = load_word(found + TUPLE_ITEMS, place)
            record = load_word(load_word(launch + TUPLE_ITEMS, 0) + DATA, 0)
            if _is_call_of(load_word(launch + TUPLE_ITEMS, 1), args, num_keys, shared):
                done = _launch(record, memories, stream_state, shared)
    drop_reference(found)
    return done


@jit
def _memory(argument, shared):
    """Return the description of the memory of an array, as a new reference; 0 for another object, -1 for no memory."""
    kind = load_word(argument + TYPE, 0)
    if kind == load_word(shared, BUFFER_TYPE) or kind == load_word(shared, ARRAY_TYPE):
        memory = load_word(argument + MEMORY, 0)
        if memory == 0:
            return -1
        add_reference(memory)
        return memory
    if kind == load_word(shared, INT_TYPE) or kind == load_word(shared, TUPLE_TYPE):
        return 0
    if kind == load_word(shared, FLOAT_TYPE) or argument == load_word(shared, NONE):
        return 0
    adapter = look_up(load_word(shared, ADAPTERS), kind)
    if adapter == 0:
        clear_error()
        return 0
    memory = call_with_one(adapter, argument)
    if memory == 0:
        clear_error()  # Launch in Python raises it again
        return -1
    if load_word(memory + TYPE, 0) != load_word(shared, TUPLE_TYPE):
        drop_reference(memory)
        return -1
    return memory


@jit
def _is_done(primitive, shared, args, num_args, names):
    """Return whether a launch is known, and has therefore been queued."""
    num_keys, num_names = num_args, 0
    if names != 0:
        num_names = load_word(names + TUPLE_LENGTH, 0)
        num_keys += num_names
    if num_args == 0 or num_keys > MAX_ARGUMENTS:
        return False
    stream = load_word(args, 0)
    if load_word(stream + TYPE, 0) != load_word(shared, STREAM_TYPE) or load_word(stream + STATE, 0) == 0:
        return False
    stream_state = load_word(load_word(stream + STATE, 0) + DATA, 0)
    keys = new_tuple(num_keys + 1)
    if keys == 0:
        clear_error()
        return False
    memories, num_arrays, complete = stack_words(MAX_ARRAYS), 0, True
    for place in range(num_keys + 1):
        key = names if num_names > 0 else load_word(shared, NONE)
        if place == 0:
            key = load_word(stream + TOKEN, 0)
        elif place < num_keys:
            key = load_word(args, place)
            memory = _memory(key, shared) if complete else 0
            if memory != 0:
                key = load_word(shared, ANY_ARRAY)
            if memory == -1 or (memory != 0 and num_arrays == MAX_ARRAYS):
                complete = False
            if memory > 0 and num_arrays < MAX_ARRAYS:
                store_word(memories, num_arrays, memory)
                num_arrays += 1
            elif memory > 0:
                drop_reference(memory)
        add_reference(key)
        store_word(keys + TUPLE_ITEMS, place, key)
    done = complete and _launch_known(primitive, keys, args, num_keys, memories, stream_state, shared)
    for array in range(num_arrays):
        drop_reference(load_word(memories, array))
    drop_reference(keys)
    return done


def _method(primitive, args, num_args, names):
    words = load_word(primitive + WORDS, 0)
    if words == 0:
        bad_argument()  # __init__ has not been called
        return 0
    state = load_word(words + DATA, 0)
    shared, written = load_word(state, SHARED), load_word(state, WRITTEN)
    if shared != 0 and _is_done(primitive, shared, args, num_args, names):
        none = load_word(shared, NONE)
        add_reference(none)
        return none
    return call_method(written, primitive, args, num_args, names)


def install(of: type[Any], forward: Any) -> None:
    """Replace the Launch of a class, which `launched` has marked, by a compiled method."""
    if forward.to is forward.python:
        method = python_method(of, "Launch", _compiled(), doc_of_method("Launch", forward.written))
        of.Launch = method  # type: ignore[attr-defined]
        forward.to = method


@cache
def _compiled() -> int:
    return compile_function("launch", _method, 4)
