"""What a device is asked to do during a call, beside what `explain` says: bytes that are copied, and launches."""

import re
from contextlib import ExitStack, contextmanager
from functools import wraps
from types import SimpleNamespace
from unittest.mock import patch

from ep.common.arrays.on_device import arrays_on
from ep.include import DeviceType
from ep.include.primitive import Primitive


@contextmanager
def counting(tag):
    """Yield the bytes copied to the host and from it by operators, and the number of launches, of a device type.

    Copies by which a device checks indices are its own: they are not counted.
    """
    counts, arrays = SimpleNamespace(to_host=0, from_host=0, launches=0), type(arrays_on(DeviceType.FromTag(tag)))

    def copy_to_host(self, array):
        before = counts.to_host
        found = of_arrays["copy_to_host"](self, array)  # this may call begin_copy_to_host
        counts.to_host = before + found.nbytes
        return found

    def begin_copy_to_host(self, array):
        before = counts.to_host
        wait = of_arrays["begin_copy_to_host"](self, array)  # by default, this calls copy_to_host

        def waited():
            found = wait()
            counts.to_host += found.nbytes
            return found

        counts.to_host = before
        return waited

    def copy_from_host(self, array):
        counts.from_host += array.nbytes
        return of_arrays["copy_from_host"](self, array)

    def resolved(self, *args):
        before = counts.to_host, counts.from_host
        found = of_arrays["resolved"](self, *args)
        counts.to_host, counts.from_host = before
        return found

    def noting(launch):
        @wraps(launch)
        def Launch(self, *args, **kwargs):
            counts.launches += 1
            return launch(self, *args, **kwargs)

        return Launch

    replaced = copy_to_host, begin_copy_to_host, copy_from_host, resolved
    of_arrays = {one.__name__: getattr(arrays, one.__name__) for one in replaced}
    with ExitStack() as stack:
        for one in replaced:
            stack.enter_context(patch.object(arrays, one.__name__, one))
        for one in _subclasses(Primitive):
            if one.__module__.startswith((f"ep_{tag}_device", "ep.common.structured")) and not one.__subclasses__():
                stack.enter_context(patch.object(one, "Launch", noting(one.Launch)))
        yield counts


def said(text, tag):
    """Return the same counts by the explanation of a plan between a device of a type and the host."""
    steps = re.findall(r"^\d+: (.*?)(?:; reads (\d+) bytes, writes (\d+))$", text, re.MULTILINE)
    assert len(steps) == len(re.findall(r"^\d+: ", text, re.MULTILINE))
    counts = SimpleNamespace(to_host=0, from_host=0, launches=0)
    for what, read, written in steps:
        if what == "copy to the host":
            counts.to_host += int(read)
        elif what == f"copy to {tag}:0":
            counts.from_host += int(written)
        elif what != "computed on the host" and not what.startswith("view of "):
            counts.launches += 1
    return counts


def _subclasses(kind):
    return {kind}.union(*map(_subclasses, kind.__subclasses__()))
