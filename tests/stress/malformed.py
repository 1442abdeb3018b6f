"""Calls with one or two arguments that are wrong: an error that names an argument, and nothing written."""

import re

import numpy as np

from ep import DeviceType, NewPrimitive
from ep.include.primitive.attributes import ATTRIBUTES
from tests.device import DeviceUnderTest
from tests.stress.call import factory_of, is_buffer
from tests.stress.calls import random_call
from tests.stress.draw import chance, pick

FRESH, SECONDS, DEVICES = False, 60, None

ERRORS = (TypeError, ValueError, IndexError, MemoryError, OverflowError)
NO_INTEGERS = (None, 2.0, float("nan"), float("inf"), np.float32(1), "3", b"3", 1j, [1], (), {}, object(), int, ...)
BAD_SIZES = (-1, np.int64(-1), -(2**31), -(2**63), -(2**70), 2**31, 2**62, 2**63 - 1, 2**63, 2**64, 2**70, 10**30)
BAD_OFFSETS = (2**62 + 1, -(2**62) - 1, 2**63, -(2**63), 2**70, -(10**30))
NO_SEQUENCES = (0, 2, 1.5, "12", b"12", {1, 2}, {1: 2}, object(), np.array(3), np.int64(3), (i for i in (1, 2)), int)
NO_STREAMS = (None, 0, "stream", object(), [], 1.5, np.zeros(1), DeviceType)
NO_BUFFERS = (None, "text", b"\0" * 64, object(), [1.0, 2.0], memoryview(b"\0" * 64), int, np.float64, {}, ...)


def trial(rng, tag):
    device = DeviceUnderTest(DeviceType.FromTag(tag))
    call = random_call(rng, device, most=2000)
    while is_empty(call):
        call = random_call(rng, device, most=2000)
    if chance(rng, 0.2):
        return bad_request(rng, device, call)
    primitive = call.make(device)
    if chance(rng, 0.5):
        call.run(device, rng, primitive)
    for _ in range(20):
        buffers, placed = call.place(device, rng)
        arguments = {"stream": device.stream, **placed}
        args, told = (), []
        for name in rng.permutation(list(arguments))[: pick(rng, (1, 1, 1, 2))].tolist():
            arguments[name] = bad_argument(rng, call, name, arguments[name])
            told.append(f"{name}={arguments[name]!r:.200}")
        names = call.names()
        if chance(rng, 0.05):
            told, args, arguments = ["too many arguments"], (*arguments.values(), *range(9)), {}
            names = ["positional arguments"]
        what = f"{call}\nwith {', '.join(told)}"
        must_refuse(what, names, lambda args=args, given=arguments: primitive.Launch(*args, **given))
        for name, buffer in buffers.items():
            buffer.check(f"{name} after the refusal of {what}")
    call.run(device, rng, primitive)


def is_empty(call):
    """Whether the call writes nothing, so that buffers of any size will do."""
    sizes = [value for name, value in call.arguments.items() if not is_buffer(name, value) and "strides" not in name]
    return any(np.any(np.asarray(value) == 0) for value in sizes)


def must_refuse(what, names, function):
    """Call `function`; raise AssertionError where it raises no error of the contract that names an argument."""
    try:
        result = function()
    except ERRORS as error:
        if not any(re.search(rf"\b{name}\b", str(error)) for name in names):
            raise AssertionError(f"no argument is named in {error!r}: {what}") from error
    except BaseException as error:
        raise AssertionError(f"{error!r} is none of the errors of the contract: {what}") from error
    else:
        raise AssertionError(f"accepted, with the result {result!r}: {what}")


def bad_argument(rng, call, name, value):
    """What must be refused in the place of the right `value`."""
    if name == "stream":
        return pick(rng, NO_STREAMS)
    if name.endswith(("_dims", "_strides")):
        return bad_dims(rng, call, name, value)
    if is_buffer(name, call.arguments[name]):
        return bad_buffer(rng, name == call.output, value)
    if name == "offset":
        return pick(rng, NO_INTEGERS + BAD_OFFSETS)
    if name.startswith("src"):  # a plain number
        return pick(rng, ("3", b"3", object(), [1], {}, None, int))
    return pick(rng, NO_INTEGERS + BAD_SIZES)


def bad_dims(rng, call, name, value):
    kind = rng.integers(3)
    sizes = [] if value is None else [int(size) for size in value]
    if kind == 0:
        return pick(rng, NO_SEQUENCES)
    if kind == 1 or not sizes:
        wrong = tuple(sizes + [1] * 9)
    else:
        place = int(rng.integers(len(sizes)))
        wrong_sizes = (-1, -(2**63), 2**63, 2**64, float(sizes[place]), None, float("nan"), "1", 1.5, [1], 1j)
        wrong = (*sizes[:place], pick(rng, wrong_sizes), *sizes[place + 1 :])
    return wrong if chance(rng, 0.7) else list(wrong)


def bad_buffer(rng, written, buffer):
    """Not a buffer, of another data type, too small; on the host also not contiguous, read-only, of another order."""
    on_host = isinstance(buffer, np.ndarray)
    kind = pick(rng, ("none", "type", "size", "gaps", "frozen", "order") if on_host else ("none", "type", "size"))
    if kind == "none":
        return pick(rng, NO_BUFFERS if on_host else (*NO_BUFFERS, np.zeros(buffer.size, buffer.dtype)))
    if kind == "gaps" and buffer.size > 1:
        return pick(rng, (np.repeat(buffer, 2)[::2], buffer[::-1]))
    if kind == "frozen" and written:
        frozen = buffer[:]
        frozen.flags.writeable = False
        return frozen
    if kind == "order" and buffer.dtype.itemsize > 1 and buffer.dtype.isbuiltin == 1:
        return buffer.view(buffer.dtype.newbyteorder())
    if kind == "type":
        others = (
            "?",
            "i1",
            "u1",
            "i2",
            "f2",
            "i4",
            "f4",
            "i8",
            "f8",
            "c8",
            "c16",
            *(("O", "M8[s]") if on_host else ()),
        )
        other = np.dtype(pick(rng, [name for name in others if np.dtype(name) != buffer.dtype]))
        return np.zeros(buffer.size, other) if on_host else buffer[:0].view(np.uint8).view(other)
    return buffer[: buffer.size // 8]  # at most three elements are more than is needed


def bad_request(rng, device, call):
    """What New must refuse: types, ops, numbers of dims and attributes that are none."""
    factory, key = factory_of(call.entry), list(call.key())
    names = ["op", "params_type", "indices_type", "data_type", "src_type", "dst_type", "max_num_dims", "attr0", "attr1"]
    first_type = 0 if call.entry.op is None else 1
    types = range(first_type, first_type + len(call.entry.dtypes))
    place = int(rng.integers(len(key)))
    if place < first_type:
        key[place] = pick(rng, (None, "kRelu", 3, object(), DeviceType.kCPU, [], 1.5))
    elif place in types:
        key[place] = pick(rng, (None, "float33", "", 3, object(), [], 1.5, DeviceType.kCPU, "O", "M8[s]"))
    elif type(key[place]) is int:
        key[place] = pick(rng, (None, -1, 1.5, float("nan"), "2", [2], object(), 2j))
    else:
        key[place] = pick(rng, ("1", object(), [1.0], 1j, {}))
        names += [attribute.name for attribute in ATTRIBUTES[call.entry.op]]
    must_refuse(f"{factory.__name__}{tuple(key)}", names, lambda: NewPrimitive(factory, device.type, *key))
