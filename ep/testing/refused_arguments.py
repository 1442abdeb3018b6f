"""Tests of the arguments that several primitives refuse, for their classes of refusals; with the fixture `refused`."""

import numpy as np

from ep.include import Stream
from ep.testing.refusals import Refused
from ep.testing.samples import other_types


class _StreamOfNoDevice(Stream):
    """A stream that belongs to no device under test."""

    def device_type(self):
        raise AssertionError("a launch on a stream of another device must be refused by the type of the stream")

    device = Sync = RecordEvent = WaitEvent = AllocAsync = FreeAsync = device_type


def check_any_launch(refused: Refused) -> None:
    """Check that a launch refuses a stream of another device, and buffers whose memory it cannot use.

    Buffers that are not NumPy arrays have no strides, and can all be written.
    """
    refused(TypeError, "stream must be a stream", stream=_StreamOfNoDevice())
    for name, buffer in refused.arguments().items():
        if isinstance(buffer, list):  # an argument that is a list of buffers
            _check_layout(refused, rf"{name}\[0\]", buffer[0], name, buffer[1:])
        else:
            _check_layout(refused, name, buffer, name)
        if name == refused.output and isinstance(buffer, np.ndarray):
            constant = buffer.copy()
            constant.flags.writeable = False
            refused(ValueError, f"{name} is read-only", **{name: constant})


def _check_layout(refused, said, buffer, name, others=None):
    """Check layouts of `buffer`. others: the buffers that follow in a list, for an argument that is one."""
    if isinstance(buffer, np.ndarray) and buffer.size > 1:
        apart = np.zeros(2 * buffer.size, buffer.dtype)[::2]
        apart[...] = buffer
        refused(ValueError, f"{said} is not C-contiguous", **{name: apart if others is None else [apart, *others]})


class OfAnyLaunch:
    """Tests for any primitive."""

    def test_what_every_launch_refuses(self, refused):
        check_any_launch(refused)


class OfTwoCounts(OfAnyLaunch):
    """Tests for a primitive launched with 8 elements `src`, `dst` and `count`; its key ends in the types of both."""

    def test_count(self, refused):
        refused(ValueError, "count is -1; it must not be negative", count=-1)
        refused(TypeError, "count must be an integer, not 8.0", count=8.0)
        refused(TypeError, "count must be an integer, not None", count=None)
        refused(ValueError, "src has 8 elements; at least 9 are needed", count=9)
        refused(ValueError, "count is", count=2**70)

    def test_too_few_elements(self, device, key, refused):
        src_type, dst_type = key[-2:]
        refused(ValueError, "src has 7 elements; at least 8", src=device.buffer(np.ones(7, src_type.dtype)))
        refused(ValueError, "dst has 7 elements; at least 8", dst=device.filled(7, dst_type))

    def test_dtypes(self, device, key, refused):
        src_type, dst_type = key[-2:]
        for wrong in other_types(src_type):
            message = rf"src has dtype {wrong.dtype}; this primitive takes {src_type.dtype} \({src_type.name}\)"
            refused(TypeError, message, src=device.buffer(np.ones(8, wrong.dtype)))
        for wrong in other_types(dst_type):
            refused(TypeError, f"dst has dtype {wrong.dtype}", dst=device.filled(8, wrong))

    def test_what_is_no_buffer_or_stream(self, refused):
        refused(TypeError, "src must be", src=None)
        refused(TypeError, "stream must be a stream", stream=None)


def two_counts(device, key, primitive, refuses):
    """Return the fixture `refused` of `OfTwoCounts`."""
    src_type, dst_type = key[-2:]
    return refuses.of(
        primitive,
        "dst",
        lambda: {
            "stream": device.stream,
            "src": device.buffer(np.ones(8, src_type.dtype)),
            "dst": device.filled(8, dst_type),
            "count": 8,
        },
    )


class OfTwoShapes(OfAnyLaunch):
    """Tests for a primitive made for 3 dims, launched from `src` (2, 1) to `dst` (2, 3); its key ends in both types."""

    def test_dims(self, refused):
        refused(ValueError, r"does not expand .* at axis -2", src_dims=(4, 1))
        refused(ValueError, "more dims than", src_dims=(2, 1), dst_dims=(2,))
        refused(ValueError, r"dst_dims\[0\] is -1; it must not be negative", dst_dims=(-1, 3))
        refused(ValueError, "dst_dims has 4 dims; this primitive was made for at most 3", dst_dims=(1, 1, 2, 3))
        refused(TypeError, "src_dims must be a sequence", src_dims=2)
        refused(TypeError, r"src_dims\[1\] must be an integer", src_dims=(2, 1.5))

    def test_strides(self, refused):
        refused(ValueError, "src_strides has 1 strides for 2 dims", src_strides=(1,))
        refused(ValueError, r"src_strides\[0\] is -1", src_strides=(-1, 1))
        refused(ValueError, "dst_strides .* share a place", dst_strides=(1, 1))
        refused(ValueError, "dst_strides .* share a place", dst_strides=(3, 0))
        refused(ValueError, "src has 2 elements; at least 6", src_strides=(5, 1))
        refused(ValueError, "dst has 6 elements; at least 7", dst_strides=(4, 1))

    def test_buffers(self, device, key, refused):
        src_type, dst_type = key[0 if len(key) == 1 else -2], key[-1]
        for wrong in other_types(src_type):
            refused(TypeError, f"src has dtype {wrong.dtype}", src=device.buffer(np.ones(2, wrong.dtype)))
        for wrong in other_types(dst_type):
            refused(TypeError, f"dst has dtype {wrong.dtype}", dst=device.filled(6, wrong))
        refused(ValueError, "src has 1 elements; at least 2", src=device.buffer(np.ones(1, src_type.dtype)))
        memory = device.buffer(np.ones(12, src_type.dtype))
        refused(ValueError, "dst overlaps src", src=memory[3:5], dst=memory[:6].view(dst_type.dtype))
        refused(TypeError, "src must be", src=None)
        refused(TypeError, "stream must be a stream", stream=0)


def two_shapes(device, src_type, dst_type, primitive, refuses):
    """Return the fixture `refused` of `OfTwoShapes`."""
    return refuses.of(
        primitive,
        "dst",
        lambda: {
            "stream": device.stream,
            "src_dims": (2, 1),
            "src": device.buffer(np.ones(2, src_type.dtype)),
            "dst_dims": (2, 3),
            "dst": device.filled(6, dst_type),
        },
    )
