"""A few long rows: several blocks share each row, and a second kernel combines the parts."""

import math

import numpy as np
import pytest

from ep import DeviceType
from ep.cuda.engine.reduce import row_plan as row_plans
from ep.cuda.engine.reduce.row_plan import PartVariant, Stage, row_plan
from ep.include import DataType
from ep.testing import softmaxes
from ep.testing.device_under_test import DeviceUnderTest

FOUR = (softmaxes.SOFTMAX, softmaxes.LOG_SOFTMAX, softmaxes.SOFTMAX_BACKWARD, softmaxes.LOG_SOFTMAX_BACKWARD)
TYPES = (DataType.kFloat16, DataType.kBFloat16, DataType.kFloat, DataType.kDouble)
KEYS = [(tested, data_type) for tested in FOUR for data_type in TYPES]


def each_key(test):
    names = [f"{tested.factory.__name__}-{data_type.name}" for tested, data_type in KEYS]
    return pytest.mark.parametrize(("tested", "data_type"), KEYS, ids=names)(test)


@pytest.fixture
def gpu(cuda):
    return DeviceUnderTest(DeviceType.kCUDA)


@pytest.fixture
def shorter(monkeypatch):
    """Treat rows as long from 8 KiB on, so that tests are short."""
    monkeypatch.setattr(row_plans, "_LONG_BYTES", 2**13)
    monkeypatch.setattr(row_plans, "_PART_BYTES", 2**11)


def plan_of(data_type, num_rows, cols, num_operands=1, first=0):
    return row_plan(data_type, num_rows, cols, (first, *[0] * num_operands), 227 * 1024)


def is_divided(*arguments):
    return isinstance(plan_of(*arguments).variants[0], PartVariant)


def test_few_long_rows_are_divided():
    assert not is_divided(DataType.kFloat, 1, 2**16 - 1)
    assert is_divided(DataType.kFloat, 1, 2**16)
    assert is_divided(DataType.kFloat16, 3, 2**17)
    assert not is_divided(DataType.kDouble, 3, 2**14)
    assert is_divided(DataType.kDouble, 3, 2**14, 2)
    assert is_divided(DataType.kFloat, 264, 2**20)
    assert not is_divided(DataType.kFloat, 265, 2**20)


@pytest.mark.parametrize("num_rows", [1, 2, 5, 100, 264])
@pytest.mark.parametrize("cols", [2**16, 2**16 + 1, 70_001, 2**20 + 3, 2**24])
def test_parts_cover_a_row_and_fill_a_device(num_rows, cols):
    plan = plan_of(DataType.kFloat, num_rows, cols)
    parts, of_rows, _ = plan.grid.blocks
    elements = math.gcd(cols, 4)
    packs = cols // elements
    assert (parts - 1) * plan.part_packs < packs <= parts * plan.part_packs
    assert of_rows == num_rows
    assert 1 < parts <= 528 // num_rows
    assert plan.part_packs * elements * 4 >= 2**15 - 16
    assert plan.part_bytes == parts * num_rows * 24


def test_parts_follow_from_the_shape_alone(shorter):
    aligned, other = plan_of(DataType.kFloat, 2, 4096), plan_of(DataType.kFloat, 2, 4096, 1, 4)
    assert [aligned.variants[0].aligned, other.variants[0].aligned] == [True, False]
    assert aligned[1:] == other[1:]
    stages = [variant.stage for variant in plan_of(DataType.kDouble, 1, 4096).variants]
    assert stages == [Stage.MAXIMA, Stage.SUMS, Stage.RESULTS]


@each_key
def test_rows_in_parts(gpu, rng, shorter, tested, data_type):
    """Aligned and unaligned rows, with a last part that is not full."""
    cols = 2**13 // data_type.itemsize
    assert is_divided(data_type, 2, cols, len(tested.operands))
    for more in (0, 83):
        sources = tested.draw(rng, data_type, 2, cols + more, 5)
        softmaxes.check(gpu, tested, data_type, sources)


@each_key
def test_rows_in_parts_in_place(gpu, rng, shorter, tested, data_type):
    sources = tested.draw(rng, data_type, 1, 2**13 // data_type.itemsize + 1)
    apart = softmaxes.launch(gpu, tested, data_type, sources)
    for place in range(len(sources)):
        assert softmaxes.launch(gpu, tested, data_type, sources, place).tobytes() == apart.tobytes()


@pytest.mark.parametrize("data_type", TYPES, ids=lambda t: t.name)
@pytest.mark.parametrize("tested", FOUR[:2], ids=["softmax", "log-softmax"])
def test_parts_of_special_rows(gpu, rng, shorter, tested, data_type):
    """A single part has a NaN, an infinity, only -inf, or a number compared with which all others are negligible."""
    cols = 2**13 // data_type.itemsize + 1
    nan, infinite, mixed, nothing, sparse, far = tested.draw(rng, data_type, 6, cols)[0]
    nan[cols // 2], infinite[-1], nothing[:] = np.nan, np.inf, -np.inf
    mixed[0], mixed[-1] = np.inf, -np.inf
    sparse[: cols // 2], sparse[-3:] = -np.inf, -np.inf
    far[cols // 3], far[-1] = 600, 601
    for x in (nan, infinite, mixed, nothing):
        assert np.isnan(softmaxes.launch(gpu, tested, data_type, [x[None]]).astype(np.float32)).all()
    softmaxes.check(gpu, tested, data_type, [np.stack([sparse, far])])


@pytest.mark.parametrize("data_type", [DataType.kBFloat16, DataType.kDouble], ids=lambda t: t.name)
def test_the_bits_of_rows_in_parts_are_the_same_at_every_address(gpu, rng, shorter, data_type):
    cols = 2**13 // data_type.itemsize
    x = rng.standard_normal((2, cols)).astype(data_type.dtype)
    primitive, found = gpu.require(softmaxes.SOFTMAX.factory, data_type), set()
    for offset in (0, 1, 1):
        src = gpu.buffer(np.concatenate([np.zeros(offset, x.dtype), x.reshape(-1)]))[offset:]
        dst = gpu.filled(x.size, data_type)
        primitive.Launch(gpu.stream, 2, cols, src, dst)
        found.add(gpu.array(dst).tobytes())
    assert len(found) == 1


@pytest.mark.parametrize(("num_rows", "cols"), [(1, 2**20 + 3), (3, 70_001)])
def test_rows_of_a_million(gpu, rng, num_rows, cols):
    assert is_divided(DataType.kFloat, num_rows, cols)
    softmaxes.check(gpu, softmaxes.SOFTMAX, DataType.kFloat, softmaxes.logits(rng, DataType.kFloat, num_rows, cols, 5))


def test_what_is_known_of_parts_lies_in_memory_in_the_order_of_the_stream(gpu, rng, shorter, monkeypatch):
    given, freed = [], []
    alloc, free = gpu.stream.AllocAsync, gpu.stream.FreeAsync
    monkeypatch.setattr(gpu.stream, "AllocAsync", lambda size: given.append(alloc(size)) or given[-1], raising=False)
    monkeypatch.setattr(gpu.stream, "FreeAsync", lambda block: freed.append(block) or free(block), raising=False)
    softmaxes.check(gpu, softmaxes.SOFTMAX, DataType.kFloat, softmaxes.logits(rng, DataType.kFloat, 2, 3000))
    assert given == freed
    assert len(given) == 1
