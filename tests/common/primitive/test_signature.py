"""Signatures: their description of a launch, and the check of buffers that is derived from it."""

import pytest

from ep.common.primitive.signature import Signature, reads, reads_bytes, writes, writes_bytes
from ep.common.primitive.signatures import BATCH_GATHER, BROADCAST_ELEMENTWISE_BINARY
from ep.include import DataType

T = DataType

TWO_WRITTEN = Signature(
    (reads("src", 0, "rows", "cols"), writes("values", 0, "rows", in_place=True), writes("indices", None, "rows")),
    sizes=("rows", "cols"),
)


def read(signature, addresses, types, sizes, **options):
    """Check buffers that are given by their addresses; return the arguments of the calls of the reader."""
    asked = []

    def reader(buffer, argument, data_type, count, written):
        asked.append((argument, data_type, count, written))
        return f"taken {argument}", buffer

    taken = signature.read(addresses, types, signature.counts(sizes), reader, **options)
    assert taken == [f"taken {operand.name}" for operand in signature.operands]
    return asked


def test_counts_are_products_of_sizes():
    assert BATCH_GATHER.counts((2, 3, 5, 7, 11)) == (2 * 3 * 5 * 7, 2 * 11, 2 * 3 * 11 * 7)
    assert Signature((writes("x", 0),), sizes=()).counts(()) == (1,)
    assert BATCH_GATHER.counts((2**40, 2**40, 1, 1, 1))[0] == 2**80  # exact; compiled code stops at 2^63 - 1


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match=r"products of \['cols'\], which are not sizes"):
        Signature((writes("x", 0, "rows", "cols"),), sizes=("rows",))
    with pytest.raises(ValueError, match="no operand is written"):
        Signature((reads("x", 0, "rows"),), sizes=("rows",))


def test_data_types_are_news_or_launchs():
    assert BATCH_GATHER.data_types((T.kFloat, T.kInt32)) == (T.kFloat, T.kInt32, T.kFloat)
    assert TWO_WRITTEN.data_types((T.kFloat,)) == (T.kFloat, T.kFloat, None)


def test_every_written_operand_is_compared_with_every_other_once():
    assert BATCH_GATHER.pairs == ((2, 0), (2, 1))
    assert sorted(map(sorted, TWO_WRITTEN.pairs)) == [[0, 1], [0, 2], [1, 2]]


def test_the_reader_is_asked_for_what_is_declared():
    asked = read(TWO_WRITTEN, (1000, 2000, 3000), (T.kFloat, T.kFloat, T.kInt64), (3, 5))
    assert asked == [("src", T.kFloat, 15, False), ("values", T.kFloat, 3, True), ("indices", T.kInt64, 3, True)]


def test_overlaps_are_refused():
    types = T.kFloat, T.kFloat, T.kInt64
    read(TWO_WRITTEN, (1000, 1060, 1072), types, (3, 5))
    for addresses, words in (
        ((1000, 1059, 3000), "values overlaps src"),
        ((1000, 1000, 3000), "values overlaps src"),
        ((1000, 3000, 977), "indices overlaps src"),
        ((1000, 3000, 3011), "indices overlaps values"),
        ((1000, 3000, 3000), "indices overlaps values"),
    ):
        with pytest.raises(ValueError, match=words):
            read(TWO_WRITTEN, addresses, types, (3, 5))


def test_in_place_where_counts_and_walks_agree():
    types = T.kFloat, T.kFloat, T.kFloat
    read(BROADCAST_ELEMENTWISE_BINARY, (1000, 2000, 1000), types, (6, 2, 6))
    for addresses, result, options in (
        ((1000, 2000, 1000), T.kFloat, {"in_place": False}),
        ((1000, 2000, 2000), T.kFloat, {}),
        ((1000, 2000, 1000), T.kDouble, {}),
    ):
        with pytest.raises(ValueError, match=r"dst (overlaps|is the memory of) src"):
            read(BROADCAST_ELEMENTWISE_BINARY, addresses, (T.kFloat, T.kFloat, result), (6, 2, 6), **options)


BYTES = Signature((writes_bytes("dst", "count", in_place=True), reads_bytes("src", "count")), sizes=("count",))


def test_elements_of_any_type_are_counted_in_bytes():
    types = BYTES.data_types(())
    assert types == (None, None)
    assert [operand.type_at_launch for operand in (*BYTES.operands, *TWO_WRITTEN.operands)] == [False] * 4 + [True]
    assert read(BYTES, (1000, 1010), types, (10,)) == [("dst", None, 10, True), ("src", None, 10, False)]
    read(BYTES, (1000, 1000), types, (10,))
    with pytest.raises(ValueError, match="dst overlaps src"):
        read(BYTES, (1000, 1009), types, (10,))


def test_parts_of_operands_are_not_compared():
    parts = Signature((writes("dst", 0, "count"), reads("src", 0, "count")), sizes=("count",), whole=False)
    assert parts.pairs == ()
    read(parts, (1000, 1004), (T.kFloat, T.kFloat), (3,))


def test_what_is_not_declared_in_place_is_refused():
    with pytest.raises(ValueError, match="out is the memory of params and this launch cannot work in place"):
        read(BATCH_GATHER, (1000, 2000, 1000), (T.kFloat, T.kInt32, T.kFloat), (1, 1, 3, 1, 3))
