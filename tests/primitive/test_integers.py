"""Integers of launches that are objects with `__index__`: it is called once, and what it raises reaches the caller."""

import numpy as np
import pytest

from ep.common.checks import as_integer
from ep.include import primitive as primitives
from ep.include.primitive import ScanOp, SortOrder, UnaryOp

F = "float32"


class Counted:
    """An integer that counts its conversions; the first one raises `error`, if there is one."""

    def __init__(self, value, error=None):
        self.value, self.error, self.count = value, error, 0

    def __index__(self):
        self.count += 1
        if self.error is not None and self.count == 1:
            raise self.error
        return self.value

    def __eq__(self, other):
        return self.value == other

    def __hash__(self):
        return hash(self.value)


LAUNCHES = {
    "Fill": ([F], ["o", 1.5, 4]),
    "TensorFill": ([F], ["x", "o", 4]),
    "ElementwiseUnary": ([UnaryOp.kRelu, F, F], ["x", "o", 4]),
    "Cast": ([F, F], ["x", "o", 4]),
    "Add": ([F], [("x", "x"), "o", 4]),
    "Memset": ([], ["o", 0, 16]),
    "Gather": ([F, "int64"], [1, 6, 4, "x", 2, "i", "o"]),
    "BatchGather": ([F, "int64"], [2, 1, 3, 4, "x", 1, "i", "o"]),
    "UnsortedSegmentSum": ([F, "int64"], [2, 3, 4, "x", 2, "i", "o"]),
    "BatchScatter": ([primitives.ScatterOp.kAdd, F, "int64"], [2, 1, 3, 4, "x", 1, "i", "o"]),
    "Softmax": ([F], [3, 4, "x", "o"]),
    "ArgSort": ([SortOrder.kAscending, F], [2, 3, 4, 2, "x", "p"]),
    "Scan": ([ScanOp.kSum, F], [2, 3, 4, "x", "o"]),
    "TreeEnsemble": ([primitives.TreeAggregate.kSum, F], [4, 6, 1, 5, 1, "x", "n", "r", "o"]),
    "LogSoftmax": ([F], [3, 4, "x", "o"]),
    "OneHot": (["int64", F], ["i", "o", 1.0, 0.0, 2, 0, 5]),
    "Expand": ([F, 4], [(4, 1), "x", (4, 3), "o"]),
    "Permute": ([2], [F, (4, 3), "x", (1, 0), "o"]),
    "CopyNd": ([2], [F, "o", (4, 6), (0, 1), "x", (3, 5), (1, 0), (2, 2)]),
}
"""What primitives are made of, and a launch of each after the stream: buffers by name, and numbers."""


@pytest.mark.parametrize("name", LAUNCHES)
def test_each_is_converted_once(device, name):
    key, given = LAUNCHES[name]
    primitive = device.require(getattr(primitives, f"{name}Factory"), *key)
    buffers = {
        "x": device.buffer(np.arange(24, dtype=np.float32)),
        "o": device.buffer(np.zeros(64, np.float32)),
        "i": device.buffer(np.array([1, 0, 1], np.int64)),
        "p": device.buffer(np.zeros(64, np.int64)),
        "n": device.buffer(np.zeros(5, np.int32)),
        "r": device.buffer(np.zeros(1, np.int32)),
    }

    def placed(value):
        if type(value) is str and value in buffers:
            return buffers[value]
        return [buffers[one] for one in value] if type(value) is tuple and type(value[0]) is str else value

    arguments = [device.stream, *map(placed, given)]
    numbers = [k for k, value in enumerate(given, 1) if type(value) is int or type(value) is tuple]
    numbers = [k for k in numbers if type(arguments[k]) is not list]
    assert numbers
    for _ in range(3):  # later launches are known
        for k in numbers:
            for error in (None, ZeroDivisionError("mine"), TypeError("mine")):
                changed = [*arguments]
                whole = type(changed[k]) is int
                counted = Counted(changed[k] if whole else changed[k][0], error)
                changed[k] = counted if whole else (counted, *changed[k][1:])
                if error is None:
                    primitive.Launch(*changed)
                else:
                    with pytest.raises(type(error), match=r"^mine$"):
                        primitive.Launch(*changed)
                assert counted.count == 1
        primitive.Launch(*arguments)


def test_columns(device):
    copy = device.require(primitives.CopyNdFactory, 2)
    whole, part = device.buffer(np.arange(12, dtype=np.int32)), device.buffer(np.zeros(4, np.int32))
    for error in (None, ZeroDivisionError("mine")):
        sizes = [Counted(4, error), Counted(3), Counted(1)]
        launch = ["int32", whole, *sizes, [part], True]
        if error is None:
            copy.LaunchColumns(device.stream, *launch)
            assert device.array(part).tolist() == [1, 4, 7, 10]
            assert [one.count for one in sizes] == [1, 1, 1]
        else:
            with pytest.raises(ZeroDivisionError, match="mine"):
                copy.LaunchColumns(device.stream, *launch)
            assert sizes[0].count == 1


def test_what_a_method_raises_is_not_taken_for_another_type():
    error = TypeError("mine")
    with pytest.raises(TypeError, match=r"^mine$"):
        as_integer(Counted(3, error), "count")
    with pytest.raises(TypeError, match="count must be an integer, not"):
        as_integer(3.0, "count")
