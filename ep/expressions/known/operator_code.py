"""The compiled methods of lazy arrays. Each does in a block what an earlier block did at the same path.

Objects are passed as their addresses. A method compares the operator and its operands with the *records* of the path. A
record is a tuple of the objects that the operator recorded. If there is none, the method in Python is called.
"""

from __future__ import annotations

from typing import Final

from ep.common.native.equality import are_equal
from ep.common.native.jit import jit
from ep.common.native.object_layout import (
    DATA,
    FIRST_SLOT,
    FIRST_SLOT_OF_DICT,
    SECOND_SLOT,
    THIRD_SLOT,
    TUPLE_ITEMS,
    TUPLE_LENGTH,
    TYPE,
)
from ep.common.native.python_calls import (
    add_reference,
    call,
    compare,
    drop_reference,
    new_object,
    new_tuple,
    put,
)
from ep.common.native.words import load_word, stack_words, store_word
from ep.expressions.known.layout import (
    AFTER,
    AGAIN,
    ARRAY,
    ELLIPSIS,
    FLOAT,
    INT,
    IS_IN_PLACE,
    IS_REFLECTED,
    KEYS,
    LAZY,
    NAME,
    NODE,
    NONE,
    NUM_OPERANDS,
    NUMBER,
    NUMBER_PLACE,
    POSITION,
    RECORD_NAME,
    SHAPE_OF_NODE,
    TUPLE,
    TYPE_OF_NODE,
    WORDS,
    WRITTEN,
)

_NODE, _TRACE, _VIEW = FIRST_SLOT, SECOND_SLOT, THIRD_SLOT  # of a lazy array: its slots, by their names
GIVEN, PATH = FIRST_SLOT, SECOND_SLOT  # of a trace
RECENT = FIRST_SLOT_OF_DICT  # of a path

_EQUAL: Final = 2  # Py_EQ
DIFFERS: Final = 1
"""The result of a method that has done nothing, instead of an object or 0."""


@jit
def item(values, place):
    return load_word(values + TUPLE_ITEMS, place)


@jit
def replace(slot, value):
    """Write an object to a slot that holds one, or none."""
    before = load_word(slot, 0)
    add_reference(value)
    store_word(slot, 0, value)
    if before != 0:
        drop_reference(before)


@jit
def _fits(node, view):
    """Return whether a value can be assigned to a view that has another one."""
    if node == 0 or view == 0:  # a slot has been deleted
        return False
    if item(node, TYPE_OF_NODE) != item(view, TYPE_OF_NODE):
        return False
    return compare(item(node, SHAPE_OF_NODE), item(view, SHAPE_OF_NODE), _EQUAL) == 1


@jit
def path_of(trace, words):
    """Return the path of the trace of a block that is open, else 0."""
    none = load_word(words, NONE)
    path = 0 if trace in (0, none) else load_word(trace + PATH, 0)
    return 0 if path == none else path


@jit
def _path_at(array, words):
    """Return the path of the block that an array belongs to; 0 if there is none."""
    return path_of(load_word(array + _TRACE, 0), words) if load_word(array + TYPE, 0) == load_word(words, LAZY) else 0


@jit
def _key(operand, trace, words):
    """Return what distinguishes an operand from others: the value of an array of the trace, else the type; or 0."""
    kind = load_word(operand + TYPE, 0)
    if kind != load_word(words, LAZY):
        return kind
    return load_word(operand + _NODE, 0) if load_word(operand + _TRACE, 0) == trace else 0


@jit
def _record(words, path, first, second):
    """Return the record of an operator with these keys of operands; 0 if there is none."""
    recent = load_word(path + RECENT, 0)
    name = load_word(words, NAME)
    for place in range(load_word(recent + TUPLE_LENGTH, 0)):
        record = item(recent, place)
        of = load_word(item(record, WORDS) + DATA, 0)
        if load_word(of, RECORD_NAME) == name and load_word(of, KEYS) == first and load_word(of, KEYS + 1) == second:
            return record
    return 0


@jit
def new_array(words, record, trace, view):
    """Return a lazy array of the value of a record, or 0 with an exception. view: its position, or None."""
    array = new_object(load_word(words, LAZY), 0)
    if array != 0:
        replace(array + _NODE, item(record, NODE))
        replace(array + _TRACE, trace)
        replace(array + _VIEW, view)
    return array


@jit
def _by_python(words, record, first, second):
    """Return the result that the record gives for another number."""
    number = load_word(words, NUM_OPERANDS)
    given = new_tuple(number)
    if given == 0:
        return 0
    add_reference(first)
    store_word(given + TUPLE_ITEMS, 0, first)
    if number == 2:
        add_reference(second)
        store_word(given + TUPLE_ITEMS, 1, second)
    arguments = stack_words(2)
    store_word(arguments, 0, given)
    store_word(arguments, 1, load_word(words, NONE))
    result = call(item(record, AGAIN), arguments, 2, 0)
    drop_reference(given)
    return result


@jit
def _recorded(words, record, trace, first, second):
    """Record an operator again; return the new lazy array, or 0 with an exception."""
    place = load_word(load_word(item(record, WORDS) + DATA, 0), NUMBER_PLACE)
    if place >= 0:
        number = first if place == 0 else second
        kept = item(record, NUMBER)
        if not are_equal(number, kept, load_word(words, FLOAT), load_word(words, TUPLE), load_word(words, INT)):
            return _by_python(words, record, first, second)
        if put(load_word(trace + GIVEN, 0), item(record, POSITION), item(record, ARRAY)) != 0:
            return 0
    replace(trace + PATH, item(record, AFTER))
    return new_array(words, record, trace, load_word(words, NONE))


@jit
def _put_in(array, result):
    """Assign the result of an operator to its first operand, a view; return the view instead of the result."""
    if result == 0:
        return 0
    replace(array + _NODE, load_word(result + _NODE, 0))
    drop_reference(result)
    add_reference(array)
    return array


@jit
def _known(words, args):
    """Return the result of an operator, 0 with an exception, or DIFFERS."""
    array = load_word(args, 0)
    path = _path_at(array, words)
    if path == 0:
        return DIFFERS
    trace, first, second = load_word(array + _TRACE, 0), array, 0
    if load_word(words, NUM_OPERANDS) == 2:
        second = load_word(args, 1)
        if load_word(words, IS_REFLECTED) != 0:
            first, second = second, first
    key = 0 if second == 0 else _key(second, trace, words)
    record = _record(words, path, _key(first, trace, words), key)
    if record == 0:
        return DIFFERS
    none = load_word(words, NONE)
    is_assigned = load_word(words, IS_IN_PLACE) != 0 and load_word(array + _VIEW, 0) != none
    if is_assigned and not _fits(item(record, NODE), load_word(array + _NODE, 0)):
        return DIFFERS
    add_reference(record)  # Python may run below, and replace the records
    result = _recorded(words, record, trace, first, second)
    drop_reference(record)
    return _put_in(array, result) if is_assigned else result


@jit
def _assigned(words, args):
    """Assign an array to a view; return whether this has been done."""
    array, value, none = load_word(args, 0), load_word(args, 2), load_word(words, NONE)
    if load_word(args, 1) != load_word(words, ELLIPSIS) or _path_at(array, words) == 0:
        return False
    if load_word(value + TYPE, 0) != load_word(words, LAZY) or load_word(array + _VIEW, 0) == none:
        return False
    if load_word(value + _TRACE, 0) != load_word(array + _TRACE, 0):
        return False
    node = load_word(value + _NODE, 0)
    if not _fits(node, load_word(array + _NODE, 0)):
        return False
    replace(array + _NODE, node)
    return True


def operate(to, args, num_args, names):
    """Do an operator: the method's arguments are the operands. to: its words, an array."""
    words = load_word(to + DATA, 0)
    if names == 0 and num_args == load_word(words, NUM_OPERANDS):
        result = _known(words, args)
        if result != DIFFERS:
            return result
    return call(load_word(words, WRITTEN), args, num_args, names)


def assign(to, args, num_args, names):
    """Assign to a view: the arguments of `__setitem__`. to: the method's words, an array."""
    words = load_word(to + DATA, 0)
    if names == 0 and num_args == 3 and _assigned(words, args):
        none = load_word(words, NONE)
        add_reference(none)
        return none
    return call(load_word(words, WRITTEN), args, num_args, names)
