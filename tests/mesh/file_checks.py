"""Files that are mapped into memory: each rank reads its piece of them."""

import re
import tempfile
from pathlib import Path

import numpy as np

from ep.mesh import Placement, from_whole
from ep.mesh.world import world

ROWS, COLUMNS = 4096, 1024


def resident(path):
    """Return the resident bytes of a mapped file in this process."""
    maps = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", Path("/proc/self/smaps").read_text(), flags=re.MULTILINE)
    return 1024 * sum(int(re.search(r"^Rss:\s+(\d+)", one, re.MULTILINE)[1]) for one in maps if path in one)


def check_a_rank_reads_its_piece():
    placement = Placement(world().size)
    numbers = world().from_all(lambda: np.random.default_rng().integers(2**60), "numbers")
    name = Path(tempfile.gettempdir()) / f"ep-mesh-{numbers[0]}.npy"

    def write():
        if placement.rank == 0:
            np.lib.format.open_memmap(name, "w+", np.float32, (ROWS, COLUMNS))[::1000] = 3

    world().on_all(write, "the file")
    try:
        table = np.load(name, mmap_mode="r")
        before = resident(str(name))
        tensor = from_whole(table, placement, "S(0)")
        read = resident(str(name)) - before
        piece = tensor.to_local()
        assert piece.nbytes <= -(-ROWS // placement.ranks) * COLUMNS * 4
        assert read <= piece.nbytes + 2**20, (read, piece.nbytes)
        assert not np.shares_memory(piece, table)
        assert np.array_equal(tensor.numpy(), table)
    finally:
        world().on_all(lambda: None, "all have read")
        if placement.rank == 0:
            name.unlink()
