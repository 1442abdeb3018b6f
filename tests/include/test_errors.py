"""Errors that have the name of the argument that they are about."""

import copy
import pickle
import traceback

import pytest

import ep
from ep.include.errors import (
    Argument,
    ArgumentError,
    ArgumentIndexError,
    ArgumentTypeError,
    ArgumentValueError,
    LackingError,
    UnsupportedPrimitiveError,
)

KINDS = {ArgumentTypeError: TypeError, ArgumentValueError: ValueError, ArgumentIndexError: IndexError}


def overlap(kind=ArgumentValueError):
    return kind("dst[1]", "overlaps", Argument("src"), "in boxes of", (2, 3), "with dst and src")


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_caught_as_what_they_derive_from(kind):
    for base in (KINDS[kind], ep.ArgumentError):
        with pytest.raises(base, match=r"^dst\[1\] overlaps src in boxes of \(2, 3\) with dst and src$") as raised:
            raise overlap(kind)
        assert raised.value.argument == "dst[1]"
        assert raised.value.argument.whole == "dst"


def test_names_of_arguments_alone_are_replaced():
    error = overlap()
    error.rename({"dst": "out", "src": "x.T", "boxes": "crates", "1": "2"})
    assert str(error) == "out[1] overlaps x.T in boxes of (2, 3) with dst and src"
    assert error.argument == "out[1]"
    error.rename({"x": "y"})
    assert str(error) == "out[1] overlaps y.T in boxes of (2, 3) with dst and src"
    error.rename({})
    assert error.argument == "out[1]"


@pytest.mark.parametrize(
    ("name", "renamed"),
    [
        ("a", "x1"),
        ("a[0]", "x1[0]"),
        ("a.flat[3]", "x1.flat[3]"),
        ("a[:-2].T", "x1[:-2].T"),
        ("a_dims[:-2]", "x1.shape[:-2]"),
        ("b", "b"),
        ("b.a", "b.a"),
        ("aa", "aa"),
        ("", ""),
    ],
)
def test_parts_of_an_argument(name, renamed):
    assert Argument(name).renamed({"a": "x1", "a_dims": "x1.shape"}) == renamed


COPIES = [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))]


@pytest.mark.parametrize("other", COPIES)
@pytest.mark.parametrize("kind", KINDS)
def test_copies_know_it_too(kind, other):
    error = overlap(kind)
    error.rename({"dst": "out"})
    error.add_note("a note")
    again = other(error)
    assert type(again) is kind
    assert (str(again), again.args, again.__notes__) == (str(error), error.args, ["a note"])
    again.rename({"out": "y", "src": "x"})
    assert str(again).startswith("y[1] overlaps x in")
    assert str(error).startswith("out[1] overlaps src in")


@pytest.mark.parametrize("other", COPIES)
def test_copies_know_what_a_device_lacks(other):
    step = LackingError("npu", ["no exp", UnsupportedPrimitiveError(lambda: "no relu")])
    again = other(LackingError("npu", ["no relu", "no tanh", step, "no relu"]))
    assert again.reasons == ["no relu", "no tanh", "no exp"]
    head = 'npu lacks kernels; with otherwise="cpu", the CPU computes what needs them:'
    assert str(again) == f"{head}\n  no relu\n  no tanh\n  no exp"


@pytest.mark.parametrize("other", [*COPIES, lambda error: error])
def test_a_message_that_is_found_when_it_is_read(other):
    asked = []
    error = UnsupportedPrimitiveError(lambda: asked.append(1) or "no relu")
    assert not asked
    found = other(error)
    assert (str(found), repr(found)) == ("no relu", "UnsupportedPrimitiveError('no relu')")
    assert asked == [1]


def test_values_are_written_as_print_writes_them():
    assert str(ArgumentTypeError("axis", "is", 1.0, "or", None)) == "axis is 1.0 or None"
    with pytest.raises(TypeError, match="word"):
        ArgumentValueError("axis is 3; it must be 0")  # the name of the argument must be separate from the message


def test_one_traceback_has_the_name_that_the_caller_knows():
    def launch():
        raise ArgumentValueError("src", "is read-only")

    def operator():
        try:
            launch()
        except ArgumentError as error:
            error.rename({"src": "x"})
            raise

    with pytest.raises(ArgumentError) as raised:
        operator()
    text = "".join(traceback.format_exception(raised.value))
    assert text.endswith("ep.include.errors.ArgumentValueError: x is read-only\n")
    assert text.count("Traceback") == 1
