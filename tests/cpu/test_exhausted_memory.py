"""Products without memory for their blocks: MemoryError is raised, c is not scaled twice, and the next one is right."""

import pytest

from tests.exhausted import STARVED, on_linux
from tests.subprocesses import run

PRELUDE = f"""{STARVED}
import ml_dtypes
from ep import *
from ep.include.primitive import *

K, N = DeviceType.kCPU, BlasTransposeType.N
stream = DeviceManagerRegistry.GetDevice(K).CreateStream()

def check(name, launch, c, expected):
    "Check a launch that changes c, which has its values before."
    print(name, flush=True)  # what ends the process is the last one
    before = c.copy()
    for _ in range(3):  # the first calls of an operator also plan, and make a list of launches
        c[...] = before
        launch()
        assert (c == expected).all(), c
    c[...] = before
    raised = starved(launch)
    assert type(raised) is MemoryError and "no memory" in str(raised), raised
    c[...] = before
    launch()
    assert (c == expected).all(), c
"""

LAUNCHES = """
def matmul(name, m, n, k, data_type="float32"):
    primitive = RequirePrimitive(MatmulFactory, K, data_type, N, N)
    a, b, c = np.full(m * k, 2, data_type), np.ones(k * n, data_type), np.full(m * n, 3, data_type)
    launch = lambda: primitive.Launch(stream, m, n, k, 1, a, b, 2, c)
    check(name, launch, c, np.array(2 * k + 6, data_type))
    assert type(starved(launch)) is MemoryError
    assert (c == 2 * k + 6).all()  # nothing is written without memory: no launch has been done again

matmul("tiles", 200, 200, 200)
matmul("tiles of bfloat16", 203, 61, 16, ml_dtypes.bfloat16)
matmul("sums that are cut", 40, 40, 100_000)
matmul("few columns", 3000, 3, 300)
matmul("few rows and columns", 4, 4, 100_000)
matmul("a row", 1, 3001, 300)
matmul("a column of float16", 3001, 1, 300, "float16")

rows, cols = 3, 300_000
primitive = RequirePrimitive(SoftmaxFactory, K, "float32")
x, y = np.zeros(rows * cols, "float32"), np.zeros(rows * cols, "float32")
launch = lambda: primitive.Launch(stream, rows, cols, x, y)
check("few long rows", launch, y, np.float32(1 / cols))

m, n, k = 131, 67, 71
primitive = RequirePrimitive(BroadcastMatmulFactory, K, "float32", N, N, 3)
a, b, c = np.ones((3, m, k), "float32"), np.ones((k, n), "float32"), np.zeros((3, m, n), "float32")
launch = lambda: primitive.Launch(stream, 1, a.shape, a, b.shape, b, 0, c.shape, c)
check("BroadcastMatmul", launch, c, k)
"""

EXPRESSIONS = """
def ones(*dims, data_type="float32"):
    return np.ones(dims, data_type)

def computed(name, function, expected, *arrays):
    out = np.zeros_like(function(*arrays))
    check(name, lambda: function(*arrays, out=out), out, expected)

def conv(name, c, filters, data_type="float32", **given):
    channels = c // given.get("groups", 1)
    x, w = ones(1, c, 61, 67, data_type=data_type), ones(filters, channels, 3, 3, data_type=data_type)
    expected = np.array(9 * w.shape[1], data_type)
    computed(name, lambda *arrays, out=None: ep.ops.conv(*arrays, out=out, **given), expected, x, w)
    mapped = ep.fuse(lambda *arrays: ep.ops.conv(*arrays, **given) * 2)
    computed(f"mapped {name}", mapped, 2 * expected, x, w)

conv("windows", 4, 8)
conv("windows of bfloat16", 4, 8, ml_dtypes.bfloat16)
conv("windows of one row", 4, 1)
conv("windows of planes", 4, 4, groups=4)

def mapped(name, function, expected, m, k, n, data_type="float32"):
    computed(name, ep.fuse(function), expected, ones(m, k, data_type=data_type), ones(k, n, data_type=data_type))

mapped("a mapped product of complex numbers", lambda a, b: ep.ops.real(a @ b), 61, 67, 61, 71, "complex64")
mapped("mapped sums that are cut", lambda a, b: ep.ops.relu(a @ b), 100_000, 40, 100_000, 40)
mapped("mapped products without terms", lambda a, b: (a @ b) + 1, 1, 67, 0, 71)
"""


@on_linux
@pytest.mark.ep_long
@pytest.mark.parametrize("code", [LAUNCHES, EXPRESSIONS], ids=["launches", "expressions"])
def test_products(code):
    assert run(PRELUDE + code + "print('done')").endswith("done\n")
