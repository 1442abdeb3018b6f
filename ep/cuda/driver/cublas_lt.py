"""cuBLASLt, which multiplies matrices on a GPU: its functions, and one algorithm for each shape.

`functions` returns the library's C functions, or a replacement if there is no GPU; everything else is the same for
both. Addresses, handles and sizes are integers. The library is column-major, so it gets transposed matrices: for the
library, a row-major matrix c is `op(b)^T op(a)^T`.
"""

from __future__ import annotations

import ctypes
import weakref
from typing import Any, Final, NamedTuple

from ep.common.lazy import once
from ep.cuda.driver.current import driver
from ep.cuda.driver.interface import CudaError, Driver
from ep.cuda.driver.packages import load
from ep.include.data_type import DataType
from ep.include.errors import DeviceUnavailableError
from ep.include.number_kind import part_of
from ep.include.process import Rank, new_lock
from ep.version import installs

_POINTER, _SIZE, _INT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int

SIGNATURES: Final[dict[str, tuple[Any, ...]]] = {
    "cublasLtCreate": (_POINTER,),
    "cublasLtMatmulDescCreate": (_POINTER, _INT, _INT),
    "cublasLtMatmulDescDestroy": (_POINTER,),
    "cublasLtMatmulDescSetAttribute": (_POINTER, _INT, _POINTER, _SIZE),
    "cublasLtMatrixLayoutCreate": (_POINTER, _INT, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int64),
    "cublasLtMatrixLayoutDestroy": (_POINTER,),
    "cublasLtMatrixLayoutSetAttribute": (_POINTER, _INT, _POINTER, _SIZE),
    "cublasLtMatmulPreferenceCreate": (_POINTER,),
    "cublasLtMatmulPreferenceDestroy": (_POINTER,),
    "cublasLtMatmulPreferenceSetAttribute": (_POINTER, _INT, _POINTER, _SIZE),
    "cublasLtMatmulAlgoGetHeuristic": (*[_POINTER] * 7, _INT, _POINTER, _POINTER),
    "cublasLtMatmul": (*[_POINTER] * 14, _SIZE, _POINTER),
}
"""The arguments of the functions that are called; each returns a status, 0 for success."""

# cudaDataType_t
TYPES: Final = {
    DataType.kFloat: 0,
    DataType.kDouble: 1,
    DataType.kFloat16: 2,
    DataType.kComplex64: 4,
    DataType.kComplex128: 5,
    DataType.kBFloat16: 14,
}

# cublasComputeType_t: IEEE float32, and float32 with operands rounded to TensorFloat-32
COMPUTE_32F: Final = 68
COMPUTE_64F: Final = 70
COMPUTE_32F_FAST_TF32: Final = 77

# cublasOperation_t
OP_N, OP_T, OP_C = 0, 1, 2

# attributes: of cublasLtMatmulDesc_t, cublasLtMatrixLayout_t and cublasLtMatmulPreference_t
DESC_TRANSA, DESC_TRANSB = 3, 4
LAYOUT_BATCH_COUNT, LAYOUT_STRIDED_BATCH_OFFSET = 5, 6
PREF_MAX_WORKSPACE_BYTES, PREF_REDUCTION_SCHEME_MASK = 1, 3
PREF_MIN_ALIGNMENTS: Final = (5, 6, 7, 8)  # of A, B, C and D
REDUCTION_IN_COMPUTE_TYPE: Final = 2
"""Partial sums may be added in the type of the computation, never in a 16-bit type of c."""

MAX_BATCH_COUNT: Final = 2**16 - 1
MAX_COMPLEX_COLUMNS: Final = 64 * MAX_BATCH_COUNT
"""The largest number of the library's columns (rows of c) of a complex64 product in float32 arithmetic."""

MAX_ALIGNMENT: Final = 256
_STATUS: Final = {
    1: ("CUBLAS_STATUS_NOT_INITIALIZED", "the library could not be set up"),
    3: ("CUBLAS_STATUS_ALLOC_FAILED", "the library could not allocate memory"),
    7: ("CUBLAS_STATUS_INVALID_VALUE", "an argument is not supported"),
    8: ("CUBLAS_STATUS_ARCH_MISMATCH", "the GPU does not have what the product needs"),
    13: ("CUBLAS_STATUS_EXECUTION_FAILED", "the product could not be queued"),
    14: ("CUBLAS_STATUS_INTERNAL_ERROR", "the library failed"),
    15: ("CUBLAS_STATUS_NOT_SUPPORTED", "the library has no algorithm for this product"),
}


class HeuristicResult(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = (
        ("algo", ctypes.c_uint64 * 8),
        ("workspace_size", ctypes.c_size_t),
        ("state", ctypes.c_int),
        ("waves_count", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    )


class Multiplication(NamedTuple):
    """A strided batch of products of row-major matrices, `[m, k]` by `[k, n]`.

    src_type: the type of a and b; dst_type: the type of c. strides: from one matrix to the next, in elements, of a, b
    and c. alignments: the alignments of the addresses of a, b and c. a_columns: the elements from one row of a to the
    next.
    """

    src_type: DataType
    dst_type: DataType
    m: int
    n: int
    k: int
    transpose_a: bool
    transpose_b: bool
    allow_tf32: bool
    batch_count: int
    strides: tuple[int, int, int]
    alignments: tuple[int, int, int]
    a_columns: int


class Algorithm:
    """The algorithm of a Multiplication, with its descriptors; it may be used by several threads at once.

    workspace_size: the bytes of device memory that it needs.
    """

    def __init__(self, library: CublasLt, device: int, wanted: Multiplication, workspace_size: int) -> None:
        """workspace_size: the most bytes that it may need."""
        self._library, self._made = library, list[tuple[str, int]]()
        weakref.finalize(self, _destroy, library, self._made).atexit = False  # the driver may be unloaded then
        compute, scale = _computation(wanted)
        self.desc = self._create("MatmulDesc", compute, scale)
        a_op, b_op = (_operation(wanted, flag) for flag in (wanted.transpose_a, wanted.transpose_b))
        self._set("MatmulDesc", self.desc, DESC_TRANSA, ctypes.c_int32(b_op))
        self._set("MatmulDesc", self.desc, DESC_TRANSB, ctypes.c_int32(a_op))
        a_dims = (wanted.k, wanted.m) if wanted.transpose_a else (wanted.m, wanted.k)
        b_dims = (wanted.n, wanted.k) if wanted.transpose_b else (wanted.k, wanted.n)
        steps = wanted.a_columns, b_dims[1], wanted.n
        types = wanted.src_type, wanted.src_type, wanted.dst_type
        self.a, self.b, self.c = (
            self._layout(data_type, dims, step, wanted.batch_count, stride)
            for data_type, dims, step, stride in zip(
                types, (a_dims, b_dims, (wanted.m, wanted.n)), steps, wanted.strides, strict=True
            )
        )
        self.algo, self.workspace_size = self._choose(device, wanted, workspace_size)

    def _create(self, kind: str, *arguments: int) -> int:
        made = ctypes.c_void_p()
        self._library.call(f"cublasLt{kind}Create", ctypes.addressof(made), *arguments)
        handle = made.value or 0
        self._made.append((f"cublasLt{kind}Destroy", handle))
        return handle

    def _set(self, kind: str, handle: int, attribute: int, value: Any) -> None:
        address, size = ctypes.addressof(value), ctypes.sizeof(value)
        self._library.call(f"cublasLt{kind}SetAttribute", handle, attribute, address, size)

    def _layout(self, data_type: DataType, dims: tuple[int, int], step: int, batch_count: int, stride: int) -> int:
        """Return the layout of row-major matrices, which are transposed for the library.

        step: from row to row.
        """
        rows, columns = dims
        layout = self._create("MatrixLayout", TYPES[data_type], columns, rows, step)
        if batch_count > 1:
            self._set("MatrixLayout", layout, LAYOUT_BATCH_COUNT, ctypes.c_int32(batch_count))
            self._set("MatrixLayout", layout, LAYOUT_STRIDED_BATCH_OFFSET, ctypes.c_int64(stride))
        return layout

    def _choose(self, device: int, wanted: Multiplication, workspace_size: int) -> tuple[Any, int]:
        """Return the algorithm that the library expects to be the fastest, and the bytes of workspace that it needs."""
        preference = self._create("MatmulPreference")
        self._set("MatmulPreference", preference, PREF_MAX_WORKSPACE_BYTES, ctypes.c_uint64(workspace_size))
        mask = ctypes.c_uint32(REDUCTION_IN_COMPUTE_TYPE)
        self._set("MatmulPreference", preference, PREF_REDUCTION_SCHEME_MASK, mask)
        a, b, c = wanted.alignments
        for attribute, alignment in zip(PREF_MIN_ALIGNMENTS, (b, a, c, c), strict=True):
            self._set("MatmulPreference", preference, attribute, ctypes.c_uint32(alignment))
        found, count = HeuristicResult(), ctypes.c_int()
        handle, layouts = self._library.handle(device), (self.b, self.a, self.c, self.c)
        places = ctypes.addressof(found), ctypes.addressof(count)
        name = "cublasLtMatmulAlgoGetHeuristic"
        self._library.call(name, handle, self.desc, *layouts, preference, 1, *places)
        if not count.value or found.state:
            raise _error(name, found.state or 15)
        return found, found.workspace_size


class CublasLt:
    """The library, with a handle for each device."""

    def __init__(self, functions: Any, its_driver: Driver) -> None:
        """functions: has the functions of SIGNATURES as attributes."""
        self._functions, self._driver = functions, its_driver
        self._handles: dict[int, int] = {}
        self._lock = new_lock(Rank.DRIVER)

    def call(self, name: str, *arguments: int) -> None:
        """Call a function; raises CudaError if it fails."""
        status = getattr(self._functions, name)(*arguments)
        if status:
            raise _error(name, status)

    def handle(self, device: int) -> int:
        """Return the library's handle for a device, whose context is the current one."""
        handle = self._handles.get(device)
        if handle is None:
            made = ctypes.c_void_p()
            self.call("cublasLtCreate", ctypes.addressof(made))
            handle = self._handles.setdefault(device, made.value or 0)
        return handle

    def prepare(self, device: int) -> None:
        """Make the handle for a device. This is not possible during a capture."""
        with self._driver.active(device):
            self.handle(device)

    def algorithm(self, device: int, wanted: Multiplication, workspace_size: int) -> Algorithm:
        """Return the algorithm of a product that may use this many bytes of workspace."""
        with self._driver.active(device):
            return Algorithm(self, device, wanted, workspace_size)

    def multiply(
        self,
        device: int,
        stream: int,
        algorithm: Algorithm,
        addresses: tuple[int, int, int],
        numbers: tuple[int, int],
        workspace: int,
    ) -> None:
        """Queue `c = alpha op(a) op(b) + beta c`.

        addresses: those of a, b and c on the device. numbers: the addresses of alpha and beta on the host, which are
        read before this returns. workspace: the address of `algorithm.workspace_size` bytes on the device.
        """
        (a, b, c), (alpha, beta) = addresses, numbers
        with self._driver.active(device):
            self.call(
                "cublasLtMatmul",
                *(self.handle(device), algorithm.desc, alpha, b, algorithm.b, a, algorithm.a, beta),
                *(c, algorithm.c, c, algorithm.c),
                *(ctypes.addressof(algorithm.algo), workspace, algorithm.workspace_size, stream),
            )


def _destroy(library: CublasLt, made: list[tuple[str, int]]) -> None:
    for name, handle in reversed(made):
        library.call(name, handle)


def _operation(wanted: Multiplication, transpose: bool) -> int:
    """Return the library's operation on an operand; T of a complex matrix is its conjugate transpose."""
    if not transpose:
        return OP_N
    return OP_C if wanted.src_type.dtype.kind == "c" else OP_T


def _computation(wanted: Multiplication) -> tuple[int, int]:
    """Return the type of the computation, and that of alpha and beta."""
    scale = scale_type(wanted.src_type)
    if part_of(scale) is DataType.kDouble:
        return COMPUTE_64F, TYPES[scale]
    is_single = part_of(wanted.src_type) is DataType.kFloat
    return COMPUTE_32F_FAST_TF32 if wanted.allow_tf32 and is_single else COMPUTE_32F, TYPES[scale]


def max_rows(data_type: DataType, allow_tf32: bool) -> int | None:
    """Return the largest number of rows of a product of `data_type` in one call; None for any number."""
    return MAX_COMPLEX_COLUMNS if data_type is DataType.kComplex64 and not allow_tf32 else None


def scale_type(data_type: DataType) -> DataType:
    """Return the type of alpha and beta, for matrices of `data_type`."""
    return DataType.kFloat if data_type.itemsize == 2 else data_type


def _error(name: str, status: int) -> CudaError:
    return CudaError(name, status, *_STATUS.get(status, ("unknown", "unknown")))


def why_unavailable() -> str | None:
    """Return why the library cannot be loaded, and how to get it; None if it can."""
    return _loaded()[1]


@once
def library() -> CublasLt:
    """Return the library; DeviceUnavailableError says what to install if there is none."""
    functions, why = _loaded()
    if functions is None:
        raise DeviceUnavailableError(f"products of matrices on CUDA need cuBLASLt: {why}")
    return CublasLt(functions, driver())


_instead: list[Any] = []


def use_functions(instead: Any) -> None:
    """Use `instead` as the library's functions in this process, before the first call; for tests without a GPU."""
    _instead[:] = [instead]
    if _loaded()[0] is not instead:
        raise RuntimeError("the process has a library already")


@once
def _loaded() -> tuple[Any, str | None]:
    """Return the functions, and why there are none."""
    if _instead:
        return _instead[0], None
    try:
        functions = ctypes.CDLL(load("cublasLt"))
    except Exception as error:  # not installed or not loadable, in the words of the package
        return None, f"{' '.join(str(error).split())}; {installs('cuda-matmul')}"
    for name, arguments in SIGNATURES.items():
        function = getattr(functions, name)
        function.argtypes, function.restype = arguments, _INT
    return functions, None
