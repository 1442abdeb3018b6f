"""Scan and ArgSort on the CPU: results do not depend on the number of threads."""

import numpy as np
import pytest

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import ArgSortFactory, ScanFactory, ScanOp, SortOrder


@pytest.fixture
def with_threads():
    """Return a function that calls another one with 1, 2, 3 and 7 threads, and returns the results."""
    device = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    before = device.GetNumThreads()

    def call(launch):
        results = []
        for num_threads in (1, 2, 3, 7):
            device.SetNumThreads(num_threads)
            results.append(launch(device.CreateStream()))
        return results

    yield call
    device.SetNumThreads(before)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("op", [ScanOp.kSum, ScanOp.kSumToEnd, ScanOp.kProd], ids=str)
def test_scans(op, dtype, with_threads, rng):
    scan = RequirePrimitive(ScanFactory, DeviceType.kCPU, op, dtype)
    for shape in ((1, 400_009, 1), (1, 100_003, 3), (1, 20_011, 37), (5, 60_013, 1), (1, 1009, 701)):
        src = (rng.normal(size=shape) * (1 if dtype != "int64" else 2**40)).astype(dtype)
        if op is ScanOp.kProd and dtype != "int64":
            src = (1 + src / 100).astype(dtype)

        def launch(stream, src=src, shape=shape):
            dst = np.empty_like(src)
            scan.Launch(stream, *shape, src, dst)
            return dst.tobytes()

        assert len(set(with_threads(launch))) == 1


@pytest.mark.parametrize("num_places", [1, 5, 200, 70_001])
def test_sorts(num_places, with_threads, rng):
    sort = RequirePrimitive(ArgSortFactory, DeviceType.kCPU, SortOrder.kDescending, "float32")
    for shape in ((1, 70_001, 1), (1, 70_001, 3), (9, 71_003, 1)):
        x = rng.integers(0, 5000, shape).astype(np.float32)

        def launch(stream, x=x, shape=shape):
            places = np.empty((shape[0], num_places, shape[2]), np.int64)
            sort.Launch(stream, *shape, num_places, x, places)
            return places.tobytes()

        found = with_threads(launch)
        want = np.argsort(-x, 1, kind="stable")[:, :num_places]
        assert set(found) == {np.ascontiguousarray(want).tobytes()}
