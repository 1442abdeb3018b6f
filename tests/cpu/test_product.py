"""Products of matrices on the CPU: their division, and that threads, forks and the settings of the BLAS do no harm."""

import itertools
import threading

import numpy as np
import pytest

from ep import BlasTransposeType, DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.common.primitive.product import broadcast_product
from ep.cpu.compile.target import has_avx512
from ep.cpu.engine.product.cut import cut, cut_depth
from ep.cpu.engine.product.parts import LOW, ONE, THREE, TWO, low_columns, strips_of
from ep.include import DataType
from ep.include.primitive import BatchMatmulFactory, BroadcastMatmulFactory, MatmulFactory
from ep.testing.products import held, unread
from ep.testing.references.matmul import TRANSPOSES, check, matrices, product, stored
from tests.subprocesses import run

N, T = BlasTransposeType
needs_avx512 = pytest.mark.skipif(not has_avx512(), reason="needs AVX-512")
SIDES = (1, 2, 16, 100, 384, 1000, 4096)
AROUND_TILES = (
    (2, 48, 3),
    (3, 193, 385),
    (4, 97, 384),
    (5, 95, 2),
    (9, 47, 769),
    (65, 49, 7),
    (257, 241, 17),
    (97, 1700, 259),
)
VECTORS = ((1, 4101, 13), (4101, 1, 13), (1, 5, 9), (7, 1, 16), (1, 1, 4099), (1, 31, 4105), (33, 1, 21), (1, 77, 19))
FEW_COLUMNS = ((1, 3, 1153), (4, 1, 1279), (1, 5, 131), (6, 1, 2053), (1, 7, 1025), (8, 1, 143), (1, 8, 1024))
NARROW = (
    *((1, 2, 1031), (3, 1, 129), (2, 2, 128), (5, 7, 1023), (8, 8, 2049), (8, 9, 130)),
    *((9, 4, 129), (37, 3, 2051), (1031, 8, 257), (301, 2, 1024), (129, 5, 387)),  # long rows
)
FEW_ROWS = (
    *(
        (2, 9, 128),
        (3, 50, 1025),
        (4, 33, 131),
        (5, 97, 129),
        (7, 49, 260),
        (13, 10, 1100),
        (16, 31, 2051),
        (17, 31, 130),
    ),
    *((2, 131, 9), (3, 101, 259), (5, 67, 7), (6, 130, 385), (7, 97, 3)),  # strips of as many rows
)
INTEGERS = DataType.kUInt8, DataType.kInt16, DataType.kInt32, DataType.kUInt64
CUT = ((1, 1, 400_003), (1, 3, 140_001), (4, 4, 30_000), (3, 8, 20_001), (12, 7, 50_000), (1, 24, 20_000))


@pytest.fixture
def cpu():
    device = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    before = device.GetNumThreads()
    yield device
    device.SetNumThreads(before)


@pytest.mark.parametrize("batches", [1, 7, 192])
def test_blocks_are_large_enough_to_be_worth_a_call(batches):
    for m, n, k in itertools.product(SIDES, repeat=3):
        rows, columns = cut(m, n, float(m) * n * k, batches)
        assert 1 <= rows <= m
        assert 1 <= columns <= n
        if rows * columns > 1:
            assert m * n * k / (rows * columns) > 2**16


@pytest.mark.parametrize(("m", "n", "k"), CUT)
def test_sums_are_cut_where_blocks_are_few(m, n, k):
    """Long sums are divided if there are few blocks, so that threads share them."""
    work = float(m) * n * k
    rows, columns = cut(m, n, work, 1)
    parts = cut_depth(m, n, k, work, rows * columns)
    assert rows * columns * parts >= 3
    assert k // parts >= 32 * max(m, n)


def test_sums_are_not_cut_where_there_is_little_to_gain():
    for m, n, k in ((512, 512, 512), (1, 4096, 4096), (4, 4, 512), (100, 100, 1600)):
        work = float(m) * n * k
        rows, columns = cut(m, n, work, 1)
        assert cut_depth(m, n, k, work, rows * columns) == 1
    assert cut_depth(1, 1, 10**6, 0.0, 0) == 1


def test_large_products_have_work_for_many_threads():
    for sizes in ((2048, 2048, 2048), (16, 4096, 4096), (4096, 16, 4096), (128, 1536, 384)):
        rows, columns = cut(*sizes[:2], float(np.prod(sizes)), 1)
        assert rows * columns >= 4


@pytest.mark.parametrize("data_type", ["float32", "float64", "float16", "complex64"])
def test_the_bits_do_not_depend_on_the_number_of_threads(cpu, data_type):
    rng = np.random.default_rng(1)
    stream, results = cpu.CreateStream(), {}
    for m, n, k in ((509, 523, 131), (16, 1031, 257), (1, 4099, 101), *CUT):
        a, b = (rng.standard_normal(dims).astype(data_type) for dims in ((m, k), (k, n)))
        for threads in (1, 2, 5):
            cpu.SetNumThreads(threads)
            c = np.zeros((m, n), data_type)
            RequirePrimitive(MatmulFactory, DeviceType.kCPU, data_type, N, N).Launch(stream, m, n, k, 1, a, b, 0, c)
            assert results.setdefault((m, n, k), c.tobytes()) == c.tobytes()


@pytest.mark.parametrize("data_type", [DataType.kFloat, DataType.kBFloat16, *INTEGERS], ids=lambda one: one.name)
def test_sizes_around_those_of_tiles(cpu, rng, data_type):
    """Test rows and columns that fill tiles, strips and packed panels exactly, and one more or less."""
    stream = cpu.CreateStream()
    for transposes in TRANSPOSES:
        primitive = RequirePrimitive(MatmulFactory, DeviceType.kCPU, data_type, *transposes)
        for m, n, k in AROUND_TILES + VECTORS + FEW_COLUMNS + NARROW + FEW_ROWS:
            a = matrices(rng, data_type, *stored((m, k), transposes[0]))
            b = matrices(rng, data_type, *stored((k, n), transposes[1]))
            c, memory = matrices(rng, data_type, m, n), np.full(m * n + 64, 7, data_type.dtype)
            for beta in (0, 1, held(data_type, -0.5)):
                memory[: m * n] = c.ravel()
                primitive.Launch(stream, m, n, k, 2, a, b, beta, memory)
                check(memory[: m * n].reshape(m, n), *product(2, a, b, beta, c, transposes), k)
                assert (memory[m * n :] == 7).all()


@pytest.mark.parametrize("transposes", TRANSPOSES, ids=lambda each: each[0].name + each[1].name)
@pytest.mark.parametrize(
    "data_type", [DataType.kFloat, DataType.kDouble, DataType.kFloat16, DataType.kComplex64, *INTEGERS]
)
def test_sums_that_are_cut(cpu, rng, data_type, transposes):
    """The parts are added up; alpha and beta are applied once."""
    primitive = RequirePrimitive(MatmulFactory, DeviceType.kCPU, data_type, *transposes)
    for m, n, k in CUT:
        a = matrices(rng, data_type, *stored((m, k), transposes[0]))
        b = matrices(rng, data_type, *stored((k, n), transposes[1]))
        a[(0,) * 2], c = 0, matrices(rng, data_type, m, n)
        for alpha, beta in ((1, 0), (held(data_type, -0.5), held(data_type, 0.25)), (0, 3)):
            result = (unread(c) if beta == 0 else c).copy()
            primitive.Launch(cpu.CreateStream(), m, n, k, alpha, a, b, beta, result)
            check(result, *product(alpha, a, b, beta, c, transposes), 10)  # short sums have small errors


@pytest.mark.parametrize(
    ("a_dims", "b_dims"), [((3000, 4, 70), (3000, 70, 4)), ((5, 1, 90_000), (5, 90_000, 1)), ((2000, 9, 30), (30, 7))]
)
def test_sums_of_products_are_cut(cpu, rng, a_dims, b_dims):
    """Sums are divided along the batch of products if it is longer than k."""
    results = set()
    a, b = (matrices(rng, DataType.kFloat, *dims) for dims in (a_dims, b_dims))
    c = matrices(rng, DataType.kFloat, a_dims[1], b_dims[-1])
    primitive = RequirePrimitive(BroadcastMatmulFactory, DeviceType.kCPU, "float32", N, N, 3)
    for threads in (1, 2, 5):
        cpu.SetNumThreads(threads)
        result = c.copy()
        primitive.Launch(cpu.CreateStream(), 2, a_dims, a, b_dims, b, -1, c.shape, result)
        check(result, *product(2, a, b, -1, c), 100)
        results.add(result.tobytes())
    assert len(results) == 1


@pytest.mark.parametrize(("rows", "columns"), [(8, 96), (3, 96), (1, 1), (4, 4), (1, 4), (1, 20), (200, 1)])
def test_sums_are_of_short_parts(cpu, rows, columns):
    """Added one after the other to 2^24, all ones would be rounded away."""
    k = 1 << 17
    a, b, c = np.ones((rows, k), np.float32), np.ones((k, columns), np.float32), np.empty((rows, columns), np.float32)
    a[:, 0] = 2.0**24
    primitive = RequirePrimitive(MatmulFactory, DeviceType.kCPU, "float32", N, N)
    primitive.Launch(cpu.CreateStream(), rows, columns, k, 1, a, b, 0, c)
    assert (abs(c - (2.0**24 + k - 1)) <= 4096).all()


@pytest.mark.ep_long
@pytest.mark.parametrize(
    ("processor", "features", "shape", "data_types"),
    [
        ("haswell", "", (4, 32), ["float64", "bfloat16", "uint8", "int16", "int32", "uint64"]),
        ("haswell", "-avx2", (4, 32), ["int8", "uint16", "uint32", "int64"]),
        pytest.param("haswell", "+avx512f,+avx512bw,+avx512dq", (8, 64), ["uint8", "int16"], marks=needs_avx512),
    ],
)
def test_tiles_of_other_processors(processor, features, shape, data_types):
    """Run in a separate process, because a process chooses the target of its kernels once."""
    run(
        f"""
import numpy as np
import ep
from ep.cpu.engine.product.shape import tile_shape
from ep.include.data_type import as_data_type
from ep.include.primitive import MatmulFactory
from ep.testing.products import unread
from ep.testing.references.matmul import TRANSPOSES, check, matrices, product, stored

assert tile_shape() == {shape}
rng = np.random.default_rng(1)
stream = ep.DeviceManagerRegistry.GetDevice(ep.DeviceType.kCPU, 0).CreateStream()
sizes = [(2, 49, 401), (4, 13, 3), (7, 95, 5), (20, 49, 31), (14, 600, 31), (129, 59, 31)]
sizes += [(1, 1, 5001), (5, 8, 1500), (1, 13, 300)]
for data_type in map(as_data_type, {data_types}):
    for transposes in TRANSPOSES:
        primitive = ep.RequirePrimitive(MatmulFactory, ep.DeviceType.kCPU, data_type, *transposes)
        for m, n, k in sizes:
            a = matrices(rng, data_type, *stored((m, k), transposes[0]))
            b = matrices(rng, data_type, *stored((k, n), transposes[1]))
            c = unread(matrices(rng, data_type, m, n))
            primitive.Launch(stream, m, n, k, 1, a, b, 0, c)
            check(c, *product(1, a, b, 0, c, transposes), k)
""",
        NUMBA_CPU_NAME=processor,
        NUMBA_CPU_FEATURES=features,
    )


def test_launches_from_several_threads(cpu):
    primitive, wrong = RequirePrimitive(BatchMatmulFactory, DeviceType.kCPU, "float32", N, T), []

    def work(seed):
        rng, stream = np.random.default_rng(seed), cpu.CreateStream()
        for batch, m, n, k in ((3, 61, 67, 71), (1, 200, 300, 100), (20, 16, 16, 16)) * 5:
            a, b = (rng.standard_normal(dims).astype(np.float32) for dims in ((batch, m, k), (batch, n, k)))
            c = np.empty((batch, m, n), np.float32)
            primitive.Launch(stream, batch, m, n, k, 1, a, b, 0, c)
            if not np.allclose(c, a @ b.mT, atol=1e-3):
                wrong.append((seed, batch, m, n, k))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_in_a_forked_child():
    run(
        """
import os
import numpy as np
import ep
from ep.include.primitive import MatmulFactory

N = ep.BlasTransposeType.N
stream = ep.DeviceManagerRegistry.GetDevice(ep.DeviceType.kCPU, 0).CreateStream()
primitive = ep.RequirePrimitive(MatmulFactory, ep.DeviceType.kCPU, "float32", N, N)
a = np.arange(400 * 400, dtype=np.float32).reshape(400, 400) % 7
c = np.empty_like(a)
primitive.Launch(stream, 400, 400, 400, 1, a, a, 0, c)
child = os.fork()
if child == 0:
    c[...] = 0
    primitive.Launch(stream, 400, 400, 400, 1, a, a, 0, c)
    os._exit(0 if np.array_equal(c, a @ a) else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    )


def test_the_blas_is_asked_for_one_thread_and_shown_to_nobody():
    """NumPy's BLAS in the same process, with almost the same symbols, and the settings of the user stay unchanged."""
    run(
        """
import os, sys
os.environ["OPENBLAS_NUM_THREADS"] = "3"
import numpy as np
import ep
from ep.cpu.engine.product import blas

before = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 0
library = blas._library()
assert library.scipy_openblas_get_num_threads64_() == 1
assert os.environ["OPENBLAS_NUM_THREADS"] == "3"
assert not before or len(os.listdir("/proc/self/task")) == before
assert "scipy_openblas64" not in sys.modules
"""
    )


def test_a_missing_blas_is_named():
    run(
        """
from ep.cpu.engine.product import blas
blas._PACKAGE = "no_such_package"
try:
    blas._library()
except ImportError as error:
    assert "pip install scipy-openblas64" in str(error)
else:
    raise AssertionError
"""
    )


@pytest.mark.parametrize(
    ("a", "b", "c", "transposes", "m", "k", "batches", "terms"),
    [
        ((5, 2, 3), (3, 4), (5, 2, 4), (False, False), 10, 3, (), ()),  # rows of one product
        ((5, 3, 2), (3, 4), (5, 2, 4), (True, False), 2, 3, (5,), ()),
        ((5, 3, 2), (5, 3, 4), (2, 4), (True, False), 2, 15, (), ()),  # one sum
        ((5, 2, 3), (5, 3, 4), (2, 4), (False, False), 2, 3, (), (5,)),
        ((6, 5, 2, 3), (6, 5, 3, 4), (6, 5, 2, 4), (False, False), 2, 3, (30,), ()),
        ((6, 1, 2, 3), (5, 3, 4), (6, 5, 2, 4), (False, False), 2, 3, (6, 5), ()),
        ((6, 5, 2, 3), (6, 5, 3, 4), (6, 1, 2, 4), (False, False), 2, 3, (6,), (5,)),
    ],
)
def test_products_are_as_few_as_memory_allows(a, b, c, transposes, m, k, batches, terms):
    product = broadcast_product(a, b, c, *transposes)
    assert (product.m, product.k, product.batches.dims, product.terms.dims) == (m, k, batches, terms)


def test_plans_are_kept_for_dims_of_integers_alone(cpu):
    primitive = RequirePrimitive(BroadcastMatmulFactory, DeviceType.kCPU, "float32", N, N, 3)
    a, c, stream = np.ones((2, 2), np.float32), np.zeros((2, 2), np.float32), cpu.CreateStream()
    primitive.Launch(stream, 1, (2, 2), a, (2, 2), a, 0, (2, 2), c)
    with pytest.raises(TypeError, match=r"b_dims\[0\] must be an integer, not 2.0"):
        primitive.Launch(stream, 1, (2, 2), a, (2.0, 2), a, 0, (2, 2), c)


def strips_used(m, n, column_parts, lanes, low_width):
    """Return the strips of all blocks of c, found column by column."""
    width, used = 3 * lanes, set()
    tiles = -(-n // width)
    for column_part in range(column_parts):
        column, end = (min(tiles * part // column_parts * width, n) for part in (column_part, column_part + 1))
        while column < end:
            left = end - column
            if 0 < low_width <= left:
                used.add(LOW + m - 2)
                column += low_width
                continue
            taken = min(left, 2 * lanes if width < left <= width + lanes else width)
            used.add((ONE, TWO, THREE)[-(-taken // lanes) - 1])
            column += taken
    return used


@pytest.mark.parametrize("lanes", [2, 8])
def test_the_strips_of_a_product_are_known_before_it_is_computed(lanes):
    for n, column_parts, low_rows in itertools.product(range(1, 16 * lanes), (1, 2, 4, 8), (0, 3, 7)):
        for m in (2, 3, 5, 7, 8, 20):
            low_width = low_columns(m, lanes, 3 * lanes, low_rows)
            needed = strips_of(m, n, column_parts, lanes, 3 * lanes, low_width)
            used = strips_used(m, n, column_parts, lanes, low_width)
            assert all(needed >> strip & 1 for strip in used), (m, n, column_parts, low_rows)
    for n, strip in ((lanes, ONE), (2 * lanes, TWO), (3 * lanes, THREE)):
        assert strips_of(9, n, 1, lanes, 3 * lanes, 0) == 1 << strip


def test_sums_of_a_low_strip_fill_the_registers():
    assert [low_columns(rows, 16, 48, 7) for rows in range(1, 9)] == [0, 96, 96, 96, 64, 64, 48, 0]
    assert [low_columns(rows, 8, 24, 3) for rows in range(1, 5)] == [0, 48, 32, 0]
    assert low_columns(2, 16, 48, 0) == 0


def test_a_launch_of_a_product_has_the_parts_compiled_that_it_needs(run_forked):
    code = """
import numpy as np
import ep
from ep.cpu.compile.compiler import statistics
from ep.cpu.engine.product.shape import tile_shape
from ep.include.primitive import BroadcastMatmulFactory, MatmulFactory
stream = ep.DeviceManagerRegistry.GetDevice(ep.DeviceType.kCPU, 0).CreateStream()
N, lanes = ep.BlasTransposeType.N, tile_shape().vector_bytes // 8
one = ep.RequirePrimitive(MatmulFactory, ep.DeviceType.kCPU, "float64", N, N)
other = ep.RequirePrimitive(BroadcastMatmulFactory, ep.DeviceType.kCPU, "float64", N, N, 3)

def launch(m, n, k):
    known, a, b = len(statistics.names), np.ones((m, k)), np.ones((k, n))
    for planned in (False, True):
        c = np.zeros((m, n))
        if planned:
            other.Launch(stream, 1, a.shape, a, b.shape, b, 0, c.shape, c)
        else:
            one.Launch(stream, m, n, k, 1, a, b, 0, c)
        assert (c == k).all()
    names = (name.split(".", 1)[1] for name in statistics.names[known:] if name.startswith("product."))
    print(*(name.replace(".kDouble", "").replace("kDouble.", "") for name in names), sep="+")

launch(1, 5, 9)
launch(9, lanes, 3)
launch(9, 3 * lanes, 3)
launch(13, lanes, 7)
launch(2, 6 * lanes, 3)
launch(2, 2, 131)
one.Prepare()
known = len(statistics.names)
launch(9, 2 * lanes, 3)
"""
    first, *others = run_forked(code).splitlines()
    assert first == "kDouble+vector"
    assert others == ["tiles+strip.1", "strip.3", "", "strip.2+low_strip.2", "few", ""]
