"""Functions that have one compiled function because they are equal, and those that have their own."""

import pytest

from ep.common.deferred import Deferred


class Compiled:
    def __init__(self, function):
        self.function = function


def deferred(function):
    return Deferred(function, Compiled)


def compiled(function):
    return deferred(function).compiled


def adder(number, more=0):
    def add(x, also=more, *, last=more):
        return x + number + also + last

    return add


def alike(value):
    """Return two functions that refer to `value`, and are equal if it is comparable."""
    return adder(value), adder(value)


def text(value):
    """Return a value as text that every process has: pytest-xdist compares the names of tests."""
    return type(value).__name__ if "0x" in repr(value) else repr(value)


@pytest.mark.parametrize("value", [7, "a", (1, (2.5, b"b")), None, int, adder, object()], ids=text)
def test_equal_functions_are_compiled_once(value):
    one, other = map(compiled, alike(value))
    assert one is other
    one, other = compiled(adder(0, value)), compiled(adder(0, value))
    assert one is other


def test_functions_that_functions_made_are_compared_by_what_they_are():
    one, other = compiled(adder(adder((2, 3)))), compiled(adder(adder((2, 3))))
    assert one is other
    assert compiled(adder(adder((2, 4)))) is not one


def test_functions_of_the_compiler_are_equal_if_what_they_are_made_of_is():
    one, other = (compiled(adder(deferred(adder((5, 6))))) for _ in range(2))
    assert one is other
    assert compiled(adder(deferred(adder((5, 7))))) is not one


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, True), (1, 1.0), (0.0, -0.0), (1, 2), ((1,), (1.0,)), ((1,), 1), (object(), object())],
    ids=text,
)
def test_functions_with_other_values_have_their_own(one, other):
    assert compiled(adder(one)) is not compiled(adder(other))
    assert compiled(adder(3, one)) is not compiled(adder(3, other))


@pytest.mark.parametrize("changing", [[1], {1: 2}, {3}, bytearray(b"4")], ids=repr)
def test_what_may_change_is_equal_to_nothing(changing):
    for value in (changing, (changing,), adder(changing)):
        one, other = map(compiled, alike(value))
        assert one is not other


def test_code_globals_and_the_compiler_count():
    def made(text, **names):
        exec(f"def outer():\n    return lambda x: {text}", names)
        return names["outer"]()

    first = compiled(made("x + number", number=1))
    assert compiled(made("x + number", number=1)) is first
    assert compiled(made("x + number", number=2)) is not first
    assert compiled(made("x - number", number=1)) is not first
    assert compiled(made("x + number")) is not first
    others = type("Others", (Compiled,), {})
    assert Deferred(made("x + number", number=1), others).compiled is not first


def test_a_function_that_refers_to_what_is_not_defined_yet():
    def make():
        f = compiled(lambda x: g(x))
        g = None
        return f, g

    assert make()[0] is not make()[0]


def test_a_function_that_refers_to_itself():
    def plain():
        return lambda: plain

    def make(wrap):
        f = wrap(lambda x: f(x - 1) if x else 0)
        return f

    assert compiled(make(lambda f: f)) is not compiled(make(lambda f: f))
    one, other = make(deferred), make(deferred)
    assert one.compiled is not other.compiled
    assert one.compiled is one.compiled
