"""Errors of a single rank: every rank raises the error with the rank, the class and the message, and all ranks
continue.
"""

from contextlib import nullcontext
from unittest.mock import patch

import numpy as np
import pytest

import ep.ops
from ep.common.arrays.host import HostArrays
from ep.include.errors import Argument, ArgumentTypeError, ArgumentValueError
from ep.mesh import Placement, RankError, from_whole, to_global
from ep.mesh.world import world


class WithTwo(Exception):
    """An error that cannot be made from a text."""

    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


class Silent(ValueError):
    """An error whose text cannot be obtained."""

    def __str__(self):
        raise KeyError("no text")


def of_a_function():
    """Return an error whose class has no name by which other processes can import it."""

    class Local(LookupError):
        pass

    return Local("not there")


ERRORS = {
    "ValueError": (ValueError("7 is odd"), ValueError, "7 is odd"),
    "without a text": (MemoryError(), MemoryError, "MemoryError"),
    "KeyError": (KeyError('it\'s "x"'), LookupError, "KeyError: "),
    "FileNotFoundError": (FileNotFoundError(2, "No such file", "x.npy"), FileNotFoundError, "No such file: 'x.npy'"),
    "of NumPy": (np.exceptions.AxisError(3, 2), np.exceptions.AxisError, "axis 3 is out of bounds"),
    "of two arguments": (np._core._exceptions._ArrayMemoryError((9, 8), np.dtype("f4")), MemoryError, "shape (9, 8)"),
    "of five arguments": (
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
        UnicodeError,
        "UnicodeDecodeError: 'utf-8'",
    ),
    "of an argument": (
        ArgumentValueError("out", "overlaps", Argument("x")),
        ArgumentValueError,
        "out overlaps x (on rank",
    ),
    "of our own": (WithTwo(1, 2), RankError, "WithTwo: 1 and 2"),
    "of a function": (of_a_function(), LookupError, "of_a_function.<locals>.Local: not there"),
    "that holds what is not pickled": (ValueError(lambda: 0), ValueError, "<function <lambda>"),
    "a group": (
        ExceptionGroup("several", [ValueError("1"), TypeError("2")]),
        RankError,
        "ExceptionGroup: several (2 sub",
    ),
    "whose text is missing": (Silent(), ValueError, "its text is missing, for __str__ raises KeyError"),
    "sys.exit": (SystemExit(3), RankError, "SystemExit: 3"),
    "an interrupt": (KeyboardInterrupt(), RankError, "KeyboardInterrupt"),
}


def last():
    """Return the last rank."""
    return world().size - 1


def without_memory(*ranks):
    """Return a context in which some ranks have no memory for arrays of results, in first calls: compiled code does
    later ones, so each check has sizes of its own."""

    def refuse(*_):
        raise MemoryError("cannot have it")

    if world().rank not in ranks:
        return nullcontext()
    return patch.multiple(HostArrays, destination=refuse, empty=refuse)


def raising(error, rank):
    def function():
        if world().rank == rank:
            raise error
        return world().rank

    return function


def check_every_class_is_told():
    """The rank itself raises its own error; other ranks raise the same class, or the nearest that a text can make."""
    for error, kind, words in ERRORS.values():
        for rank in {0, last()}:
            with pytest.raises(type(error) if world().rank == rank else kind) as raised:
                world().on_all(raising(error, rank), "the check")
            if world().rank == rank:
                assert raised.value is error
            else:
                assert type(raised.value) is kind, repr(error)
                assert words in str(raised.value)
                assert f"(on rank {rank})" in str(raised.value)
            assert world().from_all(lambda: world().rank, "after it") == list(range(world().size))


def check_that_arguments_are_told():
    """Code that passes the error on can replace the names of arguments, on every rank."""
    for rank in {0, last()}:
        error = ArgumentTypeError("src", "has dtype float16;", Argument("dst"), "has float32")
        with pytest.raises(ArgumentTypeError) as raised:
            world().on_all(raising(error, rank), "the check")
        raised.value.rename({"src": "x", "dst": "out"})
        assert raised.value.argument == "x"
        assert str(raised.value).startswith("x has dtype float16; out has float32")


def check_the_first_of_several_errors():
    """Each rank raises the first error, or its own if that has the same class."""
    words = r"rank 1. \(on rank 1\)$" if world().rank == 0 else f"rank {world().rank}.$"
    with pytest.raises(ValueError, match=words):
        world().on_all(lambda: int(f"rank {world().rank}") if world().rank else 0, "the check")

    def differ():
        raise KeyError("later") if world().rank else TypeError("first")

    with pytest.raises(TypeError, match="first"):
        world().on_all(differ, "the check")


def check_what_cannot_be_sent():
    """It is reported like any error, as objects are pickled before the ranks synchronise."""
    with pytest.raises(Exception, match="lambda") as raised:
        world().from_all(lambda: (lambda: 0) if world().rank == last() else 0, "the check")
    assert ("(on rank" in str(raised.value)) == (world().rank != last())
    assert world().from_all(lambda: 1, "after it") == [1] * world().size


class NoArray:
    """An object that cannot be converted to an array."""

    def __array__(self, *_, **__):
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no text")


def check_an_array_that_one_rank_cannot_read():
    given = NoArray() if world().rank == last() else np.zeros(3)
    with pytest.raises(ValueError, match="no text"):
        to_global(given, Placement(world().size), "B")


def check_memory_that_one_rank_does_not_have():
    """A rank lacks memory while the placement of a tensor changes: all ranks raise the error at once."""
    placement = Placement(world().size)
    tensor = from_whole(np.arange(12.0), placement, "S(0)")
    with without_memory(last()), pytest.raises(MemoryError, match="cannot have it"):
        tensor.to("B")
    assert np.array_equal(tensor.numpy(), np.arange(12.0))


def check_what_fails_between_exchanges():
    """The other ranks raise the error at their next synchronisation, for which the failed rank waits; then all are in
    step again.
    """
    placement = Placement(world().size)
    x = from_whole(np.arange(173.0), placement, "S(0)")

    def compute():
        ep.ops.relu(x)  # nothing is exchanged here, so the other ranks do not know of the error
        x.numpy()

    with without_memory(last()), pytest.raises(MemoryError, match="cannot have it"):
        compute()
    assert np.array_equal(x.numpy(), np.arange(173.0))


def check_what_fails_on_all_alike():
    """Each rank raises its own error."""
    placement = Placement(world().size)
    x = from_whole(np.arange(101.0), placement, "S(0)")
    with without_memory(*range(world().size)), pytest.raises(MemoryError, match=r"cannot have it$"):
        ep.ops.relu(x)
    assert np.array_equal(x.numpy(), np.arange(101.0))


def check_ranks_that_are_not_in_step():
    x = from_whole(np.arange(12.0), Placement(world().size), "S(0)")
    words = r"the ranks are not in step: rank 0 is in to \(12,\): P to B, rank.* 1.* in numpy \(12,\): S\(0\) to B"
    with pytest.raises(RankError, match=words):
        x.to("P").to("B") if world().rank == 0 else x.numpy()
    assert np.array_equal(x.numpy(), np.arange(12.0))
