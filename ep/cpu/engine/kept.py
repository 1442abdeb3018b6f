"""The compiled search among the launches that a primitive remembers, by the arguments of Launch."""

from __future__ import annotations

from ep.common.native.equality import are_equal
from ep.common.native.fields import Int64
from ep.common.native.objects import Object, TupleObject
from ep.common.native.python_calls import add_reference, clear_error, drop_reference, look_up, new_tuple
from ep.cpu.compile.jit import jit
from ep.cpu.engine.form import CheckForm
from ep.cpu.engine.launchable import LaunchableObject
from ep.cpu.shared.state import State


@jit
def _key(args: Int64, form: CheckForm, key: int, state: State) -> int:
    """Return an argument that is a key; for an array, return the type ndarray instead."""
    given, ndarray_type = args[form.keys[key]], state.ndarray_type
    return ndarray_type if Object.at(given).type == ndarray_type else given


@jit
def _has_keys(kept: TupleObject, state: State, form: CheckForm, args: Int64) -> bool:
    """Return whether a remembered tuple has the keys of a launch."""
    float_type, tuple_type, int_type = state.float_type, state.tuple_type, state.int_type
    for key in range(form.num_keys):
        given, of_kept = _key(args, form, key, state), kept.items[key]
        if not are_equal(given, of_kept, float_type, tuple_type, int_type):
            return False
    return True


@jit
def _recent(primitive: LaunchableObject, state: State, form: CheckForm, args: Int64) -> int:
    """Return the recent tuple that has the keys of a launch, after moving it to the front; 0 if there is none."""
    recent = primitive.recent
    if recent == 0:
        return 0
    for position in range(recent.length):
        kept = recent.items[position]
        if _has_keys(TupleObject.at(kept), state, form, args):
            recent.items[position] = recent.items[0]
            recent.items[0] = kept
            return kept
    return 0


@jit
def _put_first(primitive: LaunchableObject, kept: int) -> None:
    """Put a tuple at the front of the recent ones, in place of the last one."""
    recent = primitive.recent
    last = recent.length - 1 if recent != 0 else -1
    if last >= 0:
        add_reference(kept)
        gone = recent.items[last]
        recent.items[last] = recent.items[0]
        recent.items[0] = kept
        drop_reference(gone)


@jit
def find_kept(primitive: LaunchableObject, state: State, form: CheckForm, args: Int64) -> int:
    """Return the remembered tuple that has the keys of a launch, as a new reference; 0 if there is none."""
    kept = _recent(primitive, state, form, args)
    if kept != 0:
        add_reference(kept)  # other threads may launch meanwhile and replace the recent tuples
        return kept
    cache, num_keys = primitive.kept, form.num_keys
    if cache == 0:
        return 0
    keys = new_tuple(num_keys)
    if keys == 0:
        clear_error()
        return 0
    for key in range(num_keys):
        given = _key(args, form, key, state)
        add_reference(given)
        TupleObject.at(keys).items[key] = given
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
    if not _has_keys(TupleObject.at(kept), state, form, args):  # 1.0 and True equal 1, and so find its tuple
        drop_reference(kept)
        return 0
    _put_first(primitive, kept)
    return kept
