"""Values that are made when they are first asked for: attributes, items of tables, and what a process has once."""

import threading

import pytest

from ep.common.lazy import LazyTable, lazy, once
from tests.threads import Crossing, run_together


def test_an_attribute_is_computed_once():
    class Box:
        computed = 0

        @lazy
        def value(self):
            """The value."""
            self.computed += 1
            return self.computed

    box = Box()
    assert Box.value.__doc__ == "The value."
    assert box.computed == 0
    assert (box.value, box.value, Box().value) == (1, 1, 1)


def test_threads_that_compute_an_attribute_at_once_get_the_same_value():
    class Box:
        @lazy
        def value(self):
            return [all_compute.wait()]

    box, found, all_compute = Box(), [], threading.Barrier(3, timeout=60)
    run_together(lambda: found.append(box.value), [()] * 3)
    assert len(found) == 3
    assert all(one is box.value for one in found)


def test_one_thread_makes_what_is_made_once():
    crossing, found = Crossing(3), []

    @once
    def made(name):
        """Make it."""
        crossing.wait()
        return [name]

    run_together(lambda: found.append(made("name")), [()] * 3)
    assert crossing.arrived == 1
    assert len(found) == 3
    assert all(one is made("name") for one in found)
    assert made("other") == ["other"]
    assert made.__doc__ == "Make it."


def test_an_error_is_not_kept():
    causes = ["not yet"]

    @once
    def made():
        if causes:
            raise ValueError(causes.pop())
        return "made"

    with pytest.raises(ValueError, match="not yet"):
        made()
    assert made() == "made"


def test_a_value_of_a_table_is_made_when_it_is_looked_up():
    made, table = [], LazyTable()
    for name in ("late", "later"):
        table.add(name, lambda name=name: made.append(name) or [name])
    table["now"] = ["now"]
    assert list(table) == ["late", "later", "now"]
    assert len(table) == 3
    assert "late" in table
    assert "now" in table
    assert "never" not in table
    assert not made
    assert table["late"] is table["late"]
    assert (table["late"], table["now"], made) == (["late"], ["now"], ["late"])
    table["later"] = value = ["replaced"]
    assert table["later"] is value
    assert (dict(table), made) == ({"late": ["late"], "later": value, "now": ["now"]}, ["late"])
    with pytest.raises(KeyError, match=r"^'never'$") as raised:
        table["never"]
    assert raised.value.__context__ is None


def test_threads_that_make_one_at_once_get_the_same_value():
    table, found, all_make = LazyTable(), [], threading.Barrier(3, timeout=60)
    table.add("value", lambda: [all_make.wait()])
    run_together(lambda: found.append(table["value"]), [()] * 3)
    assert len(found) == 3
    assert all(one is table["value"] for one in found)
