"""Expressions of a product: the plan of the product, and of the map of its values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ep.common.native.object_layout import data_address
from ep.common.primitive.broadcast import Dims, simplify_walk
from ep.common.primitive.product import Product, broadcast_product
from ep.cpu.compile.conversion import HALVES
from ep.cpu.engine.map.strided import StridedPlan, plan_words, set_walk, strides_over
from ep.cpu.engine.product.blas import gemm_address
from ep.cpu.engine.product.mapped_launch import mapped_product_task
from ep.cpu.engine.product.plan import ProductPlan
from ep.cpu.engine.product.state import PRODUCT, PRODUCT_MAP, PRODUCT_STATE
from ep.cpu.engine.product.task import product_task
from ep.cpu.kernels.expression import expression_kernel
from ep.cpu.shared.state import LaunchState
from ep.include.data_type import DataType
from ep.include.number_kind import COMPLEXES
from ep.include.primitive.structure import Step, Structure
from ep.include.primitive.unary_op import UnaryOp

_WORK_OF_MAP: Final = 16  # multiplications that take as long as an element of a light map: 0.3 ns
_ENOUGH_BLOCKS: Final = 8
_MANY: Final = 2**15  # the most elements of a block that is not cut for its map
_LEAST_ROWS: Final = 64  # the least rows of a block that is cut for its map


def map_of(structure: Structure) -> Structure:
    """Return the map of a product's values, its first source, in the type in which they are summed."""
    product, data_type = structure.steps[0], structure.data_type(0)
    num_read = len(structure.sources) + len(structure.constants)
    summed = DataType.kFloat if data_type in HALVES else data_type
    steps, numbers = list[Step](), [-1, -1, *range(1, num_read - 1), 0]
    if data_type in HALVES:  # a copy, if the product stays in float32
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
        self._num_results, first = len(structure.results), len(structure.results)
        super().__init__(arrays, self._num_results, shape, apart=(first, first + 1))
        self._arrays, self._shape, self._kept = arrays, shape, list[Any]()
        (a, b), data_type, op = arrays[first : first + 2], structure.data_type(0), structure.product
        assert op is not None
        product = broadcast_product(a.shape, b.shape, shape, *op)
        words = self._product_words(product)
        mapped = map_of(structure)
        in_parts = words[PRODUCT.column_parts] > 1 and product.n > 1
        of_map, steps, columns = self._map_words(mapped.data_type(0), in_parts)
        numbers = [*range(first), 0, *range(first + 2, len(arrays))]  # the values are not an array of the launch
        state = LaunchState(PRODUCT_STATE, ())
        gemm = gemm_address(data_type) if data_type in COMPLEXES else 0
        state.set(task=product_task(data_type), gemm=gemm, transpose_a=op.transpose_a, transpose_b=op.transpose_b)
        alpha, beta = (np.array(number, data_type.dtype) for number in (1, 0))
        program = np.zeros(PRODUCT_MAP.num_words, np.int64)
        values = {
            "task": expression_kernel(mapped, steps),
            "plan": self._keep(of_map),
            "num_operands": len(numbers),
            "num_results": first,
            "values": first,
            "itemsize": mapped.data_type(0).itemsize,
            "in_parts": in_parts,
            "direct": self._direct(structure, mapped.data_type(0)),
            "product_state": self._keep(state.words),
            "product": self._keep(words),
            "a": first,
            "b": first + 1,
            "alpha": self._keep(alpha),
            "beta": self._keep(beta),
            "num_values": math.prod(shape),
            "work": _WORK_OF_MAP,
        }
        for field, value in values.items():
            program[getattr(PRODUCT_MAP, field)] = value
        program[PRODUCT_MAP.arrays :][: len(numbers)] = numbers
        program[PRODUCT_MAP.steps :][: len(numbers)] = columns
        self.set(task=mapped_product_task(), program=self._keep(program), count=1, size=0, grain=1)

    def _keep(self, words: np.ndarray[Any, Any]) -> int:
        """Return the address of words, and keep them as long as the plan."""
        self._kept.append(words)
        return data_address(words)

    def _product_words(self, product: Product) -> np.ndarray[Any, Any]:
        """Return the words of the product. Sums are cut as without a map; a map of many elements has more blocks."""
        words = ProductPlan(product).words
        row_parts, others = int(words[PRODUCT.row_parts]), int(words[PRODUCT.column_parts]) * product.batches.size
        if product.m > 1 and product.n > 1 and words[PRODUCT.depth_parts] == 1:
            num_values = product.m * product.n * product.batches.size
            while (
                row_parts * others < _ENOUGH_BLOCKS
                and num_values > _MANY * row_parts * others
                and product.m >= 2 * _LEAST_ROWS * row_parts
            ):
                row_parts *= 2
        words[PRODUCT.row_parts] = row_parts
        return words

    def _map_words(self, summed: DataType, in_parts: bool) -> tuple[np.ndarray[Any, Any], tuple[int, ...], list[int]]:
        """Return the map's plan, the steps of its operands in elements, and the bytes from column to column."""
        first, shape = self._num_results, self._shape
        of_values, step = list[int](), summed.itemsize
        for size in reversed(shape):
            of_values.append(step)
            step *= size
        strides = [strides_over(array, shape) for array in (*self._arrays[:first], *self._arrays[first + 2 :])]
        strides.insert(first, tuple(reversed(of_values)))
        sizes = [array.itemsize for array in (*self._arrays[:first], *self._arrays[first + 2 :])]
        sizes.insert(first, summed.itemsize)
        if in_parts:  # rows are not merged
            dims, *walks = simplify_walk(shape[:-1], *(one[:-1] for one in strides))
            dims, walks = (*dims, shape[-1]), [(*walk, one[-1]) for walk, one in zip(walks, strides, strict=True)]
        else:
            dims, *walks = simplify_walk(shape, *strides)
        words = plan_words(len(strides))
        return words, set_walk(words, dims, walks, sizes), [one[-1] for one in strides]

    def _direct(self, structure: Structure, summed: DataType) -> int:
        """Return the number of a result that can hold the product's values at first, or -1; prefer their own result."""
        first = len(structure.sources) + len(structure.constants)
        fits = [
            k
            for k, value in enumerate(structure.results)
            if structure.data_type(value) is summed and self._arrays[k].flags.c_contiguous
        ]
        return min(fits, key=lambda k: structure.results[k] != first, default=-1)
