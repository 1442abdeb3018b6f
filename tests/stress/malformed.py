"""Calls with one or two wrong arguments: they raise an error that names an argument, and write nothing."""

import re

import numpy as np

from ep import DeviceType, NewPrimitive
from ep.include.primitive.op_table import attributes_of
from ep.testing.device_under_test import DeviceUnderTest
from tests.stress.bad_values import bad_argument
from tests.stress.call import factory_of, is_buffer
from tests.stress.calls import random_call
from tests.stress.draw import chance, pick
from tests.stress.guarded import Guarded

FRESH, SECONDS, DEVICES = False, 180, None

ERRORS = (TypeError, ValueError, IndexError, MemoryError, OverflowError)


def trial(rng, tag):
    device = DeviceUnderTest(DeviceType.FromTag(tag))
    call = random_call(rng, device, most=2000)
    while call.is_empty():
        call = random_call(rng, device, most=2000)
    if chance(rng, 0.2):
        return bad_request(rng, device, call)
    primitive = call.make(device)
    if chance(rng, 0.5):
        call.run(device, rng, primitive)
    for _ in range(20):
        pick(rng, (bad_arguments, bad_arguments, bad_arguments, overlap))(rng, device, call, primitive)
    call.run(device, rng, primitive)


def bad_arguments(rng, device, call, primitive):
    """Return one or two wrong arguments among right ones, or too many arguments."""
    buffers, placed = call.place(device, rng)
    arguments, names = {"stream": device.stream, **placed}, call.names()
    if chance(rng, 0.05):
        what = f"{call}\nwith too many arguments"
        must_refuse(what, ["positional arguments"], lambda: primitive.Launch(*arguments.values(), *range(9)))
    else:
        wrong = rng.permutation(list(arguments))[: pick(rng, (1, 1, 1, 2))].tolist()
        arguments |= {name: bad_argument(rng, call, name, arguments[name]) for name in wrong}
        what = f"{call}\nwith {', '.join(f'{name}={arguments[name]!r:.200}' for name in wrong)}"
        must_refuse(what, names, lambda: primitive.Launch(**arguments))
    for name, buffer in buffers.items():
        buffer.check(f"{name} after the refusal of {what}")


def overlap(rng, device, call, primitive):
    """Place the output a few bytes before or after the begin of an operand."""
    if not call.overlap_is_refused:
        return
    _, placed = call.place(device, rng)
    operand = pick(rng, [name for name, value in call.arguments.items() if is_buffer(name, value)])
    first, second = (operand, call.output) if chance(rng, 0.5) else (call.output, operand)
    sizes = {name: call.arguments[name].nbytes for name in (first, second)}
    shift = 16 * int(rng.integers(1, 5))
    unused = 3 * call.arguments[first].itemsize  # at most, at the end of a buffer
    if operand == call.output or sizes[first] - unused <= shift:
        return
    memory = Guarded(device, rng, rng.integers(0, 2, shift + sum(sizes.values()), np.uint8))
    for name, begin in ((first, 0), (second, shift)):
        placed[name] = memory.view[begin : begin + sizes[name]].view(call.arguments[name].dtype)
    what = f"{call}\nwith {second} {shift} bytes behind the begin of {first}"
    must_refuse(what, [call.output], lambda: primitive.Launch(device.stream, **placed))
    memory.check(f"memory after the refusal of {what}")


def must_refuse(what, names, function):
    """Call `function`; raise AssertionError if it raises no error of the contract that names an argument."""
    try:
        result = function()
    except ERRORS as error:
        if not any(re.search(rf"\b{name}\b", str(error)) for name in names):
            raise AssertionError(f"no argument is named in {error!r}: {what}") from error
    except BaseException as error:
        raise AssertionError(f"{error!r} is none of the errors of the contract: {what}") from error
    else:
        raise AssertionError(f"accepted, with the result {result!r}: {what}")


def bad_request(rng, device, call):
    """Request primitives that New must refuse: invalid types, ops, numbers of dims and attributes."""
    factory, key = factory_of(call.entry), list(call.key())
    if not key:
        must_refuse(f"{factory.__name__}(1)", ["positional"], lambda: NewPrimitive(factory, device.type, 1))
        return
    names = [
        "op",
        "kind",
        "params_type",
        "indices_type",
        "segment_ids_type",
        "data_type",
        "src_type",
        "dst_type",
        "cond_type",
        "out_type",
        "transpose_a",
        "transpose_b",
        "max_num_dims",
        "attr0",
        "attr1",
    ]
    first_type = 0 if call.entry.op is None else 1
    types = range(first_type, first_type + len(call.types()))
    place = int(rng.integers(len(key)))
    if place < first_type:
        key[place] = pick(rng, (None, "kRelu", 3, object(), DeviceType.kCPU, [], 1.5))
    elif place in types:
        key[place] = pick(rng, (None, "float33", "", 3, object(), [], 1.5, DeviceType.kCPU, "O", "M8[s]"))
    elif type(key[place]) is int:
        key[place] = pick(rng, (None, -1, 1.5, float("nan"), "2", [2], object(), 2j))
    else:
        key[place] = pick(rng, ("1", object(), [1.0], 1j, {}))
        names += [attribute.name for attribute in attributes_of(call.entry.op)]
    must_refuse(f"{factory.__name__}{tuple(key)}", names, lambda: NewPrimitive(factory, device.type, *key))
