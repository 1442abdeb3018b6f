"""Values that no primitive may accept as an argument of Launch."""

import numpy as np

from ep import DeviceType
from tests.stress.call import is_buffer, is_sequence
from tests.stress.draw import chance, pick

NO_INTEGERS = (None, 2.0, float("nan"), float("inf"), np.float32(1), "3", b"3", 1j, [1], (), {}, object(), int, ...)
BAD_SIZES = (-1, np.int64(-1), -(2**31), -(2**63), -(2**70), 2**31, 2**62, 2**63 - 1, 2**63, 2**64, 2**70, 10**30)
BAD_OFFSETS = (2**62 + 1, -(2**62) - 1, 2**63, -(2**63), 2**70, -(10**30))
NO_SEQUENCES = (0, 2, 1.5, "12", b"12", {1, 2}, {1: 2}, object(), np.array(3), np.int64(3), (i for i in (1, 2)), int)
NUMBERS = ("value", "on_value", "off_value", "pad_val", "cond", "x", "y", "alpha", "beta")
NO_TYPES = (None, "float33", "", 3, object(), [], 1.5, DeviceType.kCPU, "O", "M8[s]")
NO_STREAMS = (None, 0, "stream", object(), [], 1.5, np.zeros(1), DeviceType)
NO_BUFFERS = (None, "text", b"\0" * 64, object(), [1.0, 2.0], memoryview(b"\0" * 64), int, np.float64, {}, ...)


def bad_argument(rng, call, name, value):
    """Return a value that must be refused in place of the right `value`."""
    if name == "stream":
        return pick(rng, NO_STREAMS)
    if name == "data_type":
        return pick(rng, NO_TYPES)
    if is_sequence(name):
        return bad_dims(rng, call, name, value)
    if is_buffer(name, call.arguments[name]):
        return bad_buffer(rng, name == call.output, value, call.typed_buffers)
    if name == "srcs":
        return bad_sequence(rng, value)
    if name in ("offset", "lower_bound", "upper_bound"):
        return pick(rng, NO_INTEGERS + BAD_OFFSETS)
    if name.startswith("src") or name in NUMBERS:  # a plain number
        return pick(rng, ("3", b"3", object(), [1], {}, None, int))
    return pick(rng, NO_INTEGERS + BAD_SIZES)


def bad_sequence(rng, buffers):
    """Return an object that is not a sequence of buffers, an empty sequence, or one with a wrong buffer."""
    if chance(rng, 0.4):
        return pick(rng, (None, 3, "text", object(), [], (), {}, int, buffers[0]))
    place = int(rng.integers(len(buffers)))
    wrong = [*buffers[:place], bad_buffer(rng, False, buffers[place]), *buffers[place + 1 :]]
    return wrong if chance(rng, 0.5) else tuple(wrong)


def bad_dims(rng, call, name, value):
    kind = rng.integers(3)
    sizes = [] if value is None else [int(size) for size in value]
    if kind == 0:
        return pick(rng, NO_SEQUENCES)
    if kind == 1 or not sizes:
        wrong = tuple(sizes + [1] * 9)
    else:
        place = int(rng.integers(len(sizes)))
        wrong_sizes = (-(2**63), 2**63, 2**64, float(sizes[place]), None, float("nan"), "1", 1.5, [1], 1j)
        if not name.startswith("padding_") and name != "axes":  # which crops, or counts from the end
            wrong_sizes += (-1,)
        wrong = (*sizes[:place], pick(rng, wrong_sizes), *sizes[place + 1 :])
    return wrong if chance(rng, 0.7) else list(wrong)


def bad_buffer(rng, written, buffer, typed=True):
    """Return an object that is not a buffer, or a buffer of another data type or too small; on the host also one that
    is not contiguous, read-only, or of another byte order.
    """
    on_host = isinstance(buffer, np.ndarray)
    kinds = ("none", "size", *(("type",) if typed else ()), *(("gaps", "frozen", "order") if on_host else ()))
    kind = pick(rng, kinds)
    if kind == "none":  # a function that accepts buffers of any type may accept those of the host, too
        of_host = () if on_host or not typed else (np.zeros(buffer.size, buffer.dtype),)
        return pick(rng, (*NO_BUFFERS, *of_host))
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
    return buffer[: buffer.size // 8]  # a buffer has at most three elements more than needed
