"""The example device of NumPy with a queue: a thread does its work in order, some time after it was launched.

Importing the module changes `ep_numpy_device` in this process.
"""

import queue
import threading
import time
from functools import partial

import numpy as np
from ep_numpy_device import primitives
from ep_numpy_device.device import NumpyDevice

from ep.common.arrays.host import HostArrays
from ep.common.host.arrays import WrappedArray, WrappedArrays
from ep.common.host.device import HostStream


class BrokenError(RuntimeError):
    """Raised for work that is to fail."""


class Queue:
    """Work that a thread does.

    seconds: the time that each piece of work takes. log: what has been queued, and what has been read on the host.
    fails: the kind of what is to fail, and how many of the kind are done before; is_lost: whether all after it fails,
    too. meanwhile: is called before work, with its name.
    """

    def __init__(self):
        self.seconds, self.log, self.meanwhile = 0.0, [], lambda name: None
        self.fails, self.is_lost, self.has_failed = ("", 0), False, False
        self._errors, self._work = [], queue.SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            name, work, done = self._work.get()
            time.sleep(self.seconds)
            try:
                self.meanwhile(name)
                self.check("work")
                work()
            except Exception as error:
                self._errors.append(error)
            done.set()

    def check(self, kind):
        """Raise BrokenError if what is done now is to fail."""
        if self.is_lost and self.has_failed:
            raise BrokenError("the device is lost")
        if kind == self.fails[0]:
            self.fails = kind, self.fails[1] - 1
            if self.fails[1] < 0:
                self.fails, self.has_failed = ("", 0), True
                raise BrokenError(kind)

    def put(self, kind, name, work):
        """Queue work; return the function that waits for it, and raises the errors of work up to it, each once."""
        self.check(kind)
        self.log.append(name)
        done = threading.Event()
        self._work.put((name, work, done))
        return partial(self._wait, done)

    def _wait(self, done):
        self.check("wait")
        assert done.wait(60)
        if self._errors:
            raise self._errors.pop(0)

    def wait(self):
        """Wait for all work."""
        self.put("", "wait", lambda: None)()

    def repair(self):
        """Forget all that is to fail, and all errors."""
        self.fails, self.is_lost, self.has_failed = ("", 0), False, False
        done = threading.Event()
        self._work.put(("wait", lambda: None, done))
        done.wait(60)
        self._errors.clear()
        self.log.clear()


QUEUE = Queue()


class _QueuedStream(HostStream):
    def Sync(self):
        QUEUE.wait()


def _queued(launch):
    def Launch(self, stream, *args, **kwargs):
        name = f"launch {getattr(self.request.op, 'name', type(self).__name__)}"
        QUEUE.put("launch", name, partial(launch, self, stream, *args, **kwargs))

    return Launch


def _nonsense(array):
    """Return memory like that of an array, with bytes that are no results."""
    return np.frombuffer(bytearray(b"\xa5" * array.nbytes), array.dtype).reshape(array.shape)


def _copy_from_host(self, array):
    source, made = array.copy(), _nonsense(array)
    QUEUE.put("copy from host", "copy from host", lambda: np.copyto(made, source))
    return WrappedArray(made, self.device_type)


def _begin_copy_to_host(self, array):
    buffer = self.as_buffer(array, "array")
    made = _nonsense(buffer)
    wait = QUEUE.put("copy to host", "copy to host", lambda: np.copyto(made, buffer))

    def waited():
        wait()
        return made

    return waited


def _resolved(self, indices, size, mode):
    QUEUE.wait()
    return HostArrays.resolved(self, indices, size, mode)


for kind in (primitives.NumpyFill, primitives.NumpyGather, primitives.NumpyExpand, primitives.NumpyUnary):
    kind.Launch = _queued(kind.Launch)
NumpyDevice.CreateStream = lambda self: _QueuedStream(self)
WrappedArrays.copy_from_host, WrappedArrays.begin_copy_to_host = _copy_from_host, _begin_copy_to_host
WrappedArrays.copy_to_host = lambda self, array: self.begin_copy_to_host(array)()
WrappedArrays.resolved = _resolved
