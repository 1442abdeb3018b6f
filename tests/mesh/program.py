"""What every rank of a job of tests runs: all checks, one after the other, and a file of what became of each.

Where a check fails on one rank, all go on with the next one: a check raises on all ranks, or is wrong on all.
"""

import json
import sys
import traceback
from pathlib import Path

from ep.mesh.world import world
from tests.mesh.checks import CHECKS


def main(path: str) -> None:
    found = {}
    for name, check in CHECKS.items():
        try:
            check()
            mine = ""
        except Exception:
            mine = traceback.format_exc()
        found[name] = "".join(f"rank {rank}: {one}" for rank, one in enumerate(world().allgather(mine)) if one)
    if world().rank == 0:
        partial = Path(f"{path}.partial")
        partial.write_text(json.dumps(found))
        partial.rename(path)


if __name__ == "__main__":
    main(sys.argv[1])
