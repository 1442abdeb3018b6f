"""Fill, by one kernel object whose arguments are set before it is queued, as in OpenCL."""

import threading
from functools import partial

from ep_queued_device.device import check_stream, kQueued
from ep_queued_device.memory import Buffer

from ep import DataType
from ep.common.buffer_checks import check_dtype, check_size
from ep.common.checks import as_size
from ep.common.scalar import convert_value
from ep.include.errors import ArgumentTypeError
from ep.include.primitive import Fill, FillFactory, Key, implements


def fill(elements, value):
    elements[...] = value


class Kernel:
    """A function and the arguments of its next launch."""

    def __init__(self, function, num_arguments):
        self.function, self.arguments, self.lock = function, [None] * num_arguments, threading.Lock()

    def set_argument(self, position, argument):
        self.arguments[position] = argument

    def queue(self, stream):
        stream.queue(partial(self.function, *self.arguments))


@implements(FillFactory, on=kQueued, keys={Key(None, (each,)) for each in (DataType.kFloat, DataType.kInt32)})
class QueuedFill(Fill):
    kernel = Kernel(fill, 2)

    def Launch(self, stream, dst, value, count):
        (data_type,) = self.request.dtypes
        check_stream(stream)
        if not isinstance(dst, Buffer):
            raise ArgumentTypeError("dst", f"must be a buffer of the queued device, not {dst!r}")
        number, count = convert_value(value, data_type, "value"), as_size(count, "count")
        check_dtype("dst", dst.dtype, data_type)
        check_size("dst", dst.size, count)
        elements = dst.elements("dst")[:count]
        with self.kernel.lock:
            self.kernel.set_argument(0, elements)
            self.kernel.set_argument(1, number)
            self.kernel.queue(stream)
