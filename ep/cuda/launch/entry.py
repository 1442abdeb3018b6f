"""The compiled Launch of all primitives.

It looks the call up among the launches that the primitive knows, by the stream and all arguments but arrays; checks the
arrays; and queues the kernels with their addresses. If anything is not as expected, nothing has been queued, or a
kernel was refused by the driver, and Launch in Python does the launch, or raises the error.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ep.common.native.equality import are_equal
from ep.common.native.fields import Int64
from ep.common.native.forward import call_method
from ep.common.native.jit import jit
from ep.common.native.objects import ArrayObject, Object, TupleObject
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
from ep.cuda.device.slots import CudaArrayObject, StreamObject, StreamState
from ep.cuda.launch.check import find_addresses, is_not_captured
from ep.cuda.launch.code import call_driver, call_launch, compile_function
from ep.cuda.launch.layout import (
    MAX_ARGUMENTS,
    MAX_ARRAYS,
    MAX_PARAMETERS,
    Addresses,
    KnownKernel,
    KnownLaunch,
    LaunchedObject,
    Parameter,
    PrimitiveWords,
    SharedWords,
)

_LAST_DEFAULT_STREAM = 2  # handles up to this one belong to the current context
_REFUSED_CONTEXT = 201  # CUDA_ERROR_INVALID_CONTEXT
_REFUSED_HANDLE = 400


@jit
def _queue(kernel: KnownKernel, num_kernels: int, addresses: Addresses, stream: int, shared: SharedWords) -> int:
    """Queue the kernels of a launch; return the result of the driver, which is 0 if all were queued."""
    bases = Int64.at(addresses)
    words, pointers = Int64.array_on_stack(MAX_PARAMETERS), Int64.array_on_stack(MAX_PARAMETERS)
    for _ in range(num_kernels):
        parameters, number = Parameter.at(kernel[1]), kernel.num_parameters
        for k in range(number):
            words[k] = bases[parameters[k].base] + parameters[k].number
            pointers[k] = words + 8 * k
        result = call_launch(shared.launch_kernel, kernel, stream, pointers)
        if result != 0:
            return result
        kernel = KnownKernel.at(parameters[number])
    return 0


@jit
def _enter(context: int, shared: SharedWords) -> int:
    """Make a context the current one, unless it is; return whether this must be undone, or -1 after an error."""
    current = Int64.array_on_stack(1)
    current[0] = 0
    if call_driver(shared.get_context, current) == 0 and current[0] == context:
        return 0
    return 1 if call_driver(shared.push_context, context) == 0 else -1


@jit
def _leave(shared: SharedWords) -> None:
    call_driver(shared.pop_context, Int64.array_on_stack(1))


@jit
def _queue_in_context(
    launch: KnownLaunch, kernels: KnownKernel, addresses: Addresses, stream: int, shared: SharedWords
) -> bool:
    """Queue the kernels of a launch in its context; return whether all were queued."""
    number, needs_scratch = launch.num_kernels, launch.scratch_bytes != 0
    if stream > _LAST_DEFAULT_STREAM and not needs_scratch:
        result = _queue(kernels, number, addresses, stream, shared)
        if result != _REFUSED_CONTEXT and result != _REFUSED_HANDLE:
            return result == 0
    entered = _enter(launch.context, shared)
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
def _launch(launch: KnownLaunch, memories: Int64, stream: StreamState, shared: SharedWords) -> bool:
    """Check the arrays of a call against a known launch, and queue it; return whether it is done."""
    addresses = Addresses.on_stack()
    kernels = KnownKernel.at(find_addresses(launch, memories, stream, shared, addresses))
    if kernels == 0:
        return False
    needed, handle = launch.scratch_bytes, stream.handle
    if needed != 0:
        if stream.scratch_bytes < needed or stream.scratch_in_use != 0:
            return False
        stream.scratch_in_use = 1
    addresses.nothing, addresses.scratch = 0, stream.scratch
    thread = release_gil()  # a full queue waits for the device, and that perhaps for a function of Python
    done = _queue_in_context(launch, kernels, addresses, handle, shared)
    acquire_gil(thread)
    if needed != 0:
        stream.scratch_in_use = 0
    return done


@jit
def _is_call_of(keys: TupleObject, args: Int64, num_keys: int, shared: SharedWords) -> bool:
    """Return whether a known launch has the arguments of a call."""
    float_type, tuple_type, int_type = shared.float_type, shared.tuple_type, shared.int_type
    for argument in range(1, num_keys):
        given, kept = args[argument], keys.items[argument]
        if kept != shared.any_array and not are_equal(given, kept, float_type, tuple_type, int_type):
            return False
    return True


@jit
def _launch_known(
    primitive: LaunchedObject, keys: int, args: Int64, num_keys: int, memories: Int64, stream: StreamState,
    shared: SharedWords,
) -> bool:  # fmt: skip
    """Look a launch up by its keys, check it and do it; return whether it is done."""
    known = primitive.known
    if known == 0:
        return False
    add_reference(known)  # hashing and comparing may run any code
    found = TupleObject.at(look_up(known, keys))
    if found == 0:
        clear_error()  # an unhashable argument
        drop_reference(known)
        return False
    add_reference(found)
    drop_reference(known)
    done = False
    for place in range(found.length):
        if not done:
            launch = TupleObject.at(found.items[place]).items
            if _is_call_of(TupleObject.at(launch[1]), args, num_keys, shared):
                done = _launch(KnownLaunch.at(ArrayObject.at(launch[0]).data), memories, stream, shared)
    drop_reference(found)
    return done


@jit
def _memory(argument: CudaArrayObject, shared: SharedWords) -> int:
    """Return the description of the memory of an array, as a new reference; 0 for another object, -1 for no memory."""
    kind = argument.type
    if kind == shared.buffer_type or kind == shared.array_type:
        if argument.memory == 0:
            return -1
        add_reference(argument.memory)
        return argument.memory + 0
    if kind == shared.int_type or kind == shared.tuple_type or kind == shared.float_type or argument == shared.none:
        return 0
    adapter = look_up(shared.adapters, kind)
    if adapter == 0:
        clear_error()
        return 0
    memory = call_with_one(adapter, argument)
    if memory == 0:
        clear_error()  # Launch in Python raises it again
        return -1
    if Object.at(memory).type != shared.tuple_type:
        drop_reference(memory)
        return -1
    return memory


@jit
def _is_done(primitive: LaunchedObject, shared: SharedWords, args: Int64, num_args: int, names: TupleObject) -> bool:
    """Return whether a launch is known, and has therefore been queued."""
    num_keys, num_names = num_args, 0
    if names != 0:
        num_names = names.length
        num_keys += num_names
    if num_args == 0 or num_keys > MAX_ARGUMENTS:
        return False
    stream = StreamObject.at(args[0])
    if stream.type != shared.stream_type or stream.state == 0:
        return False
    state = StreamState.at(stream.state.data)
    keys = TupleObject.at(new_tuple(num_keys + 1))
    if keys == 0:
        clear_error()
        return False
    memories, num_arrays, complete = Int64.array_on_stack(MAX_ARRAYS), 0, True
    for place in range(num_keys + 1):
        key = names + 0 if num_names > 0 else shared.none
        if place == 0:
            key = stream.token
        elif place < num_keys:
            key = args[place]
            memory = _memory(CudaArrayObject.at(key), shared) if complete else 0
            if memory != 0:
                key = shared.any_array
            if memory == -1 or (memory != 0 and num_arrays == MAX_ARRAYS):
                complete = False
            if memory > 0 and num_arrays < MAX_ARRAYS:
                memories[num_arrays] = memory
                num_arrays += 1
            elif memory > 0:
                drop_reference(memory)
        add_reference(key)
        keys.items[place] = key
    done = complete and _launch_known(primitive, keys, args, num_keys, memories, state, shared)
    for array in range(num_arrays):
        drop_reference(memories[array])
    drop_reference(keys)
    return done


def _method(primitive: LaunchedObject, args: Int64, num_args: int, names: TupleObject) -> Any:
    if primitive.words == 0:
        bad_argument()  # __init__ has not been called
        return 0
    words = PrimitiveWords.at(primitive.words.data)
    shared = words.shared
    if shared != 0 and _is_done(primitive, shared, args, num_args, names):
        add_reference(shared.none)
        return shared.none
    return call_method(words.written, primitive, args, num_args, names)


def install(of: type[Any], forward: Any) -> None:
    """Replace the Launch of a class, which `launched` returned, by a compiled method."""
    if forward.to is forward.python:
        method = python_method(of, "Launch", _compiled(), doc_of_method("Launch", forward.written))
        of.Launch = method
        forward.to = method


@cache
def _compiled() -> int:
    return compile_function("launch", _method, 4)
