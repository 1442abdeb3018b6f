"""Expressions of a product: the plan of the product, and of the map of its values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ep.common.native.object_layout import data_address
from ep.common.native.record import Words
from ep.common.primitive.broadcast import Dims, simplify_walk
from ep.common.primitive.product import ONE, Product, broadcast_product, walk_over
from ep.common.primitive.windows import is_depthwise, windows_of
from ep.common.stored_types import unit_of
from ep.cpu.engine.map.strided import StridedPlan, StridedWords, set_walk, strides_over
from ep.cpu.engine.product.byte_tiles import BYTES_AT_ONCE
from ep.cpu.engine.product.mapped_launch import mapped_product_tasks
from ep.cpu.engine.product.multipliers import set_multiplier, set_product
from ep.cpu.engine.product.plan import ProductPlan, read_step
from ep.cpu.engine.product.planes import PlanesPlan, fits
from ep.cpu.engine.product.state import ProductLoops, ProductMap, ProductState
from ep.cpu.engine.product.types import Types, arithmetic_of, multiplies_bytes
from ep.cpu.kernels.expression import expression_kernel
from ep.cpu.kernels.pooled_product import set_bands, without_pool
from ep.cpu.shared.state import LaunchState
from ep.include.data_type import DataType
from ep.include.number_kind import HALVES, INTEGERS
from ep.include.primitive.structure import Convolution, MatrixProduct, Step, Structure
from ep.include.primitive.unary_op import UnaryOp
from ep.include.primitive.window_map import WindowMap

Array = np.ndarray[Any, Any]

_WORK_OF_MAP: Final = 16  # multiplications that take as long as an element of a light map: 0.3 ns
_ENOUGH_BLOCKS: Final = 8
_MANY: Final = 2**15  # the most elements of a block that is not cut for its map
_LEAST_ROWS: Final = 64  # the least rows of a block that is cut for its map


def map_of(structure: Structure) -> Structure:
    """Return the map of a product's values, its first source, in the type in which they are summed.

    It is a copy if there are no other steps.
    """
    product = structure.steps[0]
    data_type, num_read = product.data_type, len(structure.sources) + len(structure.constants)
    summed = data_type if data_type.itemsize == arithmetic_of(data_type).itemsize else arithmetic_of(data_type)
    steps, numbers = list[Step](), [-1, -1, *range(1, num_read - 1), 0]
    if data_type in HALVES or len(structure.steps) == 1:  # a copy, if the product stays in its type
        op = UnaryOp.kCast if product.rounded else UnaryOp.kIdentity
        steps.append(Step(op, (0,), data_type, (), product.rounded))
        numbers[-1] = num_read - 1
    for step in structure.steps[1:]:
        operands = tuple(numbers[one] for one in step.operands)
        numbers.append(num_read - 1 + len(steps))
        steps.append(step._replace(operands=operands))
    results = tuple(numbers[one] for one in structure.results)
    return Structure((summed, *structure.sources[2:]), structure.constants, tuple(steps), results)


class MappedProductPlan(StridedPlan):
    """The plan of a launch that multiplies, and maps the values. Making one compiles the tasks of both."""

    def __init__(self, structure: Structure, arrays: Sequence[np.ndarray[Any, Any]], shape: Dims) -> None:
        """Make the plan.

        arrays: results first, then the matrices. shape: that of the product; no size is 0.
        """
        self._num_results, first, pool = len(structure.results), len(structure.results), structure.pool
        apart = (first, first + 1) if pool is None else (0, first, first + 1)
        super().__init__(arrays, self._num_results, shape, apart=apart)
        self._kept = list[Any]()
        (one, other), data_type, op = arrays[first : first + 2], structure.steps[0].data_type, structure.product
        assert op is not None
        a, b, transposes, num_columns, places = first, first + 1, (False, False), 1, None
        if isinstance(op, Convolution):
            a, b, num_columns = b, a, len(op.strides)
        structure = structure if pool is None else without_pool(structure)
        mapped = map_of(structure)
        written = arrays[:first] if pool is None else None
        walk = _MapWalk(written, arrays[first + 2 :], shape, num_columns, mapped.data_type(0).itemsize)
        of_a, of_b = (structure.data_type(one - first) for one in (a, b))
        words = self._planes_words(op, one.shape, other.shape, data_type, walk.has_rows) if pool is None else None
        if words is None:
            if isinstance(op, Convolution):
                product, places = _convolution(op, one.shape, other.shape)
            else:
                transposes = op.transpose_a, op.transpose_b
                product = broadcast_product(one.shape, other.shape, shape, *op)
            at_once = BYTES_AT_ONCE if multiplies_bytes(Types(of_a, of_b, data_type)) else 1
            words = self._product_words(product, places, walk.has_rows, at_once)
            if pool is not None:
                self._kept.append(set_bands(words, pool, shape, data_type, walk.has_rows))
        in_parts = bool(words[ProductLoops.column_parts] > 1 and words[ProductLoops.n] > 1)
        of_map, steps, columns = walk.words(in_parts)
        numbers = [*range(first), 0, *range(first + 2, len(arrays))]  # the values are not an array of the launch
        state = LaunchState(ProductState, ())
        if words[ProductLoops.planes] == 0:
            types = Types(of_a, of_b, unit_of(data_type) if data_type in INTEGERS else data_type)
            set_product(state, types, *transposes)
            set_multiplier(state, types, words, 0 if places is None else read_step(places))
        alpha, beta = (np.array(number, data_type.dtype) for number in (1, 0))
        program, tasks = np.zeros(ProductMap.num_words, np.int64), mapped_product_tasks()
        direct = _direct(structure, arrays, mapped.data_type(0)) if pool is None else -1
        is_alone = len(structure.steps) == 1 and (direct >= 0 or pool is not None)  # the values are the result
        values = {
            "task": 0 if is_alone else expression_kernel(mapped, steps),
            "map_block": tasks.map_block,
            "map_elements": tasks.map_elements,
            "plan": self._keep(of_map),
            "num_operands": len(numbers),
            "num_results": first,
            "values": first,
            "itemsize": mapped.data_type(0).itemsize,
            "in_parts": in_parts,
            "direct": direct,
            "product_state": self._keep(state),
            "product": data_address(words),
            "a": a,
            "b": b,
            "alpha": self._keep(Words(alpha)),
            "beta": self._keep(Words(beta)),
            "num_values": math.prod(shape),
            "work": _WORK_OF_MAP,
        }
        for field, value in values.items():
            program[getattr(ProductMap, field)] = value
        program[ProductMap.arrays :][: len(numbers)] = numbers
        program[ProductMap.steps :][: len(numbers)] = columns
        self.set(
            task=tasks.multiply_and_map,
            program=self._keep(Words(program, ProductMap.addresses)),
            count=1,
            size=0,
            grain=1,
        )

    def _keep(self, words: Words) -> int:
        """Return the address of words, and keep them as long as the plan."""
        self._kept.append(words)
        return words.address

    def _planes_words(
        self, op: MatrixProduct | Convolution, of_x: Dims, of_w: Dims, data_type: DataType, has_rows: bool
    ) -> np.ndarray[Any, Any] | None:
        """Return the words of the sums of windows of planes; None for a product.

        has_rows: whether the map has rows for a part of the columns; it is computed by whole planes if not.
        """
        if not isinstance(op, Convolution) or data_type in INTEGERS or 0 in of_x or not is_depthwise(of_w, op.groups):
            return None
        windows, filters = windows_of(op, of_x, of_w).in_planes(of_x[0] * op.groups), of_w[0] // op.groups
        if not fits(windows, data_type):
            return None
        plan = PlanesPlan(windows, op.groups, filters, data_type, by_planes=not has_rows)
        self._kept.append(plan)
        return plan.words

    def _product_words(
        self, product: Product, places: WindowMap | None, has_rows: bool, at_once: int
    ) -> np.ndarray[Any, Any]:
        """Return the words of the product. Sums are cut as without a map; a map of many elements has more blocks.

        places: those of b, if it is windows. has_rows: whether the map has rows for a part of the columns.
        at_once: the multiplications that take as long as one of float32.
        """
        plan = ProductPlan(product, windows=places, at_once=at_once)
        words = plan.words
        self._kept.append(plan)  # words have addresses of its tables
        if not has_rows and words[ProductLoops.column_parts] > 1:
            words[ProductLoops.row_parts] = min(
                int(words[ProductLoops.row_parts] * words[ProductLoops.column_parts]), product.m
            )
            words[ProductLoops.column_parts] = 1
        row_parts = int(words[ProductLoops.row_parts])
        others = int(words[ProductLoops.column_parts]) * product.batches.size
        if product.m > 1 and product.n > 1 and words[ProductLoops.depth_parts] == 1:
            num_values = product.m * product.n * product.batches.size
            while (
                row_parts * others < _ENOUGH_BLOCKS
                and num_values > _MANY * row_parts * others
                and product.m >= 2 * _LEAST_ROWS * row_parts
            ):
                row_parts *= 2
        words[ProductLoops.row_parts] = row_parts
        return words


class _MapWalk:
    """The walk of a map over the values of a product, for all operands: results, the values, then other sources.

    has_rows: whether each operand has one distance from column to column of the product.
    """

    def __init__(
        self, results: Sequence[Array] | None, sources: Sequence[Array], shape: Dims, num_columns: int, itemsize: int
    ) -> None:
        """results: None for one that replaces the values. shape: of the values.

        num_columns: the number of its last axes that are columns of the product. itemsize: the bytes of a value.
        """
        of_values, step = list[int](), itemsize
        for size in reversed(shape):
            of_values.append(step)
            step *= size
        self._shape, self._num_columns = shape, num_columns
        values = tuple(reversed(of_values))
        self._strides = [values] if results is None else [strides_over(array, shape) for array in results]
        self._strides += [values, *(strides_over(array, shape) for array in sources)]
        self._sizes = [itemsize] if results is None else [array.itemsize for array in results]
        self._sizes += [itemsize, *(array.itemsize for array in sources)]
        columns = shape[-num_columns:]
        merged = [simplify_walk(columns, one[-num_columns:]) for one in self._strides]
        self._steps = [walk[-1] for _, walk in merged]
        self.has_rows = all(len(dims) == 1 for dims, _ in merged)

    def words(self, in_parts: bool) -> tuple[StridedWords, tuple[int, ...], list[int]]:
        """Return the map's plan, the steps of its operands in elements, and the bytes from column to column.

        in_parts: whether rows are a part of the columns; they are not merged then.
        """
        last = -self._num_columns
        if in_parts:
            dims, *walks = simplify_walk(self._shape[:last], *(one[:last] for one in self._strides))
            dims = (*dims, math.prod(self._shape[last:]))
            walks = [(*walk, step) for walk, step in zip(walks, self._steps, strict=True)]
        else:
            dims, *walks = simplify_walk(self._shape, *self._strides)
        made = StridedWords(len(self._strides))
        return made, set_walk(made.words, dims, walks, self._sizes), self._steps


def _direct(structure: Structure, results: Sequence[Array], summed: DataType) -> int:
    """Return the number of a result that can hold the product's values at first, or -1; prefer their own result."""
    first = len(structure.sources) + len(structure.constants)
    found = [
        k
        for k, value in enumerate(structure.results)
        if structure.data_type(value) is summed and results[k].flags.c_contiguous
    ]
    return min(found, key=lambda k: structure.results[k] != first, default=-1)


def _convolution(op: Convolution, of_x: Dims, of_w: Dims) -> tuple[Product, WindowMap | None]:
    """Return the product of a convolution, and the places of the windows in x unless they are its elements in order."""
    found, (batch, channels), groups = windows_of(op, of_x, of_w), of_x[:2], op.groups
    m, k, n = of_w[0] // groups, math.prod(of_w[1:]), math.prod(found.counts)
    strides: Dims = (groups * k * n, k * n)
    places = None
    if not found.is_whole or found.has_padding:
        places = found.map_of((batch, groups, channels // groups), joined=False)
        strides = places.strides
    return Product(m, n, k, walk_over((batch, groups), (0, m * k), strides), ONE), places
