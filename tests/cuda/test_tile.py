"""Transposes in tiles: the shapes of tiles, their bank conflicts, and the tile sizes that devices use."""

import math

import numpy as np
import pytest

from ep import DeviceType
from ep.common.primitive.permute_shape import PermuteShape
from ep.cuda.compile import loader
from ep.cuda.compile.launch_config import Grid
from ep.cuda.driver.current import driver
from ep.cuda.engine.move import tile as tiles
from ep.cuda.engine.move import transpose
from ep.cuda.engine.move.permute_plan import permute_plan
from ep.cuda.engine.move.tile import Tile, TileVariant
from ep.include import DataType
from ep.testing.device_under_test import DeviceUnderTest

THREADS, WARP, BANKS, BANK_BYTES = 256, 32, 32, 4


def plan_of(dims, permutation, itemsize, *alignments):
    return permute_plan(PermuteShape(dims, permutation), itemsize, *(alignments or (16, 16)))


@pytest.mark.parametrize(
    ("dims", "permutation", "itemsize", "alignments", "tile"),
    [
        ((1000, 1000), (1, 0), 4, (16, 16), Tile(4, 1, 64, 32)),
        ((1000, 1000), (1, 0), 8, (16, 16), Tile(8, 1, 64, 32)),
        ((1000, 1000), (1, 0), 16, (16, 16), Tile(16, 1, 32, 32)),
        ((1000, 1000), (1, 0), 2, (16, 16), Tile(2, 2, 32, 32)),
        ((1000, 1000), (1, 0), 1, (16, 16), Tile(1, 4, 32, 32)),
        ((1000, 1002), (1, 0), 1, (16, 16), Tile(1, 2, 32, 32)),
        ((1000, 1000), (1, 0), 1, (16, 2), Tile(1, 2, 32, 32)),
        ((1000, 1001), (1, 0), 2, (16, 16), Tile(2, 1, 64, 32)),
        ((1001, 1000), (1, 0), 1, (16, 16), Tile(1, 1, 64, 32)),
        ((1000, 1000), (1, 0), 2, (2, 16), Tile(2, 1, 64, 32)),
        ((50, 1000, 3), (0, 2, 1), 4, (16, 16), Tile(4, 1, 64, 4)),
        ((50, 3, 1000), (0, 2, 1), 4, (16, 16), Tile(4, 1, 4, 64)),
        ((50, 20, 1000), (0, 2, 1), 4, (16, 16), Tile(4, 1, 32, 64)),
        ((50, 7, 7), (0, 2, 1), 4, (16, 16), Tile(4, 1, 8, 8)),
        ((50, 1000, 7, 2), (0, 2, 1, 3), 4, (16, 16), Tile(8, 1, 64, 8)),
        ((50, 1000, 7, 16), (0, 2, 1, 3), 1, (16, 16), Tile(16, 1, 32, 8)),
    ],
    ids=str,
)
def test_shapes_of_tiles(dims, permutation, itemsize, alignments, tile):
    assert plan_of(dims, permutation, itemsize, *alignments).variant.tile == tile


def test_an_innermost_axis_that_stays_is_moved_in_its_rows():
    variant = plan_of((50, 60, 12), (1, 0, 2), 4).variant
    assert not isinstance(variant, TileVariant)
    assert (variant.unit, variant.pack_units) == (16, 1)
    assert plan_of((50, 60, 3), (1, 0, 2), 4).variant[1:3] == (4, 1)  # adjacent threads, adjacent elements


@pytest.mark.parametrize(("elements", "bits"), [(2**30 - 2, 32), (2**30, 64), (2**32, 64)])
def test_offsets_have_the_bits_that_they_need(elements, bits):
    plan = plan_of((2, elements // 2), (1, 0), 8)
    assert plan.variant.bits == bits
    assert plan.num_items < 2**63
    assert math.ceil(elements / 2 / 64) * plan.variant.tile.threads == plan.num_items


@pytest.fixture
def every_tile():
    """Return all tiles that devices use."""
    found = tiles.every_tile()
    assert len(found) > 100
    return found


def conflicts(tile, places):
    """Return the number of accesses to the busiest bank by the threads that are served together."""
    number = tile.number
    served = WARP * BANK_BYTES // max(number, BANK_BYTES)
    most = 0
    for first in range(0, len(places), served):
        words = {
            place * number // BANK_BYTES + part
            for place in places[first : first + served]
            for part in range(max(number // BANK_BYTES, 1))
        }
        banks = [word % BANKS for word in words]
        most = max(most, max(map(banks.count, banks)))
    return most


def test_the_threads_of_a_warp_meet_no_bank_twice(every_tile):
    for tile in every_tile:
        check_banks(tile)


def check_banks(tile):
    assert tile.threads * tile.tiles_per_block == THREADS
    assert tile.cells_per_thread * tile.threads == tile.columns * tile.rows
    assert tile.plane * tile.tiles_per_block * tile.planes * tile.number <= 20 * 1024
    for first in range(0, THREADS, WARP):
        threads = [divmod(thread, tile.threads) for thread in range(first, first + WARP)]
        written = [number * tile.plane + tile.place(t // tile.rows, t % tile.rows) for number, t in threads]
        read = [number * tile.plane + tile.place(t % tile.columns, t // tile.columns) for number, t in threads]
        small_square = tile.columns == tile.rows < min(WARP, tile.threads)
        assert conflicts(tile, written) <= 1 + small_square, tile
        assert conflicts(tile, read) <= 1 + small_square, tile


def test_each_cell_has_a_place_of_its_own(every_tile):
    for tile in every_tile:
        places = {tile.place(column, row) for column in range(tile.columns) for row in range(tile.rows)}
        assert len(places) == tile.columns * tile.rows
        assert max(places) < tile.plane


@pytest.mark.parametrize(
    ("data_type", "dims", "permutation"),
    [
        (DataType.kFloat, (45, 70), (1, 0)),
        (DataType.kFloat, (3, 5, 7), (2, 1, 0)),
        (DataType.kFloat16, (66, 70), (1, 0)),
        (DataType.kUInt8, (132, 140), (1, 0)),
        (DataType.kComplex128, (33, 35), (1, 0)),
        (DataType.kInt8, (2, 65, 3), (0, 2, 1)),
    ],
    ids=str,
)
def test_tiles_of_the_sizes_of_devices(cuda, rng, data_type, dims, permutation):
    gpu = DeviceUnderTest(DeviceType.kCUDA)
    src = rng.integers(0, 256, math.prod(dims) * data_type.itemsize, np.uint8).view(data_type.dtype).reshape(dims)
    dst = gpu.filled(src.size + 3, data_type)
    plan = plan_of(dims, permutation, data_type.itemsize)
    kernel = loader.load(driver(), 0, transpose.kernel(*plan.variant))
    kernel.launch_grid(gpu.stream, Grid((2, 1, 1), (THREADS, 1, 1)), gpu.buffer(src).address, dst.address, *plan.words)
    got = gpu.array(dst)
    assert got[:-3].tobytes() == src.transpose(permutation).tobytes()
    assert set(got[-3:].tobytes()) == {0xA5}
