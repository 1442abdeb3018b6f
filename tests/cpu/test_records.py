"""Records: memory with named fields that Python and compiled code share."""

import numpy as np
import pytest

from ep.common.native.fields import (
    Float64,
    Int32,
    Int64,
    address,
    addresses,
    c_int,
    local,
    pointer,
    reals,
    record,
    records,
    word,
    words,
)
from ep.common.native.record import Record, Words, addresses_in, extended
from ep.cpu.compile.jit import jit


class Point(Record):
    data = address()
    count = word()


class Walk(Record):
    first = local()
    points = records(Point, 3)
    dims = words(4)
    scales = reals(2)
    last = pointer(Point)
    one = record(Point)


class LongWalk(Walk):
    more = addresses(2)


def test_fields_follow_one_another_those_of_the_base_first():
    assert LongWalk.field_names == ("first", "points", "dims", "scales", "last", "one", "more")
    places = [getattr(LongWalk, name) for name in LongWalk.field_names]
    assert places == [0, 1, 7, 11, 13, 14, 16]
    assert (Walk.num_words, LongWalk.num_words) == (16, 18)
    assert [*Walk.addresses] == [1, 3, 5, 13, 14]
    assert [*LongWalk.addresses] == [1, 3, 5, 13, 14, 16, 17]
    assert [*LongWalk.local] == [0]
    assert addresses_in(Point, Walk, 2) == [
        0,
        *(2 + place for place in Walk.addresses),
        *(18 + place for place in Walk.addresses),
    ]


def test_a_record_is_made_by_its_fields():
    made = LongWalk(first=3, dims=(5, 7), scales=(0.5, -2.0), more=[11, 13])
    expected = np.zeros(18, np.int64)
    expected[[0, 7, 8, 16, 17]] = 3, 5, 7, 11, 13
    expected[11:13] = np.array([0.5, -2.0]).view(np.int64)
    assert made.words.tolist() == expected.tolist()
    assert made.address == made.words.ctypes.data
    assert any(one is made for one in Words.all())
    with pytest.raises(AttributeError, match="third"):
        Point(third=1)


def test_an_extended_class_has_more_fields_and_another_name():
    one, other = extended(Walk, more=words(2)), extended(Walk, more=words(3))
    assert (one.more, one.num_words, other.num_words) == (16, 18, 19)
    assert one.__qualname__ != other.__qualname__


def test_compiled_code_reads_and_writes_fields(compiled):
    @jit
    def total(walk: Walk, number):
        found = 0
        for k in range(number):
            found += walk.dims[k]
        walk.dims[3] += 2
        return found

    def run(walk: LongWalk, number, place):
        point = walk.points[1]
        point.count = number if number > 3 else 5
        walk.scales[1] = walk.scales[0] * 3
        walk.one.count = total(walk, number)
        if walk.last != 0 and walk.last.count == 9:
            walk.last.data = walk.more[1]
        walk.last = walk.points[2]
        walk.last.count = 1 + walk.first
        return total(Walk.at(place), 2) + LongWalk.num_words

    last = Point(count=9)
    walk = LongWalk(first=3, dims=(1, 2, 3, 4), scales=(1.5, 0.0), last=last.address, more=(0, 17))
    other = Walk(dims=(10, 20))
    assert compiled(run)(walk.address, 4, other.address) == 30 + 18
    expected = LongWalk(first=3, dims=(1, 2, 3, 6), scales=(1.5, 4.5), more=(0, 17), one=(0, 10))
    expected.words[Walk.points + Point.num_words + Point.count] = 4
    expected.words[Walk.points + 2 * Point.num_words + Point.count] = 4
    expected.words[Walk.last] = walk.address + 8 * (Walk.points + 2 * Point.num_words)
    assert walk.words.tolist() == expected.words.tolist()
    assert last.words.tolist() == [17, 9]
    assert other.words[Walk.dims :][:4].tolist() == [10, 20, 0, 2]


def test_memory_on_the_stack_and_pointers_to_numbers(compiled):
    @jit
    def fill(places: Int64, count):
        for k in range(count):
            places[k] = k * k

    def run(values: Float64, count):
        places, points = Int64.array_on_stack(7), Point.array_on_stack(3)
        fill(places, 7)
        for k in range(3):
            points[k].data, points[k].count = places[k + 4], k
        walk = Walk.on_stack()
        walk.first = 1000
        for k in range(count):
            values[k] = values[k] / 2
        following = Point.at(points[1])
        return following.data + following[1].data + following[1].count + walk.first + (1 if places == places + 0 else 0)

    values = np.array([3.0, -1.0, 5.0])
    assert compiled(run)(values.ctypes.data, 2) == 25 + 36 + 2 + 1000 + 1
    assert values.tolist() == [1.5, -0.5, 5.0]


def test_a_pointer_to_another_class_or_an_unknown_field_is_refused(compiled):
    @jit
    def count_of(point: Point):
        return point.count

    def of_another_class(walk: Walk):
        return count_of(walk)

    def unknown(point: Point):
        return point.number

    with pytest.raises(Exception, match="a pointer to Walk for one to Point"):
        compiled(of_another_class)
    with pytest.raises(Exception, match="Unknown attribute 'number'"):
        compiled(unknown)


def test_records_and_c_ints_are_not_written(compiled):
    """A word is: a C int has half of it, and a record or several words are written by their parts."""

    class Mixed(Record):
        number = c_int()
        points = records(Point, 2)
        dims = words(3)

    def number(mixed: Mixed, value):
        mixed.number = value
        return 0

    def points(mixed: Mixed, value):
        mixed.points = value
        return 0

    def dims(mixed: Mixed, value):
        mixed.dims = value
        return 0

    for write in (number, points, dims):
        with pytest.raises(Exception, match=f"Mixed.{write.__name__} is no word"):
            compiled(write)

    def item(numbers: Int32, value):
        numbers[0] = value
        return 0

    with pytest.raises(Exception, match="setitem"):
        compiled(item)
