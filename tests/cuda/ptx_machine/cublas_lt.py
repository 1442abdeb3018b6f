"""A mock of cuBLASLt for device memory that is host memory: NumPy multiplies at once.

It is at least as strict as the library: types, layouts, alignments and the workspace must be those for which the
algorithm was chosen.
"""

from __future__ import annotations

import ctypes
import itertools
from typing import Any, Final

import numpy as np

from ep.cuda.driver import cublas_lt as lt
from ep.include.data_type import DataType
from tests.cuda.ptx_machine.driver import PtxDriver

_SUCCESS, _INVALID_VALUE, _INTERNAL_ERROR, _NOT_SUPPORTED = 0, 7, 14, 15
_TYPES: Final = {number: data_type for data_type, number in lt.TYPES.items()}
_COMPUTED: Final = {  # the type of alpha and beta, in which NumPy computes, by the type of the computation
    lt.COMPUTE_32F: (DataType.kFloat, DataType.kComplex64),
    lt.COMPUTE_32F_FAST_TF32: (DataType.kFloat, DataType.kComplex64),
    lt.COMPUTE_64F: (DataType.kDouble, DataType.kComplex128),
}
_ATTRIBUTE_BYTES: Final = {
    "MatmulDesc": {lt.DESC_TRANSA: 4, lt.DESC_TRANSB: 4},
    "MatrixLayout": {lt.LAYOUT_BATCH_COUNT: 4, lt.LAYOUT_STRIDED_BATCH_OFFSET: 8},
    "MatmulPreference": {
        lt.PREF_MAX_WORKSPACE_BYTES: 8,
        lt.PREF_REDUCTION_SCHEME_MASK: 4,
        **dict.fromkeys(lt.PREF_MIN_ALIGNMENTS, 4),
    },
}
_WORKSPACE_BYTES: Final = 1024  # used by algorithms if the preference permits it


class HostCublasLt:
    """The functions of `cublas_lt.SIGNATURES`."""

    def __init__(self, its_driver: PtxDriver) -> None:
        """Make the mock. its_driver: the driver that knows the streams."""
        self._driver = its_driver
        self._numbers = itertools.count(1)
        self.objects: dict[int, tuple[str, list[int], dict[int, int]]] = {}
        """All objects that were created and not destroyed: kind, arguments and attributes, by handle."""
        self.calls: list[dict[str, Any]] = []
        """The last products, for tests."""

    def cublasLtCreate(self, made: int) -> int:
        return _INTERNAL_ERROR if self._driver.graphs.captures else self._create("Handle", made)

    def cublasLtMatmulDescCreate(self, made: int, compute: int, scale: int) -> int:
        if _TYPES.get(scale) not in _COMPUTED.get(compute, ()):
            return _INVALID_VALUE
        return self._create("MatmulDesc", made, compute, scale)

    def cublasLtMatrixLayoutCreate(self, made: int, data_type: int, rows: int, columns: int, ld: int) -> int:
        if data_type not in _TYPES or not 0 < rows <= ld or columns <= 0:
            return _INVALID_VALUE
        return self._create("MatrixLayout", made, data_type, rows, columns, ld)

    def cublasLtMatmulPreferenceCreate(self, made: int) -> int:
        return self._create("MatmulPreference", made)

    def _create(self, kind: str, made: int, *arguments: int) -> int:
        handle = next(self._numbers)
        self.objects[handle] = kind, list(arguments), {}
        ctypes.c_void_p.from_address(made).value = handle
        return _SUCCESS

    def cublasLtMatmulDescDestroy(self, handle: int) -> int:
        return self._destroy("MatmulDesc", handle)

    def cublasLtMatrixLayoutDestroy(self, handle: int) -> int:
        return self._destroy("MatrixLayout", handle)

    def cublasLtMatmulPreferenceDestroy(self, handle: int) -> int:
        return self._destroy("MatmulPreference", handle)

    def _destroy(self, kind: str, handle: int) -> int:
        return _SUCCESS if self.objects.pop(handle, ("",))[0] == kind else _INVALID_VALUE

    def cublasLtMatmulDescSetAttribute(self, handle: int, attribute: int, value: int, size: int) -> int:
        return self._set("MatmulDesc", handle, attribute, value, size)

    def cublasLtMatrixLayoutSetAttribute(self, handle: int, attribute: int, value: int, size: int) -> int:
        return self._set("MatrixLayout", handle, attribute, value, size)

    def cublasLtMatmulPreferenceSetAttribute(self, handle: int, attribute: int, value: int, size: int) -> int:
        return self._set("MatmulPreference", handle, attribute, value, size)

    def _set(self, kind: str, handle: int, attribute: int, value: int, size: int) -> int:
        its_kind, _, attributes = self.objects.get(handle, ("", [], {}))
        if its_kind != kind or _ATTRIBUTE_BYTES[kind].get(attribute) != size:
            return _INVALID_VALUE
        attributes[attribute] = int.from_bytes(ctypes.string_at(value, size), "little", signed=True)
        return _SUCCESS

    def cublasLtMatmulAlgoGetHeuristic(
        self,
        handle: int,
        desc: int,
        a: int,
        b: int,
        c: int,
        d: int,
        preference: int,
        wanted: int,
        results: int,
        count: int,
    ) -> int:
        if self._driver.graphs.captures:
            return _INTERNAL_ERROR
        found = lt.HeuristicResult.from_address(results)
        attributes = self._of("MatmulPreference", preference)[1]
        alignments = [attributes.get(one, lt.MAX_ALIGNMENT) for one in lt.PREF_MIN_ALIGNMENTS]
        most = attributes.get(lt.PREF_MAX_WORKSPACE_BYTES, 0)
        sizes = self._sizes(desc, a, b, c)
        if wanted < 1 or sizes is None or self._sizes(desc, a, b, d) is None:
            return _INVALID_VALUE
        if attributes.get(lt.PREF_REDUCTION_SCHEME_MASK) != lt.REDUCTION_IN_COMPUTE_TYPE:
            return _INVALID_VALUE  # a mask that permits rounding partial sums to 16 bits
        _, columns, _, matrices = sizes
        is_simple = self._of("MatmulDesc", desc)[0] == [lt.COMPUTE_32F, lt.TYPES[DataType.kComplex64]]
        if matrices > lt.MAX_BATCH_COUNT or (is_simple and columns > lt.MAX_COMPLEX_COLUMNS):
            return _NOT_SUPPORTED
        found.algo = (ctypes.c_uint64 * 8)(desc, a, b, c, *alignments[:3], min(most, _WORKSPACE_BYTES))
        found.workspace_size, found.state = min(most, _WORKSPACE_BYTES), _SUCCESS
        ctypes.c_int.from_address(count).value = 1
        return _SUCCESS

    def _of(self, kind: str, handle: int) -> tuple[list[int], dict[int, int]]:
        its_kind, arguments, attributes = self.objects[handle]
        assert its_kind == kind, f"{handle} is a {its_kind}, no {kind}"
        return arguments, attributes

    def _sizes(self, desc: int, a: int, b: int, c: int) -> tuple[int, int, int, int] | None:
        """Return m, n, k and the number of matrices, column-major; None if the descriptors do not match."""
        (_, scale), operations = self._of("MatmulDesc", desc)
        dims, counts = [], set()
        for layout, operation in (
            (a, operations.get(lt.DESC_TRANSA, 0)),
            (b, operations.get(lt.DESC_TRANSB, 0)),
            (c, 0),
        ):
            (data_type, rows, columns, _), attributes = self._of("MatrixLayout", layout)
            dims.append((columns, rows) if operation else (rows, columns))
            counts.add(attributes.get(lt.LAYOUT_BATCH_COUNT, 1))
            if lt.scale_type(_TYPES[data_type]) is not _TYPES[scale]:
                return None
        (m, k), (other_k, n), of_c = dims
        return (m, n, k, counts.pop()) if k == other_k and of_c == (m, n) and len(counts) == 1 else None

    def cublasLtMatmul(
        self,
        handle: int,
        desc: int,
        alpha: int,
        a: int,
        a_layout: int,
        b: int,
        b_layout: int,
        beta: int,
        c: int,
        c_layout: int,
        d: int,
        d_layout: int,
        algo: int,
        workspace: int,
        workspace_size: int,
        stream: int,
    ) -> int:
        chosen = list((ctypes.c_uint64 * 8).from_address(algo))
        alignments, needed = chosen[4:7], chosen[7]
        aligned = not any(place % step for place, step in zip((a, b, c), alignments, strict=True))
        if chosen[:4] != [desc, a_layout, b_layout, c_layout] or (c, c_layout) != (d, d_layout):
            return _INVALID_VALUE
        if not aligned or workspace_size < needed or (needed and not workspace):
            return _INVALID_VALUE
        sizes = self._sizes(desc, a_layout, b_layout, c_layout)
        self._of("Handle", handle)
        assert sizes is not None
        (compute, scale), operations = self._of("MatmulDesc", desc)
        number = _TYPES[scale].dtype
        places = (a, a_layout), (b, b_layout), (c, c_layout)
        left, right, target = (_Matrices(address, *self._of("MatrixLayout", layout)) for address, layout in places)
        # alpha and beta are read at once, the matrices when the product is computed
        factor, addend = (np.frombuffer(ctypes.string_at(place, number.itemsize), number)[0] for place in (alpha, beta))

        def multiply() -> None:
            if needed:
                ctypes.memset(workspace, 0xA5, needed)  # so that a missing one is noticed
            _multiply(left, right, target, operations, factor, addend)

        self._driver.queue(stream, multiply)
        call = {"sizes": sizes, "compute": compute, "stream": stream, "workspace": workspace, "alignments": alignments}
        self.calls = [*self.calls[-15:], call]
        return _SUCCESS


class _Matrices:
    """The matrices of an operand, in their own memory."""

    def __init__(self, address: int, arguments: list[int], attributes: dict[int, int]) -> None:
        """Make the matrices. arguments, attributes: those of the layout."""
        data_type, *self._sizes = arguments
        self._address, self._dtype = address, _TYPES[data_type].dtype
        self.count = attributes.get(lt.LAYOUT_BATCH_COUNT, 1)
        self._step = attributes.get(lt.LAYOUT_STRIDED_BATCH_OFFSET, 0) * self._dtype.itemsize

    def __getitem__(self, index: int) -> np.ndarray[Any, Any]:
        rows, columns, ld = self._sizes
        size, itemsize = (columns - 1) * ld + rows, self._dtype.itemsize
        memory = (ctypes.c_uint8 * (size * itemsize)).from_address(self._address + index * self._step)
        elements = np.ctypeslib.as_array(memory).view(self._dtype)
        return np.lib.stride_tricks.as_strided(elements, (rows, columns), (itemsize, ld * itemsize))


def _multiply(a: _Matrices, b: _Matrices, c: _Matrices, operations: dict[int, int], factor: Any, addend: Any) -> None:
    number = factor.dtype
    for index in range(c.count):
        left = _operated(a[index], operations.get(lt.DESC_TRANSA, 0)).astype(number)
        right = _operated(b[index], operations.get(lt.DESC_TRANSB, 0)).astype(number)
        target = c[index]
        with np.errstate(all="ignore"):
            result = factor * np.matmul(left, right)
            target[...] = (result if addend == 0 else result + addend * target.astype(number)).astype(target.dtype)


def _operated(matrix: np.ndarray[Any, Any], operation: int) -> np.ndarray[Any, Any]:
    return {lt.OP_N: matrix, lt.OP_T: matrix.T, lt.OP_C: matrix.conj().T}[operation]
