"""The compiled search among the launches that a primitive remembers, by the arguments of Launch."""

from __future__ import annotations

from ep.common.native.equality import are_equal
from ep.common.native.object_layout import TUPLE_ITEMS, TUPLE_LENGTH, TYPE
from ep.common.native.python_calls import add_reference, clear_error, drop_reference, look_up, new_tuple
from ep.common.native.words import load_word, store_word
from ep.cpu.compile.jit import jit
from ep.cpu.engine.form import FORM
from ep.cpu.engine.launchable import KEPT, RECENT
from ep.cpu.shared.state import STATE


@jit
def _key(args, form, key, state):
    """Return an argument that is a key; for an array, return the type ndarray instead."""
    given, ndarray_type = load_word(args, load_word(form, FORM.keys + key)), load_word(state, STATE.ndarray_type)
    return ndarray_type if load_word(given + TYPE, 0) == ndarray_type else given


@jit
def _has_keys(kept, state, form, args):
    """Return whether a remembered tuple has the keys of a launch."""
    float_type, tuple_type = load_word(state, STATE.float_type), load_word(state, STATE.tuple_type)
    int_type = load_word(state, STATE.int_type)
    for key in range(load_word(form, FORM.num_keys)):
        given, of_kept = _key(args, form, key, state), load_word(kept + TUPLE_ITEMS, key)
        if not are_equal(given, of_kept, float_type, tuple_type, int_type):
            return False
    return True


@jit
def _recent(primitive, state, form, args):
    """Return the recent tuple that has the keys of a launch, after moving it to the front; 0 if there is none."""
    recent = load_word(primitive + RECENT, 0)
    if recent == 0:
        return 0
    for position in range(load_word(recent + TUPLE_LENGTH, 0)):
        kept = load_word(recent + TUPLE_ITEMS, position)
        if _has_keys(kept, state, form, args):
            store_word(recent + TUPLE_ITEMS, position, load_word(recent + TUPLE_ITEMS, 0))
            store_word(recent + TUPLE_ITEMS, 0, kept)
            return kept
    return 0


@jit
def _put_first(primitive, kept):
    """Put a tuple at the front of the recent ones, in place of the last one."""
    recent = load_word(primitive + RECENT, 0)
    last = load_word(recent + TUPLE_LENGTH, 0) - 1 if recent != 0 else -1
    if last >= 0:
        add_reference(kept)
        gone = load_word(recent + TUPLE_ITEMS, last)
        store_word(recent + TUPLE_ITEMS, last, load_word(recent + TUPLE_ITEMS, 0))
        store_word(recent + TUPLE_ITEMS, 0, kept)
        drop_reference(gone)


@jit
def find_kept(primitive, state, form, args):
    """Return the remembered tuple that has the keys of a launch, as a new reference; 0 if there is none."""
    kept = _recent(primitive, state, form, args)
    if kept != 0:
        add_reference(kept)  # other threads may launch meanwhile and replace the recent tuples
        return kept
    cache, num_keys = load_word(primitive + KEPT, 0), load_word(form, FORM.num_keys)
    if cache == 0:
        return 0
    keys = new_tuple(num_keys)
    if keys == 0:
        clear_error()
        return 0
    for key in range(num_keys):
        given = _key(args, form, key, state)
        add_reference(given)
        store_word(keys + TUPLE_ITEMS, key, given)
    add_reference(cache)  # hashing and comparing may run any code
    kept = look_up(cache, keys)
    if kept == 0:
        clear_error()  # an unhashable key
    else:
        add_reference(kept)
    drop_reference(cache)
    drop_reference(keys)
    if kept == 0:
        return 0
    if not _has_keys(kept, state, form, args):  # 1.0 and True equal 1, and so find its tuple
        drop_reference(kept)
        return 0
    _put_first(primitive, kept)
    return kept
