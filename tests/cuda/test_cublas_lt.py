"""The calls of cuBLASLt by products of matrices, on a mock of it: types, batches, alignments, the workspace."""

import gc
import itertools

import numpy as np
import pytest

from ep import AllocationOptions, DeviceType, RequirePrimitive
from ep.common.primitive.product import broadcast_product
from ep.cuda.driver import cublas_lt
from ep.cuda.driver.interface import CudaError
from ep.cuda.engine.product.strided_batches import strided_batches
from ep.cuda.primitive import product_primitive
from ep.include import DeviceUnavailableError
from ep.include.primitive import BlasTransposeType, BroadcastMatmulFactory, MatmulFactory
from tests.cuda.ptx_machine.cublas_lt import HostCublasLt
from tests.subprocesses import run
from tests.threads import Crossing, run_together

N, T = BlasTransposeType


@pytest.fixture
def lt():
    """The mock of the library."""
    functions = cublas_lt._loaded()[0]
    if not isinstance(functions, HostCublasLt):
        pytest.skip("a GPU is here, and the library itself")
    return functions


@pytest.fixture
def launch(cuda, stream, lt):
    """A function that launches a BroadcastMatmul of ones, and returns c and the calls that it made."""

    def launch_ones(a_dims, b_dims, c_dims, transposes=(N, N), data_type="float32", beta=0, first=0, **options):
        arrays = []
        for dims in (a_dims, b_dims, c_dims):
            array = np.ones(first + int(np.prod(dims)), data_type)
            buffer = cuda.Alloc(AllocationOptions(), array.nbytes).view(array.dtype)
            buffer.copy_from_host(array, stream)
            arrays.append(buffer[first:])
        lt.calls = []
        primitive = RequirePrimitive(BroadcastMatmulFactory, DeviceType.kCUDA, data_type, *transposes, 8, **options)
        a, b, c = arrays
        primitive.Launch(stream, 1, a_dims, a, b_dims, b, beta, c_dims, c)
        return c.copy_to_host(stream).reshape(c_dims), lt.calls

    return launch_ones


def test_one_call_for_a_batch(launch):
    for a_dims, b_dims in (((5, 2, 3), (5, 3, 4)), ((2, 3), (5, 3, 4)), ((5, 6, 2, 3), (5, 6, 3, 4))):
        c, made = launch(a_dims, b_dims, (*np.broadcast_shapes(a_dims[:-2], b_dims[:-2]), 2, 4))
        assert (c == 3).all()
        assert [call["sizes"] for call in made] == [(4, 2, 3, c.size // 8)]  # column-major: n, m, k, matrices


def test_batches_that_share_b_are_one_product(launch):
    c, made = launch((5, 2, 3), (3, 4), (5, 2, 4))
    assert (c == 3).all()
    assert [call["sizes"] for call in made] == [(4, 10, 3, 1)]


def test_a_sum_over_batches_is_one_product_where_memory_allows(launch):
    c, made = launch((5, 3, 2), (5, 3, 4), (2, 4), (T, N), beta=1)
    assert (c == 16).all()
    assert [call["sizes"] for call in made] == [(4, 2, 15, 1)]


def test_sums_are_taken_term_by_term(launch):
    c, made = launch((2, 3, 2, 3), (2, 3, 3, 4), (2, 1, 2, 4), beta=1)
    assert (c == 10).all()
    assert [call["sizes"] for call in made] == [(4, 2, 3, 2)] * 3


def test_computation(launch):
    def compute(data_type, **options):
        return launch((2, 3), (3, 4), (2, 4), data_type=data_type, **options)[1][0]["compute"]

    assert compute("float32") == compute("float16") == compute("complex64") == cublas_lt.COMPUTE_32F
    assert compute("float32", allow_tf32=True) == cublas_lt.COMPUTE_32F_FAST_TF32
    assert compute("complex64", allow_tf32=True) == cublas_lt.COMPUTE_32F_FAST_TF32
    assert compute("float16", allow_tf32=True) == cublas_lt.COMPUTE_32F
    assert compute("float64", allow_tf32=True) == compute("complex128") == cublas_lt.COMPUTE_64F


def test_sums_of_16_bit_products_are_rounded_once(launch):
    c, made = launch((2050, 1, 1), (2050, 1, 1), (1, 1), data_type="float16")
    assert c.item() == 2050
    assert {call["sizes"] for call in made} == {(1, 1, 1, 1)}


def test_alignments(launch):
    assert launch((2, 3), (3, 4), (2, 4))[1][0]["alignments"] == [256] * 3
    assert launch((2, 3), (3, 4), (2, 4), first=1)[1][0]["alignments"] == [4] * 3


def test_the_workspace(launch, stream):
    assert launch((2, 3), (3, 4), (2, 4))[1][0]["workspace"] == stream.workspace()
    assert stream.workspace_size >= 2**22


def test_threads_that_need_a_workspace_first_have_the_same(monkeypatch, cuda, stream):
    alloc, crossing, found = cuda.Alloc, Crossing(3), []
    monkeypatch.setattr(cuda, "Alloc", lambda *args: crossing.wait() or alloc(*args))
    run_together(lambda: found.append(stream.workspace()), [()] * 3)
    assert found == [stream.workspace()] * 3


def test_batches_that_are_too_many_for_one_call(launch):
    c, made = launch((70_000, 1, 2), (70_000, 2, 1), (70_000, 1, 1), beta=1)
    assert (c == 3).all()
    assert [call["sizes"][3] for call in made] == [65_535, 70_000 - 65_535]


@pytest.mark.parametrize("transpose", [N, T])
def test_rows_that_are_too_many_for_one_call(launch, transpose):
    rows, most = 4_194_242, 4_194_240
    dims = (rows, 2) if transpose is N else (2, rows)
    c, made = launch(dims, (2, 1), (rows, 1), (transpose, N), "complex64")
    assert (c == 2).all()
    assert [call["sizes"][1] for call in made] == [most, 2]
    _, made = launch(dims, (2, 1), (rows, 1), (transpose, N), "complex64", allow_tf32=True)
    assert [call["sizes"][1] for call in made] == [rows]


def test_pieces_are_those_of_the_operands(cuda, stream, lt, monkeypatch):
    """All numbers differ, and a call takes at most 2 rows and 3 matrices."""
    monkeypatch.setattr(product_primitive, "max_rows", lambda *_: 2)
    monkeypatch.setattr(product_primitive, "MAX_BATCH_COUNT", 3)
    rng = np.random.default_rng(1)
    for transposes in itertools.product((N, T), (N, T)):
        a, b = (rng.integers(-9, 9, shape).astype(np.float32) for shape in ((7, 5, 4), (7, 4, 3)))
        expected = a @ b
        a, b = (x.transpose(0, 2, 1).copy() if t is T else x for x, t in zip((a, b), transposes, strict=True))
        left, right, result = (cuda.Alloc(AllocationOptions(), x.nbytes).view(x.dtype) for x in (a, b, expected))
        left.copy_from_host(a, stream)
        right.copy_from_host(b, stream)
        lt.calls = []
        primitive = RequirePrimitive(BroadcastMatmulFactory, DeviceType.kCUDA, "float32", *transposes, 3)
        primitive.Launch(stream, 1, a.shape, left, b.shape, right, 0, expected.shape, result)
        assert (result.copy_to_host(stream).reshape(expected.shape) == expected).all()
        assert len(lt.calls) == 9


def test_plans_are_kept_and_destroyed(cuda, stream, lt):
    primitive = RequirePrimitive(MatmulFactory, DeviceType.kCUDA, "float32", N, T)
    x = cuda.Alloc(AllocationOptions(), 400).view(np.dtype(np.float32))
    y = cuda.Alloc(AllocationOptions(), 400).view(np.dtype(np.float32))
    gc.collect()
    before = len(lt.objects)
    primitive.Launch(stream, 2, 3, 4, 1, x, x, 0, y)
    made = len(lt.objects) - before
    assert made >= 5
    for _ in range(3):
        primitive.Launch(stream, 2, 3, 4, 2, x, x, 1, y)
    assert len(lt.objects) == before + made
    del primitive
    gc.collect()
    assert len(lt.objects) <= before + 1  # the handle


def test_an_error_of_the_library(cuda, lt, monkeypatch):
    wanted = cublas_lt.Multiplication(
        *[cublas_lt.DataType.kFloat] * 2, 2, 3, 4, False, False, False, 1, (0, 0, 0), (4, 4, 4), 4
    )
    monkeypatch.setattr(HostCublasLt, "cublasLtMatmulAlgoGetHeuristic", lambda self, *arguments: 15)
    with pytest.raises(
        CudaError, match=r"cublasLtMatmulAlgoGetHeuristic: .* \(CUBLAS_STATUS_NOT_SUPPORTED, error 15\)"
    ):
        cublas_lt.library().algorithm(0, wanted, 0)


def test_every_matrix_of_c_is_written_first_once():
    for dims in (((2, 3, 4), (3, 1), (2, 1, 4)), ((2, 1), (1, 3), (2, 3)), ((5,), (5,), ())):
        a, b, c = ((*own, 2, 2) for own in dims)
        product = broadcast_product(a, b, c, False, False)
        written = []
        for batch in strided_batches(product, False, cublas_lt.MAX_BATCH_COUNT):
            places = [batch.offsets[2] + index * batch.strides[2] for index in range(batch.batch_count)]
            assert all((place in written) is not batch.first for place in places)
            written += places
        assert sorted(set(written)) == list(range(0, int(np.prod(c)), product.m * product.n))
        assert len(written) == int(np.prod(np.broadcast_shapes(*dims))) // (product.m // 2) // (product.k // 2)
    one = strided_batches(broadcast_product((2, 3), (3, 4), (2, 4), False, False), False, cublas_lt.MAX_BATCH_COUNT)
    assert next(itertools.islice(one, 1, None), None) is None


def test_where_the_library_is_missing():
    run(
        f"""
import sys
import ep
from ep.cuda.driver import cublas_lt

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name == "cuda.pathfinder":
            raise ImportError("no such package")

sys.meta_path.insert(0, Nothing())
assert "pip install 'ep-primitives[cuda-matmul]'" in cublas_lt.why_unavailable()
try:
    cublas_lt.library()
except ep.{DeviceUnavailableError.__name__} as error:
    assert str(error).startswith("products of matrices on CUDA need cuBLASLt: no such package; pip install")
else:
    raise AssertionError
""",
    )
