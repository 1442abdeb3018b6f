"""The indices of gather: checked, wrapped or clipped, by a kernel for each type of index.

Indices out of range that are errors are reported to the stream, through `error_report`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import numpy as np

from ep.cuda.compile.compiler import KernelSource
from ep.cuda.compile.instructions import WORD, Instructions, written
from ep.cuda.compile.memory import loader, storer
from ep.cuda.compile.numba_cuda import device_function, next_index, num_threads, thread_index, types
from ep.cuda.device.error_report import (
    CLAIMED,
    INDEX_OUT_OF_RANGE,
    NOTHING,
    UNSIGNED_INDEX_OUT_OF_RANGE,
    WRAPPED_INDEX_OUT_OF_RANGE,
)
from ep.include.data_type import DataType
from ep.include.number_kind import INTEGERS

_WORD: Final = 8


@cache
def check_kernel(indices_type: DataType) -> KernelSource:
    """Return the kernel (indices, count, size, report) that reports an index outside `0 ... size - 1`."""
    load, report_error, as_word, is_outside = loader(indices_type, 1), _reporter(), _as_word(), _is_outside()
    code = INDEX_OUT_OF_RANGE if indices_type.dtype.kind == "i" else UNSIGNED_INDEX_OUT_OF_RANGE

    def check_indices(indices: int, count: int, size: int, report: int) -> None:
        i, step = thread_index(), num_threads()
        while i < count:
            index = as_word(load(indices, i)[0])
            if is_outside(index, size):
                report_error(report, code, index, i, size)
            i = next_index(i, step)

    return KernelSource(f"check_indices.{indices_type.name}", check_indices)


@cache
def wrap_kernel(indices_type: DataType, result_type: DataType) -> KernelSource:
    """Return the kernel (indices, result, count, size, report): indices below 0 count from the end, others are kept.

    An index outside `-size ... size - 1` becomes -1, and is reported.
    """
    load, store = loader(indices_type, 1), storer(result_type, 1)
    report_error, as_word, is_outside = _reporter(), _as_word(), _is_outside()

    def wrap_indices(indices: int, result: Any, count: int, size: int, report: int) -> None:
        i, step = thread_index(), num_threads()
        while i < count:
            index = as_word(load(indices, i)[0])
            row = index + size if index < 0 else index
            if is_outside(row, size):
                report_error(report, WRAPPED_INDEX_OUT_OF_RANGE, index, i, size)
                row = -1
            store(result, i, (row,))
            i = next_index(i, step)

    return KernelSource(f"wrap_indices.{indices_type.name}.{result_type.name}", wrap_indices)


@cache
def clip_kernel(indices_type: DataType) -> KernelSource:
    """Return the kernel (indices, result, count, last): the nearest index in `0 ... last`."""
    load, store = loader(indices_type, 1), storer(indices_type, 1)
    as_word, is_outside = _as_word(), _is_outside()
    is_signed = indices_type.dtype.kind == "i"

    def clip_indices(indices: int, result: Any, count: int, last: int) -> None:
        i, step = thread_index(), num_threads()
        while i < count:
            index = as_word(load(indices, i)[0])
            if is_outside(index, last + 1):
                index = 0 if is_signed and index < 0 else last
            store(result, i, (index,))
            i = next_index(i, step)

    return KernelSource(f"clip_indices.{indices_type.name}", clip_indices)


def kernels() -> Iterator[KernelSource]:
    """Yield all kernels."""
    for indices_type in INTEGERS:
        yield check_kernel(indices_type)
        yield clip_kernel(indices_type)
        if indices_type.dtype.kind == "i":
            yield wrap_kernel(indices_type, DataType.kInt64)
            if indices_type.itemsize <= DataType.kInt32.itemsize:
                yield wrap_kernel(indices_type, DataType.kInt32)


@cache
def _as_word() -> Any:
    """as_word(index): an index of any type as an int64; larger ones become negative."""

    def as_word(index: Any) -> Any:
        return np.int64(index)

    return device_function(as_word)


@cache
def _is_outside() -> Any:
    """is_outside(index, size): whether an int64 is outside `0 ... size - 1`."""

    def is_outside(index: Any, size: int) -> Any:
        return index < 0 or index >= size

    return device_function(is_outside)


@cache
def _reporter() -> Any:
    """report_error(report, code, index, position, size): stores an error for the host, if there is room."""
    load_word, claim, store_word, publish = _words_of_the_host()

    def report_error(report: int, code: Any, index: Any, position: int, size: int) -> None:
        if load_word(report) == NOTHING and claim(report, NOTHING, CLAIMED) == NOTHING:
            store_word(report + _WORD, index)
            store_word(report + 2 * _WORD, position)
            store_word(report + 3 * _WORD, size)
            publish(report, code)

    return device_function(report_error)


def _words_of_the_host() -> tuple[Any, Any, Any, Any]:
    """Return the instructions on words of host memory, which has the same address on the device and the host.

    The claim is atomic only among the threads of the device, which is enough: the host changes the code only if there
    is an error, and then no thread claims it. Loads and stores of whole words are atomic for both sides.
    """
    word = types.int64

    @written(word, word)
    def load_word(code: Instructions, address: Any) -> Any:
        return code.ptx("ld.relaxed.sys.global.b64 $0, [$1];", "=l,l,~{memory}", WORD, address, effects=True)

    @written(word, word, word, word)
    def claim(code: Instructions, address: Any, expected: Any, desired: Any) -> Any:
        text = "atom.relaxed.gpu.global.cas.b64 $0, [$1], $2, $3;"
        return code.ptx(text, "=l,l,l,l,~{memory}", WORD, address, expected, desired, effects=True)

    @written(types.void, word, word)
    def store_word(code: Instructions, address: Any, value: Any) -> None:
        code.ptx("st.relaxed.sys.global.b64 [$0], $1;", "l,l,~{memory}", None, address, value, effects=True)

    @written(types.void, word, word)
    def publish(code: Instructions, address: Any, value: Any) -> None:
        code.ptx("st.release.sys.global.b64 [$0], $1;", "l,l,~{memory}", None, address, value, effects=True)

    return load_word, claim, store_word, publish
