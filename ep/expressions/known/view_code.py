"""The compiled method of blocks that makes views, as `operator_code.py` does operators."""

from __future__ import annotations

from ep.common.native.jit import jit
from ep.common.native.object_layout import (
    C_CONTIGUOUS,
    DATA,
    DIMS,
    DTYPE,
    FIRST_SLOT,
    FLAGS,
    NUM_DIMS,
    SECOND_SLOT,
    THIRD_SLOT,
    TUPLE_ITEMS,
    TUPLE_LENGTH,
    TYPE,
)
from ep.common.native.python_calls import add_reference, append, call, drop_reference, new_tuple, put
from ep.common.native.words import load_int, load_word, store_word
from ep.expressions.known.layout import (
    AFTER,
    BLOCK,
    MOST_VIEWS,
    NAME,
    NDARRAY,
    NONE,
    NUM_BYTES,
    NUM_VIEWED_DIMS,
    POSITION,
    RECORD_NAME,
    VIEWED_DIMS,
    VIEWED_DTYPE,
    WORDS,
    WRITTEN,
)
from ep.expressions.known.operator_code import DIFFERS, GIVEN, PATH, RECENT, item, new_array, path_of, replace

_RANGES, _TRACE, _VIEWS = FIRST_SLOT, SECOND_SLOT, THIRD_SLOT  # of a block: its slots, by their names


@jit
def _record_of_view(words, path, array):
    """Return the record of a view of an array like this one; 0 if there is none."""
    recent, dims = load_word(path + RECENT, 0), load_word(array + DIMS, 0)
    for place in range(load_word(recent + TUPLE_LENGTH, 0)):
        record = item(recent, place)
        of = load_word(item(record, WORDS) + DATA, 0)
        if load_word(of, RECORD_NAME) != load_word(words, NAME) or load_word(of, VIEWED_DTYPE) != load_word(
            array + DTYPE, 0
        ):
            continue
        num_dims, same = load_word(of, NUM_VIEWED_DIMS), 0
        if load_int(array + NUM_DIMS) == num_dims:
            while same < num_dims and load_word(dims, same) == load_word(of, VIEWED_DIMS + same):
                same += 1
            if same == num_dims:
                return record
    return 0


@jit
def _is_apart(ranges, begin, end):
    """Return whether memory overlaps that of no earlier view, and can be added to it.

    ranges: the number of views, and the begin and end of each in memory.
    """
    number = load_word(ranges, 0)
    if number < 0 or number >= MOST_VIEWS:
        return False
    for place in range(number):
        if begin < load_word(ranges, 2 + 2 * place) and load_word(ranges, 1 + 2 * place) < end:
            return False
    return True


@jit
def _add_view(words, record, block, array):
    """Make a view and add it to those of a block; return it, or 0 with an exception."""
    trace, position = load_word(block + _TRACE, 0), item(record, POSITION)
    if put(load_word(trace + GIVEN, 0), position, array) != 0:
        return 0
    made = new_array(words, record, trace, position)
    if made == 0:
        return 0
    view = new_tuple(3)
    if view == 0:
        drop_reference(made)
        return 0
    for place in range(3):
        one = made if place == 2 else array
        add_reference(one)
        store_word(view + TUPLE_ITEMS, place, one)
    added = append(load_word(block + _VIEWS, 0), view)
    drop_reference(view)
    if added != 0:
        drop_reference(made)
        return 0
    replace(trace + PATH, item(record, AFTER))
    return made


@jit
def _viewed(words, block, array):
    """Return a view, 0 with an exception, or DIFFERS."""
    if load_word(block + TYPE, 0) != load_word(words, BLOCK) or load_word(array + TYPE, 0) != load_word(words, NDARRAY):
        return DIFFERS
    ranges, path = load_word(block + _RANGES, 0), path_of(load_word(block + _TRACE, 0), words)
    if ranges in (0, load_word(words, NONE)) or path == 0 or load_int(array + FLAGS) & C_CONTIGUOUS == 0:
        return DIFFERS
    record = _record_of_view(words, path, array)
    if record == 0:
        return DIFFERS
    num_bytes = load_word(load_word(item(record, WORDS) + DATA, 0), NUM_BYTES)
    begin = load_word(array + DATA, 0)
    if not _is_apart(load_word(ranges + DATA, 0), begin, begin + num_bytes):
        return DIFFERS
    add_reference(record)  # allocation may run Python, which may replace the records
    made = _add_view(words, record, block, array)
    drop_reference(record)
    if made != 0:
        known = load_word(ranges + DATA, 0)
        number = load_word(known, 0)
        store_word(known, 1 + 2 * number, begin)
        store_word(known, 2 + 2 * number, begin + num_bytes)
        store_word(known, 0, number + 1)
    return made


def view(to, args, num_args, names):
    """Make a view: the arguments of `Block.view`. to: the method's words, an array."""
    words = load_word(to + DATA, 0)
    if names == 0 and num_args == 2:
        made = _viewed(words, load_word(args, 0), load_word(args, 1))
        if made != DIFFERS:
            return made
    return call(load_word(words, WRITTEN), args, num_args, names)
