"""The operators that move elements, those on indices, and the recurrent ones, as in `test_operators.py`."""

from tests.onnx.operators import indices, recurrent, shapes
from tests.onnx.operators.test_operators import check_cases, every


@every(shapes.RECORDS)
def test_shapes(rng, device, name, since, dtype):
    check_cases(shapes.RECORDS, name, since, dtype, rng, device)


@every(indices.RECORDS)
def test_indices(rng, device, name, since, dtype):
    check_cases(indices.RECORDS, name, since, dtype, rng, device)


@every(recurrent.RECORDS)
def test_recurrent(rng, device, name, since, dtype):
    check_cases(recurrent.RECORDS, name, since, dtype, rng, device)
