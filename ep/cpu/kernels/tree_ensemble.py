"""TreeEnsemble: several walks from roots to leaves at a time, of rows in one tree, or of one row in several trees.

Each step of a walk waits for what the step before has loaded, and a branch would be guessed wrong every other time. So
steps are made of loads alone, and those of several walks overlap. A walk that has reached its leaf stays there.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.functor.math_library import Scalar
from ep.common.loops import unrolled
from ep.common.native.fields import Int64, address, word
from ep.common.native.record import Record
from ep.common.primitive.tree_nodes import node_layout
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import loader, storer
from ep.cpu.engine.entry import launcher
from ep.cpu.engine.form import Launcher
from ep.cpu.shared.context import Context
from ep.cpu.shared.state import LaunchState, State
from ep.cpu.threads.parallel import run
from ep.include.data_type import DataType
from ep.include.primitive.tree_aggregate import TreeAggregate

_WALKS: Final = 8  # that overlap
_BLOCK_BYTES: Final = 2**14  # of the rows that walk through one tree after the other: they stay in L1
_MOST_ROWS: Final = 512  # of a block
_GRAIN: Final = 2**12  # steps of walks on the calling thread, a few microseconds
_FEW_WORDS: Final = 64  # of a tree whose walks have few steps


class _TreeContext(Record):
    """The context of the task, which the launcher writes. end: the words of the nodes. block: the rows that
    walk together."""

    x = address()
    nodes = address()
    roots = address()
    out = address()
    features = word()
    targets = word()
    end = word()
    trees = word()
    block = word()


def tree_launcher(state: LaunchState, op: TreeAggregate, data_type: DataType) -> Launcher:
    """Return the launcher of TreeEnsemble."""
    state.set(task=_task(op, data_type))
    return launcher(f"tree_ensemble.{data_type.itemsize}", _launch(data_type))


@cache
def _launch(data_type: DataType) -> Any:
    """Return the function that launches the task."""
    itemsize, least = data_type.itemsize, node_layout(data_type).size

    @jit
    def launch(context: Context, num_bytes: int, in_place: bool, sizes: Int64) -> int:
        rows, features, targets, words, trees = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]
        if words < least or features == 0:  # Python says so
            return 1
        ensemble, state = _TreeContext.on_stack(), State.at(context.state)
        ensemble.x = context.sources[0].data
        ensemble.nodes = context.sources[1].data
        ensemble.roots = context.sources[2].data
        ensemble.out = context.dst
        ensemble.features = features
        ensemble.targets = targets
        ensemble.end = words
        ensemble.trees = trees
        ensemble.block = min(max(_BLOCK_BYTES // (features * itemsize), _WALKS), _MOST_ROWS) & -_WALKS
        steps, words_of_tree = 2, words // trees
        while words_of_tree > _FEW_WORDS:
            steps, words_of_tree = steps + 1, words_of_tree // 2
        run(state, state.task, ensemble, rows, max(_GRAIN // (trees * steps), 1))
        return 0

    return launch


@cache
def _task(op: TreeAggregate, data_type: DataType) -> int:
    """Return the address of the task (context, begin, end) over rows."""
    walk, add_leaf = _walk(data_type), _adder(op, data_type)
    load_root, load, store = loader(DataType.kInt32), loader(data_type, written=True), storer(data_type)
    size, none = data_type.itemsize, data_type.dtype.type(0 if op is TreeAggregate.kSum else np.nan)
    zero = data_type.dtype.type(0)

    last = node_layout(data_type).size

    @jit
    def root_of(context: _TreeContext, tree: int) -> Any:
        return within(load_root(context.roots, tree), context.end - last, 0)

    @separate
    def walk_rows(context: _TreeContext, places: Int64, rows: Int64, begin: int, end: int) -> None:
        """Let several rows at a time walk through one tree after the other."""
        x, targets, row_bytes = context.x, context.targets, context.features * size
        for tree in range(context.trees):
            root = root_of(context, tree)
            for first in range(begin, end, _WALKS):
                for k in range(_WALKS):
                    places[k] = root
                    rows[k] = x + min(first + k, end - 1) * row_bytes
                walk(context, places, rows)
                for k in range(min(_WALKS, end - first)):
                    add_leaf(context, places[k], context.out + (first + k) * targets * size)

    @separate
    def walk_trees(context: _TreeContext, places: Int64, rows: Int64, row: int) -> None:
        """Let one row walk through several trees at a time."""
        trees, targets = context.trees, context.targets
        at = context.x + row * context.features * size
        for k in range(_WALKS):
            rows[k] = at
        for first in range(0, trees, _WALKS):
            for k in range(_WALKS):
                places[k] = root_of(context, min(first + k, trees - 1))
            walk(context, places, rows)
            for k in range(min(_WALKS, trees - first)):
                add_leaf(context, places[k], context.out + row * targets * size)

    def tree_ensemble(context: _TreeContext, begin: int, end: int) -> None:
        targets, block, out = context.targets, context.block, context.out
        places, rows = Int64.array_on_stack(_WALKS), Int64.array_on_stack(_WALKS)
        while begin < end:
            stop = min(begin + block, end)
            for at in range(begin * targets, stop * targets):
                store(out, at, none)
            if stop - begin < _WALKS:
                for row in range(begin, stop):
                    walk_trees(context, places, rows, row)
            else:
                walk_rows(context, places, rows, begin, stop)
            if none != zero:
                for at in range(begin * targets, stop * targets):
                    found = load(out, at)
                    store(out, at, zero if found != found else found)
            begin = stop

    return compile_task(f"tree_ensemble.{op.name}.{data_type.name}", tree_ensemble)


@jit
def within(number: int, last: int, otherwise: int) -> int:
    """Return a number of 0 to `last`, and `otherwise` in the place of others: walks stay in the arrays of a launch."""
    return number if np.uint64(number) <= np.uint64(last) else otherwise


def _walk(data_type: DataType) -> Any:
    """Return the function walk(context, places, rows), which replaces nodes by the leaves that rows reach.

    places: the first words of nodes. rows: the addresses of the first feature of each row.
    """
    layout, load, load_word = node_layout(data_type), loader(data_type), loader(DataType.kInt32)
    feature_at, above, size, walks = layout.feature, layout.above, layout.size, range(_WALKS)

    @jit
    def following(nodes: int, last: int, node: int, row: int, last_feature: int) -> Any:
        """Return the node that follows a node."""
        feature = load(row, within(load_word(nodes, node + feature_at), last_feature, 0))
        way = (1 if feature <= load(nodes + 4 * node, 0) else 0) + (2 if feature != feature else 0)
        return within(node + load_word(nodes, node + above + way), last, node)

    @separate
    def walk(context: _TreeContext, places: Int64, rows: Int64) -> None:
        nodes, last, last_feature = context.nodes, context.end - size, context.features - 1
        at = tuple(places[k] for k in unrolled(walks))
        row = tuple(rows[k] for k in unrolled(walks))
        moved, left = 1, context.end
        while moved != 0 and left > 0:
            new = tuple(following(nodes, last, at[k], row[k], last_feature) for k in unrolled(walks))
            moved = 0
            for k in unrolled(walks):
                moved |= new[k] ^ at[k]
            at, left = new, left - 1
        for k in unrolled(walks):
            places[k] = at[k]

    return walk


def _adder(op: TreeAggregate, data_type: DataType) -> Any:
    """Return the function add_leaf(context, leaf, out), which joins the weights of a leaf to those of a row of out."""
    layout, T = node_layout(data_type), data_type.dtype.type
    load, load_word = loader(data_type), loader(DataType.kInt32)
    load_out, store = loader(data_type, written=True), storer(data_type)
    num_weights, weights, stride, target_at = layout[3:]

    @jit
    def joined(found: Scalar, weight: Scalar) -> Scalar:
        if op is TreeAggregate.kSum:
            return T(found + weight)
        if op is TreeAggregate.kMin:
            return weight if found != found or weight < found else found
        return weight if found != found or weight > found else found

    @jit
    def add_leaf(context: _TreeContext, leaf: int, out: int) -> None:
        nodes, targets = context.nodes, context.targets
        if targets == 1:
            store(out, 0, joined(load_out(out, 0), load(nodes + 4 * leaf, 0)))
            return
        most = (context.end - leaf - weights) // stride
        for k in range(within(load_word(nodes, leaf + num_weights), most, 0) if most > 0 else 0):
            at = leaf + weights + stride * k
            target = load_word(nodes, at + target_at)
            if within(target, targets - 1, -1) >= 0:
                store(out, target, joined(load_out(out, target), load(nodes + 4 * at, 0)))

    return add_leaf
