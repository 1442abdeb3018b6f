"""The program of every rank of a test job: it runs checks one after another, and writes their results to a file.

If a check fails on one rank, all ranks continue with the next one: a check raises an error on all ranks, or is wrong on
all.
"""

import json
import sys
import traceback
from functools import partial
from pathlib import Path

from ep.mesh.world import world
from tests.mesh.checks import CHECKS


def main(asked: str, path: str) -> None:
    names = json.loads(Path(asked).read_text())
    found = {}
    for name in names:
        try:
            CHECKS[name]()
            mine = ""
        except Exception:
            mine = traceback.format_exc()
            print(f"rank {world().rank}: {mine}", file=sys.stderr)  # because it may leave the ranks out of step
        every = world().from_all(partial(str, mine), name)
        found[name] = "".join(f"rank {rank}: {one}" for rank, one in enumerate(every) if one)
    if world().rank == 0:
        Path(path).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
