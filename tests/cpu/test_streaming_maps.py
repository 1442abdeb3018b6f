"""Launches of maps with non-temporal stores: they write the same bytes, and nothing else."""

import numpy as np
import pytest

from ep import DeviceType, RequirePrimitive
from ep.include import DataType
from ep.include.primitive import AddFactory, CastFactory, FillFactory, OneHotFactory, TensorFillFactory, WhereFactory
from ep.testing.references.add import total
from ep.testing.references.convert import convert
from ep.testing.references.one_hot import one_hot
from tests.cpu.test_streaming import check, stream

__all__ = ["stream"]

T = DataType
CPU = DeviceType.kCPU
SIZES = [T.kInt8, T.kBFloat16, T.kFloat, T.kComplex64, T.kComplex128]
COUNTS = (1, 63, 64, 65, 1000, 5003)


def integers(rng, data_type, count, low=0, high=100):
    return rng.integers(low, high, count).astype(data_type.dtype)


@pytest.mark.parametrize("data_type", SIZES, ids=lambda t: t.name)
def test_fill(stream, data_type):
    fill, tensor_fill = (RequirePrimitive(factory, CPU, data_type) for factory in (FillFactory, TensorFillFactory))
    for count in COUNTS:
        want = np.full(count, 3, data_type.dtype)
        check(lambda out, count=count: fill.Launch(stream, out, 3, count), want)
        check(lambda out, want=want: tensor_fill.Launch(stream, want[:1].copy(), out, want.size), want)


@pytest.mark.parametrize("data_type", [*SIZES, T.kBool], ids=lambda t: t.name)
def test_add(stream, rng, data_type):
    add = RequirePrimitive(AddFactory, CPU, data_type)
    for num_srcs in (1, 2, 5, 20):
        for count in COUNTS:
            srcs = [integers(rng, data_type, count) for _ in range(num_srcs)]
            check(lambda out, srcs=srcs: add.Launch(stream, srcs, out, out.size), total(srcs))


@pytest.mark.parametrize("data_type", SIZES, ids=lambda t: t.name)
@pytest.mark.parametrize("indices_type", [T.kInt64, T.kUInt8], ids=lambda t: t.name)
def test_one_hot(stream, rng, indices_type, data_type):
    """Test rows of less than a cache line, of several and of many, with on_value in the first and in the last line."""
    primitive = RequirePrimitive(OneHotFactory, CPU, indices_type, data_type)
    for depth, count in ((3, 500), (64, 33), (256, 20), (1000, 9), (5003, 2)):
        indices = integers(rng, indices_type, count, 0, min(depth + 3, 250))
        indices[:2] = 0, min(depth - 1, 249)
        want = one_hot(indices, 0, depth, 2, 1, data_type.dtype)
        check(lambda out, i=indices, d=depth: primitive.Launch(stream, i, out, 2, 1, i.size, 0, d), want)


@pytest.mark.parametrize(
    ("src_type", "dst_type"), [(T.kFloat, T.kFloat16), (T.kInt8, T.kDouble), (T.kDouble, T.kInt32), (T.kBool, T.kFloat)]
)
def test_cast(stream, rng, src_type, dst_type):
    cast = RequirePrimitive(CastFactory, CPU, src_type, dst_type)
    for count in COUNTS:
        src = integers(rng, src_type, count)
        check(lambda out, src=src: cast.Launch(stream, src, out, src.size), convert(src, dst_type.dtype))


@pytest.mark.parametrize("data_type", SIZES, ids=lambda t: t.name)
def test_where(stream, rng, data_type):
    where = RequirePrimitive(WhereFactory, CPU, "bool", data_type, 2)
    for dims in [((count,),) * 3 for count in COUNTS] + [((60, 1), (60, 33), (33,)), ((33,), (), (60, 33))]:
        cond, x, y = rng.random(dims[0]) < 0.5, *(integers(rng, data_type, each) for each in dims[1:])
        given = [part for pair in zip(dims, (cond, x, y), strict=True) for part in pair]
        check(lambda out, given=given: where.Launch(stream, *given, out), np.where(cond, x, y))
